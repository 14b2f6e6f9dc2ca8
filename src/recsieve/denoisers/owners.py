"""The user or item of each training interaction, for strategies that treat users or items separately."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from recsieve.denoisers.base import LossBatch
from recsieve.errors import ConfigError

By = Literal["user", "item"]


def unknown_owners(n_interactions: int, by: By = "user") -> Tensor:
    """The user or the item of each interaction, learned from the batches of an epoch; −1 if it was not seen yet."""
    if by not in ("user", "item"):
        raise ConfigError(f"by is '{by}', but it says which losses are grouped: give 'user' or 'item'.")
    return torch.full((n_interactions,), -1, dtype=torch.int64)


def see_owners(owners: Tensor, batch: LossBatch, by: By = "user") -> None:
    """Learn from a training batch; a batch without ids is from validation and is ignored."""
    if batch.ids is not None:
        known = batch.ids >= 0
        owners[batch.ids[known]] = owners_of(batch, by)[known]


def owners_of(batch: LossBatch, by: By = "user") -> Tensor:
    """The users or items of a batch."""
    owners = batch.users if by == "user" else batch.items
    if owners is None:
        raise ConfigError(f"the batch has no {by}s: give `{by}s`.")
    return owners.long()


def mean_by(values: Tensor, owners: Tensor, n: int) -> Tensor:
    """The mean of the values of each of n owners, NaN if there are none: (m,), (m,) -> (n,)."""
    zeros = values.new_zeros(n, dtype=torch.float64)
    sums = zeros.index_add(0, owners, values.double())
    return sums / zeros.index_add(0, owners, torch.ones_like(values, dtype=torch.float64))


def midranks(values: Tensor) -> Tensor:
    """The share of values that are smaller, plus half of the equal ones: (rank − ½) / n, with ties at their mean."""
    _, inverse, counts = torch.unique(values, return_inverse=True, return_counts=True)
    middle: Tensor = counts.cumsum(0) - counts / 2.0
    return middle.double()[inverse] / max(len(values), 1)


def rank_positions(values: Tensor) -> Tensor:
    """From 0 for the smallest value to 1 for the largest, in even steps, with ties at their mean; NaN stays NaN."""
    known = ~values.isnan()
    n = int(known.sum())
    positions = torch.full_like(values, torch.nan)
    positions[known] = (midranks(values[known]) * n - 0.5) / max(n - 1, 1)
    return positions
