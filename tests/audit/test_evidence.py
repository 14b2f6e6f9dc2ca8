import numpy as np
import polars as pl
import pytest

from recsieve.audit.evidence import profile_fit
from recsieve.data.interactions import Interactions


def made(pairs, n_users, n_items):
    users, items = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    return Interactions(users, items, pl.Series(range(n_users)), pl.Series(range(n_items)))


def test_the_users_own_pairs_do_not_count():
    data = made([(0, 0), (0, 1), (1, 0), (1, 2)], 2, 3)
    assert profile_fit(data).tolist() == [0, 0, 0, 0]  # nobody else has the two together


def test_an_item_that_others_have_together_with_the_profile_fits():
    data = made([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)], 3, 3)
    fit = profile_fit(data)
    assert fit[0] == pytest.approx(2 / np.sqrt(2 * 2))  # both others who have item 0 have item 1
    assert fit[6] == 0  # item 2 is this user's alone


def test_it_equals_the_item_item_matrix_written_out(small_data):
    data = small_data(15, 10, 0.4)
    fit = profile_fit(data)
    taken = np.zeros((15, 10))
    taken[data.users, data.items] = 1
    for row, (user, item) in enumerate(zip(data.users, data.items, strict=True)):
        rest = np.delete(taken, user, axis=0)
        others = [other for other in data.csr.row(user) if other != item]
        counts = rest.sum(axis=0)
        likeness = [
            rest[:, item] @ rest[:, other] / np.sqrt(max(counts[item], 1) * max(counts[other], 1)) for other in others
        ]
        assert fit[row] == pytest.approx(np.mean(likeness) if others else 0, abs=1e-5)
