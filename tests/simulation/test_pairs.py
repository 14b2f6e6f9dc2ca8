import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recsieve.simulation.pairs import outside, unique_pairs

numbers = st.lists(st.integers(0, 30)).map(lambda values: np.array(values, dtype=np.int64))


@given(numbers)
def test_distinct_sorts_pairs_and_keeps_each_once(pairs):
    assert unique_pairs(pairs).tolist() == sorted(set(pairs.tolist()))


@given(numbers, numbers)
def test_outside_keeps_the_pairs_that_are_not_among_the_others(pairs, others):
    kept = outside(pairs, np.sort(others))
    assert kept.tolist() == [pair for pair in pairs.tolist() if pair not in set(others.tolist())]
