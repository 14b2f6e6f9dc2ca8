import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recsieve.training.own_index import OwnIndex


@given(st.sets(st.integers(0, 1000), min_size=1), st.data())
def test_an_interaction_is_found_where_it_stands_here(rows, data):
    here = np.array(sorted(rows))
    index = np.array(data.draw(st.lists(st.integers(-1, len(here) - 1))), np.int64)
    ids = np.where(index < 0, -1, here[index])
    assert OwnIndex(here).of(ids).tolist() == index.tolist()


def test_where_all_are_here_ids_are_the_index():
    ids = np.array([3, -1, 0])
    assert OwnIndex(None).of(ids) is ids
    assert OwnIndex(np.zeros(0, np.int64)).of(np.array([-1, -1])).tolist() == [-1, -1]
