import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recsieve.simulation.drawing import outside, spread, unique_pairs


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 20)), min_size=1), st.floats(0, 1), st.integers(0, 99))
def test_everything_is_placed_and_no_place_gets_more_than_it_holds(places, fullness, seed):
    weights, room = np.array(places).T
    total = int(fullness * room.sum())
    placed = spread(total, weights, room, np.random.default_rng(seed))
    assert placed.sum() == total
    assert (placed >= 0).all()
    assert (placed <= room).all()


def test_heavier_places_get_more():
    placed = spread(1_000, np.array([1, 9]), np.array([1_000, 1_000]), np.random.default_rng(0))
    assert 850 < placed[1] < 950


numbers = st.lists(st.integers(0, 30)).map(lambda values: np.array(values, dtype=np.int64))


@given(numbers)
def test_distinct_sorts_pairs_and_keeps_each_once(pairs):
    assert unique_pairs(pairs).tolist() == sorted(set(pairs.tolist()))


@given(numbers, numbers)
def test_outside_keeps_the_pairs_that_are_not_among_the_others(pairs, others):
    kept = outside(pairs, np.sort(others))
    assert kept.tolist() == [pair for pair in pairs.tolist() if pair not in set(others.tolist())]
