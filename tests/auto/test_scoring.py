import numpy as np
import polars as pl
import pytest
import torch

from recsieve.auto import scoring
from recsieve.auto.candidates import Spec
from recsieve.auto.scoring import CandidateScorer, log_popularity, truth_of
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED, Interactions
from recsieve.evaluation import evaluate
from recsieve.models import GMF
from recsieve.models.blend import NOISE, Blend, Offset


def interactions(users, items, flags=None):
    ids = pl.Series(range(3)), pl.Series(range(6))
    flags = None if flags is None else np.array(flags, np.int8)
    return Interactions(np.array(users, np.int32), np.array(items, np.int32), *ids, flags)


TRAIN = interactions([0, 0, 1, 2, 2], [0, 1, 1, 1, 4])
HELD_OUT = interactions([0, 1, 1, 2], [2, 0, 3, 5])


SPEC = Spec("gmf")


def model(seed=3):
    return GMF(TRAIN.csr, torch.Generator().manual_seed(seed))


def offset():
    generator = torch.Generator().manual_seed(4)
    shapes = {"users": (3,), "items": (6,), "user_factors": (3, 2), "item_factors": (6, 2)}
    return {name: torch.randn(*shapes[name], generator=generator) for name in NOISE}


def ndcg(truth):
    scorer = CandidateScorer(HELD_OUT, TRAIN, truth, 6, 0)
    return scorer.ndcg(scorer.rank(model()))


def test_without_doubts_the_value_is_the_common_ndcg_under_every_offset():
    scorer, log_true = CandidateScorer(HELD_OUT, TRAIN, np.ones(4), 3, 0), Offset(torch.zeros(6), offset())
    values = scorer.offsets(scorer.score(SPEC, model()), log_true)
    assert len(values) == len(scoring.C) * len(scoring.GAMMA) - 1
    for one, of_users in values.values():
        added = Offset(one.gamma * log_popularity(TRAIN), offset() if one.c else None, one.c)
        expected = evaluate(Blend([model()], offset=added), HELD_OUT.csr, TRAIN.csr, [3]).per_user["ndcg@3"]
        np.testing.assert_allclose(of_users.sum(axis=1), expected)


def test_without_p_only_popularity_is_an_offset():
    scorer = CandidateScorer(HELD_OUT, TRAIN, np.ones(4), 3, 0)
    values = scorer.offsets(scorer.score(SPEC, model()), None)
    assert {one.c for one, _ in values.values()} == {0.0}


def test_blends_are_judged_as_they_will_rank():
    scorer, log_true = CandidateScorer(HELD_OUT, TRAIN, np.ones(4), 3, 0), Offset(torch.zeros(6), offset())
    fitted = [(Spec("gmf"), model()), (Spec("mf"), model(5)), (Spec("cdae"), model(6))]
    values = scorer.blends([scorer.score(*one) for one in fitted], log_true, (0.5, 1.0))
    assert len(values) == 2 * len(scoring.mixtures(3)) == 2 * (3 * 3 + 1)
    scorers = {spec.model: scorer for spec, scorer in fitted}
    for one, of_users in values.values():
        added = Offset(log_popularity(TRAIN), offset(), 0.5) if one.c else None
        blend = Blend([scorers[spec.model] for spec in one.specs], one.weights, added)
        expected = evaluate(blend, HELD_OUT.csr, TRAIN.csr, [3]).per_user["ndcg@3"]
        np.testing.assert_allclose(of_users.sum(axis=1), expected)


def test_doubtful_rows_count_by_how_probably_they_are_no_noise():
    truth = np.array([0.5, 1.0, 1.0, 0.0])
    doubted, plain = ndcg(truth), ndcg(np.ones(4))
    np.testing.assert_allclose(doubted, plain * np.array([[0.5], [1], [0]]))


def test_a_label_says_more_than_a_probability_and_a_probability_more_than_nothing():
    held_out = interactions([0, 1, 1], [2, 0, 3], [UNLABELLED, NOISY, CLEAN])
    assert truth_of(held_out, np.array([0.25, 0.25, 0.25])).tolist() == [0.75, 0, 1]
    assert truth_of(held_out, None).tolist() == [1, 0, 1]
    assert truth_of(HELD_OUT, None).tolist() == [1, 1, 1, 1]


def test_no_more_users_than_enough_are_asked(monkeypatch):
    monkeypatch.setattr(scoring, "MOST_USERS", 2)
    scorer = CandidateScorer(HELD_OUT, TRAIN, np.ones(4), 3, 0)
    assert len(scorer.users) == 2
    everybody = evaluate(model(), HELD_OUT.csr, TRAIN.csr, [3]).per_user["ndcg@3"]
    assert scorer.ndcg(scorer.rank(model())).sum(axis=1) == pytest.approx(everybody[scorer.users])


def test_popular_items_are_counted_apart():
    halves = ndcg(np.ones(4))
    popularity = TRAIN.item_counts()[HELD_OUT.items]
    popular = (popularity > np.median(popularity)).astype(float)
    np.testing.assert_allclose(ndcg(popular), halves * [1, 0])
