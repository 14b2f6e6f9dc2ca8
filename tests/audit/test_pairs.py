import numpy as np

from recsieve.audit.pairs import PairScores, add_scores


def random_scores(seed, factors):
    rng = np.random.default_rng(seed)
    shapes = ((4,), (5,), (4, factors), (5, factors))
    return PairScores(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def test_pairs_one_by_one_equal_the_block_of_all_items():
    scores = random_scores(0, 3)
    users, items = (axis.ravel().astype(np.int32) for axis in np.mgrid[:4, :5])
    block = scores.of_all_items(np.arange(4, dtype=np.int32))
    np.testing.assert_allclose(scores.of(users, items).reshape(4, 5), block, rtol=1e-5, atol=1e-5)


def test_sums_and_scales_are_those_of_the_scores():
    one, two, everyone = random_scores(1, 3), random_scores(2, 2), np.arange(4, dtype=np.int32)
    expected = 2 * one.of_all_items(everyone) + 1 + two.of_all_items(everyone)
    np.testing.assert_allclose(
        add_scores([one.scaled(2, 1), two]).of_all_items(everyone), expected, rtol=1e-5, atol=1e-5
    )
