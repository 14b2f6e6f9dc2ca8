"""Full ranking: the best 100 of all unseen items."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from benchmarks import plain
from benchmarks.measure import Agreement, Case, Disagreement, Timing, median_of, seconds
from benchmarks.training import grown_model, plain_copy
from recsieve.data.interactions import CSR
from recsieve.evaluation import rank_items

K = 100
WARM_UP_USERS = 3


class Ranking:
    """Blocks of users against one user at a time."""

    def __init__(self, name: str, *, rank_all: bool) -> None:
        self.name, self.rank_all = name, rank_all

    def agree(self, case: Case) -> Agreement:
        model = grown_model(self.name, case.data).eval()
        copy, users = plain_copy(self.name, model), some_users(case, case.effort.plain_users)
        theirs = np.array(plain.recommend(copy, users.tolist(), seen_sets(case.data.csr), model.n_items, K))
        ours, _ = rank_items(model, users, K, case.data.csr)
        refuse_seen(ours, users, case.data.csr)
        same = (ours == theirs).all(axis=1).mean()
        what = f"largest gap in score, rank by rank, {same:.1%} of {len(users)} lists identical"
        return Agreement(what, largest_gap(copy, users, ours, theirs), 1e-5)

    def plain(self, case: Case) -> Timing:
        model = plain_copy(self.name, grown_model(self.name, case.data))
        seen, users = seen_sets(case.data.csr), some_users(case, case.effort.plain_users).tolist()
        plain.recommend(model, users[:WARM_UP_USERS], seen, case.data.n_items, K)
        taken = seconds(lambda: plain.recommend(model, users, seen, case.data.n_items, K))
        return Timing(taken / len(users), f"{len(users)} of {case.data.n_users:,} users")

    def ours(self, case: Case) -> Timing:
        data = case.data
        model = grown_model(self.name, data).eval()
        users = some_users(case, data.n_users if self.rank_all else case.effort.our_users)
        rank_items(model, users[:WARM_UP_USERS], K, data.csr)
        timing = median_of(case.effort.repeats, lambda: rank_items(model, users, K, data.csr), 1 / len(users))
        extrapolated = "" if len(users) == data.n_users else f"{len(users)} of {data.n_users:,} users"
        return Timing(timing.seconds, extrapolated, timing.repeats)


def some_users(case: Case, n: int) -> NDArray[np.int32]:
    return np.random.default_rng(0).permutation(case.data.n_users)[:n].astype(np.int32)


def seen_sets(seen: CSR) -> dict[int, set[int]]:
    return {user: set(seen.row(user).tolist()) for user in range(seen.n_users)}


def refuse_seen(lists: NDArray[np.int32], users: NDArray[np.int32], seen: CSR) -> None:
    for user, items in zip(users, lists, strict=True):
        if np.isin(items, seen.row(user)).any():
            raise Disagreement(f"user {user} is recommended an item of their own")


@torch.no_grad()
def largest_gap(model: nn.Module, users: NDArray, ours: NDArray, theirs: NDArray) -> float:
    """How far the scores of the two lists are apart at any rank, as a share of the largest score.

    Items whose scores differ by rounding only may change places, and nothing else may differ.
    """
    repeated = torch.from_numpy(users.astype(np.int64)).repeat_interleave(K)
    ours, theirs = (model(repeated, torch.from_numpy(lists.astype(np.int64)).flatten()) for lists in (ours, theirs))
    return float((ours - theirs).abs().max() / theirs.abs().max())
