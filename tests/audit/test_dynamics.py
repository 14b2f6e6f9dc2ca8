import numpy as np
import pytest

from recsieve.audit.dynamics import CURVE, FOLDS, observe_training
from recsieve.audit.evidence import share_below
from recsieve.progress import Advanced


def test_a_model_that_has_not_seen_an_interaction_expects_it_less(regretful, dynamics):
    seen = dynamics.full.scores.of(regretful.users, regretful.items)
    assert dynamics.held_out_logits(regretful).mean() < seen.mean()


def test_each_interaction_is_judged_by_the_run_that_has_not_seen_it(regretful, dynamics):
    logits = dynamics.held_out_logits(regretful)
    for number, run in enumerate(dynamics.folds):
        rows = dynamics.fold == number
        np.testing.assert_array_equal(logits[rows], run.scores.of(regretful.users[rows], regretful.items[rows]))
    assert np.bincount(dynamics.fold).max() - np.bincount(dynamics.fold).min() <= 1


def test_curves_of_some_rows_are_those_of_their_own_fold(regretful, dynamics):
    rows = np.array([5, 0, 17])
    curves = dynamics.held_out_curves(rows)
    assert curves.shape == (len(CURVE), 3)
    place = np.flatnonzero(dynamics.fold == dynamics.fold[5]).tolist().index(5)
    np.testing.assert_array_equal(curves[:, 0], dynamics.folds[dynamics.fold[5]].curve[:, place])


def test_runs_that_ended_are_not_repeated_and_other_labels_do_not_matter(regretful, labels, tmp_path, monkeypatch):
    events: list[Advanced] = []
    first = observe_training(regretful, seed=3, cache=tmp_path, progress=events.append)
    told = [event.done / event.total for event in events]
    assert told == sorted(told)
    assert len(told) > FOLDS
    assert told[-1] <= 1
    monkeypatch.setattr("recsieve.audit.dynamics._train", lambda *_: pytest.fail("trained again"))
    again = observe_training(labels(regretful, 0.1), seed=3, cache=tmp_path)
    np.testing.assert_array_equal(first.held_out_logits(regretful), again.held_out_logits(regretful))


def test_a_damaged_run_or_one_of_another_seed_is_trained_again(regretful, tmp_path):
    first = observe_training(regretful, seed=3, cache=tmp_path)
    (tmp_path / "fold-1.safetensors").write_bytes(b"not a run")
    again = observe_training(regretful, seed=3, cache=tmp_path)
    np.testing.assert_array_equal(first.held_out_logits(regretful), again.held_out_logits(regretful))
    other = observe_training(regretful, seed=4, cache=tmp_path)
    assert not np.array_equal(first.held_out_logits(regretful), other.held_out_logits(regretful))


def test_noise_of_another_taste_is_less_expected(regretful, evidence):
    other_taste = regretful.users % 2 != regretful.items % 2
    assert evidence.unexpected[other_taste].mean() > evidence.unexpected[~other_taste].mean() + 0.2


def test_shares_count_ties_half():
    assert share_below(np.array([3, 1, 1, 2])).tolist() == [0.875, 0.25, 0.25, 0.625]
