import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from recsieve import find_noisy_interactions
from recsieve.audit import Audit
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.evaluation.detection import detection


def test_every_interaction_is_listed_once_with_its_own_ids_and_a_reason(audited):
    table = audited.table
    assert table.select("user", "item").n_unique() == table.height == len(audited.data)
    assert table["user"].str.starts_with("u").all()
    assert table["reason"].str.len_chars().min() > 0
    ranked = table.filter(pl.col("rank").is_not_null())
    assert ranked["rank"].to_list() == list(range(1, ranked.height + 1))
    assert ranked["noise_score"].is_sorted(descending=True)
    assert ranked["labelled_noise"].null_count() == ranked.height
    assert (table["row"].sort() == pl.Series(range(table.height))).all()


def test_labels_make_reasons_about_labels(audited):
    reasons = " ".join(audited.table["reason"].head(100))
    assert "labelled interactions with this item were regretted" in reasons
    assert "labelled interactions of this user were regretted" in reasons


def test_without_labels_scores_find_what_is_of_another_taste(unlabelled, regretful):
    assert unlabelled.probability is None
    other_taste = regretful.users % 2 != regretful.items % 2
    assert detection(unlabelled.scores, other_taste)["roc_auc"] > 0.65
    reasons = " ".join(unlabelled.table["reason"].head(50))
    assert "history" in reasons
    assert "No interaction is labelled" in " ".join(unlabelled.summary["notes"])
    assert unlabelled.summary["noise_share"] is None


def test_what_is_known_stays_what_it_is(audited):
    flags = np.asarray(audited.data.false_positive)
    known = flags != UNLABELLED
    np.testing.assert_array_equal(audited.probability[known], flags[known])
    assert ((audited.scores[known] > 0) & (audited.scores[known] < 1)).all()


def test_cleaning_takes_out_the_most_probable_noise(audited):
    cleaned = audited.clean(share=0.1)
    assert len(cleaned) == len(audited.data) - round(0.1 * len(audited.data))
    assert len(audited.clean(threshold=0.5)) == (audited.probability < 0.5).sum()
    np.testing.assert_allclose(audited.weights(), 1 - audited.probability)


@pytest.mark.parametrize("share", [0, 0.05, 1])
def test_cleaned_data_has_no_known_noise_and_everything_that_is_known_to_be_none(audited, unlabelled, share):
    few = np.full(len(unlabelled.data), UNLABELLED, np.int8)
    few[:6] = [NOISY, CLEAN] * 3  # too few for a probability
    for audit in (audited, replace(unlabelled, data=replace(unlabelled.data, false_positive=few))):
        labels, cleaned = audit.data.false_positive, audit.clean(share=share).false_positive
        assert not (cleaned == NOISY).any()
        assert (cleaned == CLEAN).sum() == (labels == CLEAN).sum()
        unknown = (labels == UNLABELLED).sum() - (cleaned == UNLABELLED).sum()
        assert unknown == max(0, min(round(share * len(labels)), (labels != CLEAN).sum()) - (labels == NOISY).sum())


def test_what_needs_labels_says_so(unlabelled, audited):
    assert len(unlabelled.clean(share=0.1)) < len(unlabelled.data)
    with pytest.raises(DataError, match="too few labels"):
        unlabelled.weights()
    with pytest.raises(DataError, match="too few labels"):
        unlabelled.clean(threshold=0.5)
    with pytest.raises(ConfigError, match="share"):
        audited.clean()
    with pytest.raises(ConfigError, match=r"share is 1\.5"):
        audited.clean(share=1.5)


@pytest.mark.parametrize("fixture", ["audited", "unlabelled"])
def test_an_audit_comes_back_from_its_folder(request, fixture, tmp_path):
    audit = request.getfixturevalue(fixture)
    audit.save(tmp_path)
    again = Audit.load(tmp_path)
    assert again.table.equals(audit.table)
    assert again.shown.equals(audit.shown)
    assert again.summary == json.loads(json.dumps(audit.summary))
    np.testing.assert_array_equal(again.scores, audit.scores)
    for name in ("users", "items", "time", "false_positive"):
        np.testing.assert_array_equal(getattr(again.data, name), getattr(audit.data, name))
    if audit.pairs is not None:
        users = np.array([0, 5], np.int32)
        np.testing.assert_array_equal(again.pairs.log_clean(users), audit.pairs.log_clean(users))


def test_a_damaged_folder_is_told(audited, tmp_path):
    with pytest.raises(RunError, match=r"audit\.json"):
        Audit.load(tmp_path)
    audited.save(tmp_path)
    (tmp_path / "audit.parquet").write_bytes(b"nothing")
    with pytest.raises(RunError, match="damaged"):
        Audit.load(tmp_path)


def test_the_shown_interactions_have_curves_and_what_is_alike(audited):
    first = audited.shown.row(0, named=True)
    user, item = audited.table.select("user", "item").row(0)
    assert first["row"] == audited.table["row"][0]
    profile = set(audited.table.filter(pl.col("user") == user)["item"]) - {item}
    assert first["alike"]
    assert set(first["alike"]) <= profile
    assert len(first["held_out_losses"]) == len(audited.summary["typical_losses"]["epochs"])


def test_where_noise_sits_adds_up(audited):
    for groups in audited.summary["where"].values():
        assert sum(group["interactions"] for group in groups) == len(audited.data)
    assert set(audited.summary["where"]) == {"popularity", "activity", "time"}


def test_the_estimated_share_is_near_the_truth(audited, regretful):
    share = audited.summary["noise_share"]
    assert share["low"] < share["estimate"] < share["high"]
    assert share["estimate"] == pytest.approx(regretful.is_false_positive.mean(), abs=0.05)


def test_repeated_pairs_are_judged_once(regretful, monkeypatch):
    from recsieve.audit import find

    monkeypatch.setattr(find, "observe_training", lambda data, **_: (_ for _ in ()).throw(InterruptedError(len(data))))
    twice = np.concatenate([np.arange(len(regretful)), np.arange(50)])
    with pytest.raises(InterruptedError, match=str(len(regretful))):
        find_noisy_interactions(replace(regretful).take(twice))


def test_a_handful_of_interactions_is_refused(regretful):
    with pytest.raises(DataError, match="at least 20"):
        find_noisy_interactions(regretful.take(slice(0, 5)))


def test_scores_of_ones_own_find_what_nothing_else_shows(regretful, labels):
    rng = np.random.default_rng(0)
    data = labels(regretful, 0.33)
    truth, hidden = regretful.is_false_positive, data.false_positive == UNLABELLED
    telling = truth + rng.normal(0, 0.7, len(truth))
    without = find_noisy_interactions(data, seed=0)
    informed = find_noisy_interactions(data, scores=telling, seed=0)
    found = [detection(audit.scores[hidden], truth[hidden])["roc_auc"] for audit in (without, informed)]
    assert found[1] > found[0] + 0.03
    assert "your scores" in informed.summary["evidence"]


def test_scores_that_say_nothing_do_no_harm(regretful, labels):
    data = labels(regretful, 0.33)
    hidden = data.false_positive == UNLABELLED
    random = np.random.default_rng(1).random(len(data))
    audits = [find_noisy_interactions(data, scores=scores, models=[], seed=0) for scores in (None, random)]
    found = [detection(a.scores[hidden], regretful.is_false_positive[hidden])["roc_auc"] for a in audits]
    assert found[1] > found[0] - 0.02


def test_without_labels_scores_of_ones_own_are_one_more_reason(regretful):
    scores = np.zeros(len(regretful))
    scores[7] = 1
    audit = find_noisy_interactions(replace(regretful, false_positive=None), scores=scores, seed=0)
    assert "your score" in audit.table.filter(pl.col("row") == 7)["reason"][0]


def test_scores_of_another_length_or_with_gaps_are_refused(regretful):
    with pytest.raises(DataError, match="give one for each"):
        find_noisy_interactions(regretful, scores=[0.5])
    with pytest.raises(DataError, match="1 scores are missing"):
        find_noisy_interactions(regretful, scores=np.where(np.arange(len(regretful)) == 3, np.nan, 0.5))


def test_what_stands_out_beside_noise_has_tables_that_come_back(audited, tmp_path):
    assert set(audited.checks) == {"bots", "bulk-buyers", "duplicates", "drift", "changed-items"}
    audited.save(tmp_path)
    again = Audit.load(tmp_path)
    assert all(again.checks[name].equals(table) for name, table in audited.checks.items())
