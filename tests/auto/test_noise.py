import numpy as np

from recsieve.audit.pairs import PairNoise, PairScores
from recsieve.auto.noise import NoiseEstimate, by_popularity, visible
from recsieve.data.interactions import UNLABELLED


def test_only_the_share_of_labels_that_may_be_seen_is_seen(split):
    seen = visible(split, 0.5, seed=0)
    for part in ("train", "validation"):
        before, after = getattr(split, part).false_positive, getattr(seen, part).false_positive
        shown = after != UNLABELLED
        assert 0.2 < shown.mean() < 0.8
        assert (after[shown] == before[shown]).all()
    assert not visible(split, 0.0, seed=0).train.has_flags
    assert visible(split, 1.0, seed=0) == split


def test_other_seeds_see_other_labels(split):
    first, again, other = (visible(split, 0.5, seed).train.false_positive for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()


def test_the_control_hands_the_same_probabilities_out_by_unpopularity(split):
    train, rng = split.train, np.random.default_rng(0)
    zeros = [np.zeros(shape, np.float32) for shape in (train.n_users, train.n_items)]
    pairs = PairNoise(PairScores(*zeros, *(zero[:, None] for zero in zeros)))
    control = by_popularity(train, NoiseEstimate(rng.random(len(train)), pairs))
    given = NoiseEstimate(np.random.default_rng(0).random(len(train)), pairs)
    assert np.allclose(np.sort(control.observed), np.sort(given.observed))
    counts = train.item_counts()[train.items]
    assert control.observed[counts == counts.max()].mean() < control.observed[counts == counts.min()].mean()
    of_items = np.bincount(train.items, control.observed) / train.item_counts()
    assert np.allclose(np.exp(control.pairs.log_clean(np.array([0]))[0]), 1 - of_items, atol=1e-5)
