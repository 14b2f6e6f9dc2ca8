from dataclasses import replace

import numpy as np
import pytest
import torch

from recsieve.data.sharing import share_out
from recsieve.sampling import Sampler


@pytest.fixture
def log(small_data):
    """Interactions in any order, with weights, of which two users have every item."""
    data = small_data(12, 9, 0.4)
    everything = np.array([(user, item) for user in (3, 8) for item in range(9)], np.int32)
    others = ~np.isin(data.users, [3, 8])
    users = np.concatenate([data.users[others], everything[:, 0]])
    items = np.concatenate([data.items[others], everything[:, 1]])
    weight = np.arange(len(users), dtype=np.float32)
    shuffled = np.random.default_rng(0).permutation(len(users))
    return replace(data, users=users, items=items, false_positive=None, weight=weight).take(shuffled)


@pytest.mark.parametrize("n_ranks", [2, 3, 20])
@pytest.mark.parametrize("layout", ["interactions", "users"])
@pytest.mark.parametrize("negatives", [1, 2])
@pytest.mark.parametrize("batch_size", [7, 32])
def test_the_ranks_draw_together_what_one_process_draws(log, in_ranks, n_ranks, layout, negatives, batch_size):
    options = {
        "seed": 3,
        "negatives": negatives,
        "layout": layout,
        "labels": np.arange(len(log), dtype=np.float32),
    }
    alone = list(Sampler(log, **options).batches(1, batch_size))

    def draw(group):
        own = share_out(log, group)
        mine = options | {"labels": options["labels"][own.rows]}
        return list(Sampler(own, **mine).batches(1, batch_size))

    for whole, *shares in zip(alone, *in_ranks(n_ranks, draw), strict=True):
        order = torch.cat([share.positions for share in shares]).argsort()
        for name in ("users", "items", "labels", "ids", "weights"):
            together = torch.cat([getattr(share, name) for share in shares])[order]
            assert torch.equal(together, getattr(whole, name)), name


def test_a_rank_holds_all_rows_of_its_users_and_none_of_others(log, in_ranks):
    shares = in_ranks(3, lambda group: share_out(log, group))
    assert sum(len(share) for share in shares) == len(log)
    for one in range(3):
        for other in range(one):
            assert not set(shares[one].users) & set(shares[other].users)
