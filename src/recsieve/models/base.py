"""The interface of models that are trained by gradients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from recsieve.data.interactions import CSR, Interactions
from recsieve.errors import ConfigError
from recsieve.models.cost import STEP, ranking_seconds
from recsieve.models.scorer import Scorer
from recsieve.objectives import Losses, Objective
from recsieve.sampling import Batch

Of = Literal["users", "items"]
MakeTable = Callable[[Of, int, int, torch.Generator], nn.Module]

_DRAWN_AT_ONCE = 1 << 16  # rows


class Model(Scorer):
    """A model that is trained by gradients. It scores pairs of users and items, and knows nothing about files or
    devices.

    Every model is created from the profiles of the users (their training items), which also give the numbers of users
    and items; a model may learn from them. Embeddings from `embedding` have sparse gradients.
    """

    # Whether a batch shall hold all rows of a few users, because it is users that are costly to compute.
    user_grouped_batches = False
    # Whether it learns which interactions are known to be noise, and needs data that says so.
    uses_noise_labels = False
    takes_pairs = True  # whether a pairwise objective makes sense
    # Whether an embedding lookup reads all that a user's score needs, so that the tables may be sharded over ranks.
    shardable = True
    # Whether a score depends on the profiles of all users, of which a rank has only some.
    reads_all_profiles = False
    # How long a row of a batch takes beside one of a dot product with fused steps.
    row_cost: ClassVar[float] = 6.0
    # Of the parameters that have a row for each user or item, whose they are; if for both, in this order.
    rows_of: ClassVar[Mapping[str, tuple[Of, ...]]] = {"user.weight": ("users",), "item.weight": ("items",)}

    def __init__(self, profiles: CSR, generator: torch.Generator | None = None, **options: Any) -> None:
        super().__init__()
        self.n_users, self.n_items = profiles.n_users, profiles.n_items
        self.profile_sizes = profiles.counts()

    @classmethod
    def seconds(cls, train: Interactions, training: Mapping[str, Any]) -> float:
        """About how long 40 epochs take, each with its validation; early stopping rarely comes later."""
        rows = len(train) * (1 + training.get("negatives", 1))
        return 40 * (STEP * cls.row_cost * rows + ranking_seconds(train))

    @abstractmethod
    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """The score of each pair, a logit with cross-entropy: (n,), (n,) -> (n,)."""

    def losses(self, batch: Batch, objective: Objective) -> Losses:
        """The losses of a batch, with gradients; a model with several tasks has its own."""
        scores = self(batch.users, batch.items).float()
        if not objective.pairwise:
            losses = objective(scores, batch.labels)
            return Losses(losses, losses)
        positive, negative = batch.pairs()
        losses = objective(scores[positive], scores[negative])
        return Losses(losses, losses, positive)

    def as_log(self, scores: Tensor) -> Tensor:
        return scores  # logits are of that scale

    @torch.no_grad()
    def take_vectors(self, other: Scorer, users: Tensor, items: Tensor) -> bool:
        """Take over the parameters of a model with other users and items; rows by their codes there (−1: none).

        Returns False and changes nothing if the parameters do not match.
        """
        theirs = dict(other.named_parameters())
        codes = {
            name: _stacked(of, {"users": users, "items": items}, other) for name, of in self.rows_of.items()
        }  # the row there of each row here
        own = dict(self.named_parameters())
        if own.keys() != theirs.keys() or not all(_alike(own[n], theirs[n], codes.get(n)) for n in own):
            return False
        for name, parameter in own.items():
            if name not in codes:
                parameter.copy_(theirs[name])
                continue
            known = codes[name] >= 0
            parameter[known] = theirs[name][codes[name][known]]
        return True

    def penalty(self, batch: Batch) -> Tensor | None:
        """What is added to the mean loss of a batch, such as L2; in a group, this rank's part of it."""
        return None


def _stacked(of: tuple[Of, ...], codes: Mapping[str, Tensor], other: Scorer) -> Tensor:
    """The rows in a table of another model, where the items may follow the users."""
    parts, first = [], 0
    for who in of:
        parts.append(torch.where(codes[who] < 0, codes[who], codes[who] + first))
        first += other.n_users if who == "users" else other.n_items
    return torch.cat(parts)


def _alike(own: Tensor, other: Tensor, codes: Tensor | None) -> bool:
    if codes is None:
        return own.shape == other.shape
    return own.shape[1:] == other.shape[1:] and len(own) == len(codes) and bool((codes < len(other)).all())


def embedding(of: Of, profiles: CSR, factors: int, generator: torch.Generator) -> nn.Embedding:
    """A table of vectors of all users or items from N(0, 0.01), with sparse gradients; see `table_factory`."""
    n_rows = profiles.n_users if of == "users" else profiles.n_items
    return _make_table.get()(of, n_rows, factors, generator)  # type: ignore[return-value]


@contextmanager
def table_factory(make: MakeTable) -> Iterator[None]:
    """Let another function create the tables of models, such as tables that are filled later or sharded."""
    token = _make_table.set(make)
    try:
        yield
    finally:
        _make_table.reset(token)


def empty_table(of: Of, n_rows: int, factors: int, generator: torch.Generator) -> nn.Embedding:
    """A table that takes no memory until its weights are assigned."""
    return nn.Embedding(n_rows, factors, sparse=True, device="meta")


def drawn_rows(n_rows: int, factors: int, generator: torch.Generator) -> Iterator[tuple[int, Tensor]]:
    """The initial rows of a table, in blocks with their positions; the same numbers as all at once."""
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
    """A linear layer to one logit, uniform in ±√(3/inputs), with a bias of 0."""
    layer = nn.Linear(inputs, 1)
    bound = (3 / inputs) ** 0.5
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer


def mean_squares(l2: float, batch: Batch, *vectors: Tensor) -> Tensor:
    """The L2 penalty of a batch: l2 · Σ ‖vector‖², divided by the rows of all ranks."""
    squares = torch.stack([rows.square().sum() for rows in vectors]).sum()
    return l2 * squares / max(batch.n_all or len(batch), 1)


def check_l2(l2: float) -> None:
    """Raise an error if a strength of L2 is invalid."""
    if not 0 <= l2 < float("inf"):
        raise ConfigError(f"l2 is {l2}, but it is the strength of L2 regularisation: give 0 or more, e.g. 0.0001.")
