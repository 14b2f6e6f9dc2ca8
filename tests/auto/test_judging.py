import numpy as np
import polars as pl
import pytest
import torch

from recsieve.auto import judging
from recsieve.auto.judging import Judge, Shift, best_shifts, log_popularity, truth_of
from recsieve.data.interactions import FALSE, TRUE, UNKNOWN, Interactions
from recsieve.evaluation import evaluate
from recsieve.models import GMF
from recsieve.models.offset import NOISE, Offset, OffsetScorer


def interactions(users, items, flags=None):
    ids = pl.Series(range(3)), pl.Series(range(6))
    flags = None if flags is None else np.array(flags, np.int8)
    return Interactions(np.array(users, np.int32), np.array(items, np.int32), *ids, flags)


TRAIN = interactions([0, 0, 1, 2, 2], [0, 1, 1, 1, 4])
HELD_OUT = interactions([0, 1, 1, 2], [2, 0, 3, 5])


def model():
    return GMF(TRAIN.csr, torch.Generator().manual_seed(3))


def offset():
    generator = torch.Generator().manual_seed(4)
    shapes = {"users": (3,), "items": (6,), "user_factors": (3, 2), "item_factors": (6, 2)}
    return {name: torch.randn(*shapes[name], generator=generator) for name in NOISE}


def test_without_doubts_the_value_is_the_common_ndcg_under_every_shift():
    values = Judge(HELD_OUT, TRAIN, np.ones(4), 3, 0).values(model(), Offset(torch.zeros(6), offset()))
    assert len(values) == 2 * (1 + len(judging.GAMMAS))
    for shift, of_users in values.items():
        shifted = OffsetScorer(model(), shift.offset(log_popularity(TRAIN), offset()))
        expected = evaluate(shifted, HELD_OUT.csr, TRAIN.csr, [3]).per_user["ndcg@3"]
        np.testing.assert_allclose(of_users, expected)


def test_doubtful_rows_count_by_how_probably_they_are_no_noise():
    truth = np.array([0.5, 1.0, 1.0, 0.0])
    doubted = Judge(HELD_OUT, TRAIN, truth, 6, 0).values(model(), None)[Shift()]
    plain = Judge(HELD_OUT, TRAIN, np.ones(4), 6, 0).values(model(), None)[Shift()]
    np.testing.assert_allclose(doubted, plain * [0.5, 1, 0])


def test_a_label_says_more_than_a_probability_and_a_probability_more_than_nothing():
    held_out = interactions([0, 1, 1], [2, 0, 3], [UNKNOWN, FALSE, TRUE])
    assert truth_of(held_out, np.array([0.25, 0.25, 0.25])).tolist() == [0.75, 0, 1]
    assert truth_of(held_out, None).tolist() == [1, 0, 1]
    assert truth_of(HELD_OUT, None).tolist() == [1, 1, 1, 1]


def test_of_each_kind_of_shift_the_best_remains():
    values = {Shift(): 1, Shift(0.5): 2, Shift(2.0): 3, Shift(0.0, True): 0, Shift(0.5, True): 5, Shift(2.0, True): 4}
    best = best_shifts({shift: np.array([float(value)]) for shift, value in values.items()})
    assert best == [Shift(), Shift(2.0), Shift(0.0, True), Shift(0.5, True)]


def test_no_more_users_than_enough_are_asked(monkeypatch):
    monkeypatch.setattr(judging, "MOST_USERS", 2)
    judge = Judge(HELD_OUT, TRAIN, np.ones(4), 3, 0)
    assert len(judge.users) == 2
    everybody = evaluate(model(), HELD_OUT.csr, TRAIN.csr, [3]).per_user["ndcg@3"]
    assert judge.values(model(), None)[Shift()] == pytest.approx(everybody[judge.users])
