"""What all checks share: how a broken contract is reported, and small test data."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.training.checkpoint import load_checkpoint, save_checkpoint

N_USERS, N_ITEMS = 14, 11


def promise(kept: object, claim: str) -> None:
    """Raise an AssertionError that says in one sentence what is wrong."""
    if not kept:
        raise AssertionError(claim)


def tiny_split() -> Split:
    """Interactions with some known noise, including a user who has every item and one who has none."""
    random = np.random.default_rng(0)
    met = random.random((N_USERS, N_ITEMS)) < 0.4
    met[0], met[-1] = True, False
    users, items = (axis.astype(np.int32) for axis in met.nonzero())
    noise = (random.random(len(users)) < 0.2).astype(np.int8)
    return Split.of_training(Interactions(users, items, _ids("u", N_USERS), _ids("i", N_ITEMS), noise))


def _ids(kind: str, n: int) -> pl.Series:
    return pl.Series([f"{kind}{number}" for number in range(n)])


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    """A state as it is read back from a checkpoint."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.safetensors"
        save_checkpoint(path, state)
        return load_checkpoint(path)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def close(one: Tensor, other: Tensor, rtol: float = 1e-4, atol: float = 1e-5) -> bool:
    return one.shape == other.shape and torch.allclose(one.double(), other.double(), rtol, atol)
