import pytest

from recsieve.reporting.choice import choice_lines
from recsieve.reporting.tables import numeric

PLAIN = {"model": "ease", "model_options": {}, "training": {}, "denoiser": "keep-all", "weighted": False}


def rated(name, **changed):
    candidate = {"specs": [PLAIN | {key: value for key, value in changed.items() if key != "c"}], "c": 0.0}
    return {"name": name, "score": 0.3, "candidate": candidate | {"c": changed.get("c", 0.0)}}


def lines(*others, planned=1, labels=0):
    plain = rated("ease")
    told = {
        "tried": 1,
        "planned": planned,
        "reason": "told.",
        "criterion": "NDCG@20",
        "popularity": None,
        "evidence": "none.",
        "labels": labels,
    }
    return choice_lines(
        told | {"chosen": plain, "plain": plain, "without_denoising": None, "candidates": [plain, *others]}
    )


def test_it_is_said_that_no_denoising_was_tried():
    assert any(line.startswith("Denoising: none was tried") for line in lines(rated("ials", model="ials")))


def test_a_rule_is_advised_only_where_there_is_none():
    assert any("--false-positive" in line for line in lines())
    assert not any("--false-positive" in line for line in lines(labels=500))


@pytest.mark.parametrize("changed", [{"weighted": True}, {"denoiser": "truncated"}, {"c": 0.5}])
def test_denoising_that_was_tried_and_left_is_said_to_be_no_better(changed):
    assert "Denoising: it was not convincingly better on validation data." in lines(rated("other", **changed))


def test_a_search_that_ran_out_of_time_says_so():
    assert not any("--budget" in line for line in lines())
    assert any("a longer --budget" in line for line in lines(planned=2))


def test_a_blend_is_no_number_although_it_begins_like_one():
    assert numeric("0.1193")
    assert numeric("−3.4\u00a0… +4.6\u00a0%")
    assert not numeric("0.7 · ials + 0.3 · ease")
