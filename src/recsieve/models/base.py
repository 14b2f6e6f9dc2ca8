"""What training, evaluation and users may ask of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recsieve.data.interactions import CSR

Of = Literal["users", "items"]
MakeTable = Callable[[Of, int, int, torch.Generator], nn.Module]

_DRAWN_AT_ONCE = 1 << 16  # rows


class Model(nn.Module, ABC):
    """Scores user-item pairs; knows nothing of losses, files or devices.

    Every model is made from the profiles of the users (their training items), which say how many users and items
    there are; a model may also learn from them. Embeddings give sparse gradients.
    """

    # Whether a batch shall hold all rows of a few users, because it is users that are costly to compute.
    by_user = False
    # Whether it learns which interactions are known to be regretted, and needs data that says so.
    learns_from_flags = False

    def __init__(self, profiles: CSR) -> None:
        super().__init__()
        self.n_users, self.n_items = profiles.n_users, profiles.n_items

    @abstractmethod
    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """The logit of each pair: (n,), (n,) -> (n,)."""

    @torch.no_grad()
    def score_all_items(self, users: Tensor) -> Tensor:
        """The logits of all items for some users, without gradients: (n,) -> (n, items)."""
        user_vectors, item_vectors, item_bias, constant = self.as_product(users)
        scores = user_vectors @ item_vectors.T
        return scores.add_(constant if item_bias is None else item_bias + constant)

    def as_product(self, users: Tensor) -> tuple[Tensor, Tensor, Tensor | None, float]:
        """Vectors of users and of all items whose product is the logit, and what is added for each item, and for all.

        A model that cannot be written so has `score_all_items` of its own.
        """
        raise NotImplementedError

    def at_hand(self, users: NDArray[np.int32]) -> tuple[Model, NDArray[np.int32]]:
        """A model with all that ranking for some users takes in this process, and what they are called in it."""
        return self, users


def embedding(of: Of, profiles: CSR, factors: int, generator: torch.Generator) -> nn.Embedding:
    """A table of vectors of all users or items from N(0, 0.01), with sparse gradients, or what `tables_by` makes."""
    n_rows = profiles.n_users if of == "users" else profiles.n_items
    return _make_table.get()(of, n_rows, factors, generator)  # type: ignore[return-value]


@contextmanager
def tables_by(make: MakeTable) -> Iterator[None]:
    """Let another function make the tables of models: some that are filled later, or that are not here as a whole."""
    token = _make_table.set(make)
    try:
        yield
    finally:
        _make_table.reset(token)


def empty_table(of: Of, n_rows: int, factors: int, generator: torch.Generator) -> nn.Embedding:
    """A table that takes no memory until its weights are assigned."""
    return nn.Embedding(n_rows, factors, sparse=True, device="meta")


def drawn_rows(n_rows: int, factors: int, generator: torch.Generator) -> Iterator[tuple[int, Tensor]]:
    """The rows that a new table begins with, some at a time and where they start; the same numbers as all at once."""
    # torch draws sixteen numbers at a time, and fewer in another way: no block ends within, and the last is not short.
    starts = range(0, max(n_rows - _DRAWN_AT_ONCE, 0) + 1, _DRAWN_AT_ONCE)
    for start in starts:
        stop = n_rows if start == starts[-1] else start + _DRAWN_AT_ONCE
        yield start, torch.empty(stop - start, factors).normal_(0.0, 0.01, generator=generator)


def _drawn_table(of: Of, n_rows: int, factors: int, generator: torch.Generator) -> nn.Embedding:
    weight = torch.empty(n_rows, factors).normal_(0.0, 0.01, generator=generator)
    return nn.Embedding.from_pretrained(weight, freeze=False, sparse=True)


_make_table: ContextVar[MakeTable] = ContextVar("make_table", default=_drawn_table)


def output_layer(inputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer to one logit, uniform in ±√(3/inputs), without bias at first."""
    layer = nn.Linear(inputs, 1)
    bound = (3 / inputs) ** 0.5
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer
