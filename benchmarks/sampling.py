"""The negatives of an epoch."""

from __future__ import annotations

import numpy as np

from benchmarks import plain
from benchmarks.measure import Agreement, Case, Timing, median_of, seconds
from benchmarks.training import ratings_of
from recsieve.data.interactions import Interactions
from recsieve.sampling import Sampler


class Sampling:
    """One draw at a time with rejection, against whole chunks; ours also shuffles the epoch and cuts the batches."""

    def agree(self, case: Case) -> Agreement:
        """Both give each user as many negatives as positives, and none that is observed."""
        data = case.data
        dataset = plain.PairDataset(ratings_of(data))
        dataset.sample_negatives()
        theirs = np.array(dataset.rows[len(data) :])
        sampler = Sampler(data, seed=0)
        rows = sampler.draw(0, 0, sampler.rows_per_epoch)
        ours = np.stack([rows.users.numpy(), rows.items.numpy()], axis=1)[rows.labels.numpy() == 0]
        wrong = sum(_wrong(data, negatives) for negatives in (ours, theirs))
        return Agreement(f"wrong rows among {len(ours):,} negatives of each", wrong, 0)

    def plain(self, case: Case) -> Timing:
        return Timing(seconds(plain.PairDataset(ratings_of(case.data)).sample_negatives))

    def ours(self, case: Case) -> Timing:
        sampler = Sampler(case.data, seed=0)
        sampler.draw(0, 0, plain.BATCH)  # compiles the kernel
        return median_of(case.effort.repeats, lambda: sum(1 for _ in sampler.batches(0, plain.BATCH)))


def _wrong(data: Interactions, negatives: np.ndarray) -> int:
    """How many negatives are observed pairs, too few or too many for their user."""
    keys, observed = (
        users.astype(np.int64) * data.n_items + items
        for users, items in ((negatives[:, 0], negatives[:, 1]), (data.users, data.items))
    )
    per_user = np.bincount(negatives[:, 0], minlength=data.n_users)
    return int(np.isin(keys, observed).sum() + np.abs(per_user - data.user_counts()).sum())
