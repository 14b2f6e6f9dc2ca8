"""LightGCN: vectors averaged over the graph of interactions.

With Â = D^−½ A D^−½ of the graph A between users and items, whose edges have the weights of interactions, and E the
learned vectors, scores are products of the rows of (E + Â E + … + Â^layers E) / (layers + 1).
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from scipy.sparse import block_array, csr_array
from torch import Tensor, nn
from torch.nn import functional

from recsieve.data.interactions import CSR
from recsieve.denoisers import Range
from recsieve.errors import ConfigError
from recsieve.models.base import Model, Of, check_l2, mean_squares
from recsieve.models.new_users import FoldedUsers, cosines
from recsieve.models.scorer import Factors, Scorer
from recsieve.models.state import checked_profiles
from recsieve.sampling import Batch

_DEVIATION = 0.1  # of the first vectors, as in the authors' release


class LightGCN(Model):
    """The dot product of vectors that are propagated over the graph of interactions (He et al., 2020).

    The weight of an interaction is that of its edge, also in the degrees of its nodes; weight 0 is no edge. `l2`
    multiplies the mean of ‖user‖² + ‖item‖² over the rows of a batch, before propagation. A step propagates over the
    whole graph, whatever the batch size: batches of 4,096 and a learning rate of 0.005 make for short epochs, and few
    of them.
    """

    # The settings that `auto` trains it with: the best of a few settings on the validation part of ml-100k.
    suits: ClassVar[dict[str, Any]] = {"objective": "bpr", "learning_rate": 5e-3, "batch_size": 4096}
    rows_of: ClassVar[dict[str, tuple[Of, ...]]] = {"vectors": ("users", "items")}
    search_space: ClassVar[dict[str, Range]] = {
        "factors": Range(16, 256, whole=True),
        "layers": Range(1, 4, whole=True),
        "l2": Range(1e-6, 1e-2),
    }
    shardable = False
    reads_all_profiles = True
    offsets: Tensor
    neighbours: Tensor
    strengths: Tensor
    item_degrees: Tensor
    propagated: Tensor | None
    reaching: Tensor | None

    def __init__(
        self, profiles: CSR, generator: torch.Generator, *, factors: int = 64, layers: int = 3, l2: float = 1e-4
    ) -> None:
        super().__init__(profiles)
        if layers < 1:
            raise ConfigError(
                f"layers is {layers}, but it is the number of graph convolutions: give 1 or more, or use mf."
            )
        check_l2(l2)
        self.layers, self.l2 = layers, l2
        vectors = torch.empty(self.n_users + self.n_items, factors).normal_(0, _DEVIATION, generator=generator)
        self.vectors = nn.Parameter(vectors)  # of the users, then of the items
        graph = normalised_graph(profiles)
        # Made from the data, so not part of the state.
        self.register_buffer("offsets", torch.from_numpy(graph.matrix.indptr), persistent=False)
        self.register_buffer("neighbours", torch.from_numpy(graph.matrix.indices), persistent=False)
        self.register_buffer("strengths", torch.from_numpy(graph.matrix.data), persistent=False)
        self.register_buffer("item_degrees", torch.from_numpy(graph.item_degrees), persistent=False)
        self.register_buffer("propagated", None, persistent=False)
        self.register_buffer("reaching", None, persistent=False)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        vectors = self._propagate(self.layers)
        user, item = (functional.embedding(rows, vectors) for rows in (users, items + self.n_users))
        return (user * item).sum(-1)

    def _propagate(self, layers: int) -> Tensor:
        """The mean of the vectors of all layers, with gradients: (users + items, factors)."""
        return _MeanOfLayers.apply(self._graph(self.vectors.dtype), self.vectors, layers)

    def _graph(self, dtype: torch.dtype) -> Tensor:
        n = self.n_users + self.n_items
        with warnings.catch_warnings():  # torch calls its CSR a beta, once
            warnings.filterwarnings("ignore", "Sparse CSR")
            # Made here from checked data, so that torch need not check it at each step.
            return torch.sparse_csr_tensor(
                self.offsets, self.neighbours, self.strengths.to(dtype), (n, n), check_invariants=False
            )

    def penalty(self, batch: Batch) -> Tensor | None:
        if self.l2 == 0:
            return None
        rows = (batch.users, batch.items + self.n_users)
        return mean_squares(self.l2, batch, *(functional.embedding(some, self.vectors) for some in rows))

    def train(self, mode: bool = True) -> Self:
        if mode:
            self.propagated = self.reaching = None  # the vectors are about to change
        return super().train(mode)

    @torch.no_grad()
    def prepare(self) -> Self:
        self.propagated = self._propagate(self.layers)
        return self

    def _final(self) -> Tensor:
        """The propagated vectors, computed once."""
        if self.propagated is None:
            self.prepare()
        assert self.propagated is not None
        return self.propagated

    def factors(self, users: Tensor) -> Factors:
        vectors = self._final()
        return Factors(vectors[users], vectors[self.n_users :])

    @torch.no_grad()
    def fold_in(self, profiles: csr_array) -> Scorer:
        """Users without their own vector, only with those of their items; the item vectors do not change."""
        profiles = checked_profiles(profiles, self.n_items)
        users = torch.from_numpy((self._edges(profiles) @ self._reaching().double().numpy()).astype(np.float32))
        return FoldedUsers(Factors(users, self._final()[self.n_users :]), self.title)

    def _edges(self, profiles: csr_array) -> csr_array:
        """The normalised edges between new users and items."""
        degrees = np.asarray(profiles.sum(axis=1)).reshape(-1, 1)
        return profiles.multiply(_inverse_roots(degrees)).multiply(_inverse_roots(self.item_degrees.numpy())).tocsr()

    def _reaching(self) -> Tensor:
        """What of the items reaches a user over one edge, in all layers; computed once."""
        if self.reaching is None:
            self.reaching = self._propagate(self.layers - 1)[self.n_users :] * self.layers / (self.layers + 1)
        return self.reaching

    @torch.no_grad()
    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        """What comes over each edge; the rest of a fitted user's score comes from their own vector."""
        edges = self._edges(checked_profiles(profile, self.n_items))
        met, strengths = torch.from_numpy(edges.indices.astype(np.int64)), torch.from_numpy(edges.data).float()
        return self._final()[self.n_users :][items] @ (self._reaching()[met] * strengths[:, None]).T

    def similar(self, items: Tensor) -> Tensor:
        """The cosine of the propagated item vectors."""
        return cosines(self._final()[self.n_users :], items)


class _MeanOfLayers(torch.autograd.Function):
    """(1 + Â + … + Â^layers) / (layers + 1) · vectors. Â is symmetric, so the gradient is the same of the gradient."""

    @staticmethod
    def forward(ctx: Any, graph: Tensor, vectors: Tensor, layers: int) -> Tensor:
        ctx.graph, ctx.layers = graph, layers
        return _mean_of_layers(graph, vectors, layers)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, None]:
        return None, _mean_of_layers(ctx.graph, gradient, ctx.layers), None


def _mean_of_layers(graph: Tensor, vectors: Tensor, layers: int) -> Tensor:
    layer, total = vectors, vectors.clone()
    for _ in range(layers):
        layer = graph @ layer
        total += layer
    return total / (layers + 1)


class Graph(NamedTuple):
    """Users and items as nodes, users first."""

    matrix: csr_array  # D^−½ A D^−½, float32
    item_degrees: np.ndarray


def normalised_graph(profiles: CSR) -> Graph:
    """The graph of interactions with weighted edges, without those of weight 0."""
    weights = np.ones(len(profiles.items)) if profiles.weights is None else profiles.weights.astype(np.float64)
    shape = profiles.n_users, profiles.n_items
    met = csr_array((weights, profiles.items, profiles.offsets), shape=shape, copy=True)  # zeros leave it in place
    met.eliminate_zeros()
    user_degrees, item_degrees = (np.asarray(met.sum(axis=axis)) for axis in (1, 0))
    met.data *= _inverse_roots(user_degrees)[np.repeat(np.arange(shape[0]), np.diff(met.indptr))]
    met.data *= _inverse_roots(item_degrees)[met.indices]
    matrix = block_array([[None, met], [met.T, None]], format="csr").astype(np.float32)
    matrix.sort_indices()
    return Graph(matrix, item_degrees)


def _inverse_roots(degrees: np.ndarray) -> np.ndarray:
    """1/√degree; 0 where there is no neighbour."""
    return np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees, dtype=np.float64), where=degrees > 0)
