"""Full ranking: the best items of each user among all that they have not seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.data.interactions import CSR
from recsieve.models import Model

BLOCK_BYTES = 64 << 20  # of scores held at once


def rank_items(
    model: Model, users: NDArray[np.int32], k: int, seen: CSR | None, *, block_bytes: int = BLOCK_BYTES
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k best items of each user and their scores, best first; −1 where fewer than k are left."""
    k = min(k, model.n_items)
    top, scores = np.empty((len(users), k), np.int32), np.empty((len(users), k), np.float32)
    for start, stop in blocks(len(users), model.n_items, block_bytes):
        block = users[start:stop]
        best = _mask_seen(model.score_all_items(torch.from_numpy(block.astype(np.int64))), block, seen)
        values, items = top_k(best, k)
        scores[start:stop] = values.numpy()
        top[start:stop] = items.masked_fill(values == -torch.inf, -1).numpy()
    return top, scores


def blocks(n_users: int, n_items: int, block_bytes: int) -> Iterator[tuple[int, int]]:
    """Ranges of users whose scores fit into the memory allowed."""
    size = max(1, block_bytes // (4 * n_items))
    for start in range(0, n_users, size):
        yield start, min(start + size, n_users)


def _mask_seen(scores: Tensor, users: NDArray[np.int32], seen: CSR | None) -> Tensor:
    if seen is None:
        return scores
    lengths = seen.counts()[users]
    rows = np.repeat(np.arange(len(users)), lengths)
    columns = np.concatenate([seen.row(user) for user in users])
    return scores.index_put_((torch.from_numpy(rows), torch.from_numpy(columns.astype(np.int64))), _NEVER)


_NEVER = torch.tensor(-torch.inf)


def top_k(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row, in two stages: the k columns with the largest maxima hold them all."""
    n_users, n_items = scores.shape
    n_columns = int((n_items * k) ** 0.5)
    if n_items < 4096 or n_columns <= 2 * k:
        return scores.topk(k)
    depth = n_items // n_columns
    whole = depth * n_columns
    folded = scores[:, :whole].view(n_users, depth, n_columns)
    columns = folded.amax(1).topk(k, sorted=False).indices  # (users, k)
    candidates = (columns.unsqueeze(1) + torch.arange(depth).view(-1, 1) * n_columns).flatten(1)
    rest = torch.arange(whole, n_items).expand(n_users, -1)
    candidates = torch.cat([candidates, rest], dim=1)
    values, places = scores.gather(1, candidates).topk(k)
    return values, candidates.gather(1, places)
