from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from recsieve import Recommender
from recsieve.audit.pairs import PairNoise, PairScores
from recsieve.auto import Spec
from recsieve.auto import selection as selections
from recsieve.auto.noise import NoiseEstimate
from recsieve.data.interactions import UNLABELLED
from recsieve.errors import ConfigError
from recsieve.training import Began

QUICK = {"epochs": 2, "batch_size": 64, "select_by": "ndcg@5", "trials": 4, "candidates": ["ease", "ials", "gmf"]}


@pytest.fixture
def seen_labels(monkeypatch):
    """Put a quick estimate in the place of the audit's; gives how many labels each was told."""
    told = []

    def estimate(train, seed, *, control, cache):
        told.append(int((train.false_positive != UNLABELLED).sum()))
        rng = np.random.default_rng(seed)
        shapes = (train.n_users, train.n_items, (train.n_users, 2), (train.n_items, 2))
        pairs = PairNoise(PairScores(*(rng.normal(0, 1, shape).astype(np.float32) for shape in shapes)))
        return NoiseEstimate(pairs.probability(train.users, train.items), pairs), "made up."

    monkeypatch.setattr(selections, "estimate_noise", estimate)
    return told


def test_with_labels_weights_and_offsets_by_p_compete_too(split, seen_labels):
    choice = Recommender(**QUICK).select(split).choice
    assert seen_labels == [len(split.train)]
    assert any(spec.weighted for one in choice.candidates for spec in one.candidate.specs)
    assert any(one.candidate.c for one in choice.candidates)
    assert any(len(one.candidate.specs) == 3 for one in choice.candidates)
    assert choice.criterion == "expected clean NDCG@5"
    assert choice.planned == 4


def test_without_labels_no_offset_can_mislead(split, seen_labels):
    choice = Recommender(denoiser_options={"labels": 0}, **QUICK).select(split).choice
    assert seen_labels == []
    assert not any(one.candidate.c or one.candidate.gamma for one in choice.candidates)
    assert choice.criterion == "NDCG@5"


def test_labels_are_learnt_from_only_where_there_is_time_for_it(split, seen_labels, monkeypatch):
    monkeypatch.setattr(selections, "noise_seconds", lambda train: 30.0)
    in_time = QUICK | {"trials": None, "candidates": ["ease"]}
    choice = Recommender(**in_time, budget="70s").select(split).choice
    assert seen_labels == []
    assert "--budget 2m is enough" in choice.evidence
    Recommender(**in_time, budget="2m").select(split)
    assert len(seen_labels) == 1


def test_the_time_in_which_noise_is_looked_for_counts(split, seen_labels, monkeypatch):
    clock = iter([0.0])
    later = SimpleNamespace(monotonic=lambda: next(clock, 100.0))  # 100 seconds after the start
    monkeypatch.setattr(selections, "time", later)
    choice = Recommender(**QUICK | {"trials": None, "candidates": ["ease", "ials"]}, budget="90s").select(split).choice
    assert len(seen_labels) == 1
    assert choice.tried == 1 < choice.planned


def test_a_number_of_trials_is_kept_whatever_time_it_takes(split, seen_labels):
    slow, quick = (Recommender(**QUICK, budget=budget).select(split).choice for budget in ("0.001s", "1h"))
    assert slow == quick


def test_other_candidates_can_be_fitted_again_to_be_held_against_the_choice(split, seen_labels):
    recommender = Recommender(**QUICK)
    selection = recommender.select(split)
    plain = selection.choice.plain.candidate
    scorer = selection.scorer("validated", recommender.refit, plain)
    assert len(scorer.scorers) == 1
    assert scorer.offset is None


def test_only_the_share_of_labels_that_may_be_seen_is_used(split, seen_labels):
    Recommender(denoiser_options={"labels": 0.3}, **QUICK).select(split)
    assert 0.15 * len(split.train) < seen_labels[0] < 0.45 * len(split.train)


def test_it_is_told_what_is_being_done(split, seen_labels):
    events = []
    Recommender(**QUICK).fit(split, progress=events.append)
    begun = [event for event in events if isinstance(event, Began)]
    numbers = [event.number for event in begun]
    assert numbers == sorted(numbers)
    assert numbers[-1] == begun[-1].total
    assert [event.name for event in begun[:2]] == ["ease", "looking for noise"]
    assert begun[-1].name == "offsets, blends and the final fit"


@pytest.mark.parametrize("stop_at", [3, 6])
def test_a_choice_that_was_stopped_goes_on_where_it_was(split, seen_labels, tmp_path, stop_at):
    path = tmp_path / "checkpoint" / "state.safetensors"
    whole = Recommender(**QUICK).fit(split)

    class Stopped(Exception):
        pass

    def stop(event):
        if isinstance(event, Began) and event.number == stop_at:
            raise Stopped

    with pytest.raises(Stopped):
        Recommender(**QUICK).fit(split, checkpoint=path, progress=stop)
    plan = (path.parent / "auto" / "plan.json").read_bytes()
    resumed = Recommender(**QUICK).fit(split, checkpoint=path, resume=True)
    assert (path.parent / "auto" / "plan.json").read_bytes() == plan
    assert resumed.choice == whole.choice
    assert resumed.recommend(k=5).equals(whole.recommend(k=5))
    again = Recommender(**QUICK).fit(split, checkpoint=path, resume=True)  # the choice is made: only the refit is left
    assert again.recommend(k=5).equals(whole.recommend(k=5))


def test_kept_lists_that_are_not_of_these_users_are_made_again(split, seen_labels, tmp_path):
    path = tmp_path / "checkpoint" / "state.safetensors"
    whole = Recommender(**QUICK).fit(split, checkpoint=path)
    (path.parent / "auto" / "choice.json").unlink()
    for kept in (path.parent / "auto" / "plain").glob("*.safetensors"):
        save_file({"lists": np.zeros((3, 2), np.int32)}, kept, metadata={"epochs": "1.0"})
    assert Recommender(**QUICK).fit(split, checkpoint=path, resume=True).choice == whole.choice


def test_an_interrupted_search_chooses_the_best_so_far(split, seen_labels, caplog):
    def stop(event):
        if isinstance(event, Began) and event.number == 3:
            raise KeyboardInterrupt

    recommender = Recommender(**QUICK).fit(split, progress=stop)
    assert {one.candidate.specs[0].model for one in recommender.choice.candidates} == {"ease"}
    assert "the best model so far" in caplog.text


def test_a_search_that_is_stopped_while_it_looks_for_noise_has_a_plain_model(split, seen_labels, caplog):
    def stop(event):
        if isinstance(event, Began) and event.name == "looking for noise":
            raise KeyboardInterrupt

    recommender = Recommender(**QUICK).fit(split, progress=stop)
    choice = recommender.choice
    assert [one.name for one in choice.candidates] == [choice.chosen.name]
    assert choice.chosen.candidate.plain
    assert "stopped before P" in choice.evidence
    assert "the best model so far" in caplog.text
    assert recommender.recommend(k=5).height > 0


def test_that_a_model_is_fitted_before_noise_is_looked_for_does_not_change_how_it_is_judged(split, seen_labels):
    first, second = (
        Recommender(**QUICK | {"candidates": order}).select(split).choice
        for order in (["ease", "ials", "gmf"], ["ials", "ease", "gmf"])
    )
    both = {one.name for one in first.candidates} & {one.name for one in second.candidates}
    scores = [{one.name: one.score for one in choice.candidates if one.name in both} for choice in (first, second)]
    assert scores[0] == scores[1]
    assert any(one.candidate.plain for one in first.candidates if one.name in both)


def test_what_was_chosen_is_fitted_without_the_test_and_on_the_whole_log(split, seen_labels):
    recommender = Recommender(**QUICK | {"candidates": ["popularity"], "trials": 1}).fit(split)
    validated = split.train.item_counts() + split.validation.item_counts()
    counts = recommender.trained().scorers[0].popularity.numpy()
    whole = validated + split.test.item_counts() + split.test_false_positives.item_counts()
    assert recommender.choice.chosen.candidate.specs[0].model == "popularity"
    if not recommender.choice.chosen.candidate.denoises:
        np.testing.assert_allclose(counts, validated)
        np.testing.assert_allclose(recommender.serving().scorers[0].popularity.numpy(), whole)


def test_a_saved_choice_ranks_as_before(split, seen_labels, tmp_path):
    recommender = Recommender(**QUICK).fit(split)
    recommender.save(tmp_path / "run")
    loaded = Recommender.load(tmp_path / "run")
    assert loaded.choice == recommender.choice
    assert loaded.evaluate(ks=[5]).overall == recommender.evaluate(ks=[5]).overall
    assert loaded.recommend(k=5).equals(recommender.recommend(k=5))


def test_a_named_model_is_chosen_with_or_without_strategies(split, seen_labels):
    recommender = Recommender("gmf", "auto", **QUICK | {"candidates": []}).fit(split)
    names = {spec.denoiser for one in recommender.choice.candidates for spec in one.candidate.specs}
    assert {"keep-all", "truncated", "reweighted"} <= names


def test_without_denoising_nothing_is_said_of_weights():
    weighted = Spec("ease", {"l2": 5.0, "weights": "targets"}, weighted=True)
    assert weighted.without_denoising() == Spec("ease", {"l2": 5.0})


def test_auto_judges_by_itself_and_needs_validation(split):
    with pytest.raises(ConfigError, match="leave out validate and memory"):
        Recommender().fit(split, validate=lambda training: 0.0)
    with pytest.raises(ConfigError, match="there is none"):
        Recommender().fit(replace(split, validation=split.validation.take(slice(0, 0))))
    with pytest.raises(ConfigError, match="no model is named"):
        Recommender(denoiser="truncated")
