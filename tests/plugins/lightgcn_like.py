"""A graph model as somebody else would write it: a step reads its table as a whole, so its gradient is dense."""

import numpy as np
import torch
from scipy.sparse import coo_array

from recsieve.models import Factors, Model


class GraphModel(Model):
    """Dot products of vectors that are averaged with those of their neighbours."""

    reads_all_profiles = True
    shardable = False

    def __init__(self, profiles, generator, *, factors=8):
        super().__init__(profiles)
        self.vectors = torch.nn.Embedding(self.n_users + self.n_items, factors, sparse=False)
        torch.nn.init.normal_(self.vectors.weight, 0, 0.1, generator=generator)
        self.register_buffer("graph", neighbours(profiles), persistent=False)

    def smoothed(self):
        vectors = self.vectors.weight
        return (vectors + self.graph.to(vectors.dtype) @ vectors) / 2

    def forward(self, users, items):
        vectors = self.smoothed()
        return (vectors[users] * vectors[items + self.n_users]).sum(-1)

    @torch.no_grad()
    def factors(self, users):
        vectors = self.smoothed()
        return Factors(vectors[users], vectors[self.n_users :])


def neighbours(profiles):
    """D^−½ A D^−½ over users and items, weighted as the interactions are."""
    n = profiles.n_users + profiles.n_items
    users, items = profiles.users(), profiles.items.astype(np.int64) + profiles.n_users
    weights = np.ones(len(items), np.float32) if profiles.weights is None else profiles.weights
    edges = np.concatenate([users, items]), np.concatenate([items, users])
    graph = coo_array((np.tile(weights, 2), edges), shape=(n, n)).tocsr()
    roots = 1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12))
    return torch.from_numpy((graph.multiply(roots).T.multiply(roots)).toarray().astype(np.float32))


class DenseMF(Model):
    """Matrix factorization with biases that are centred, for which its table is read as a whole: it runs on ranks."""

    def __init__(self, profiles, generator, *, factors=8):
        super().__init__(profiles)
        self.user = torch.nn.Embedding(self.n_users, factors, sparse=False)
        self.item = torch.nn.Embedding(self.n_items, factors, sparse=False)
        for table in (self.user, self.item):
            torch.nn.init.normal_(table.weight, 0, 0.1, generator=generator)

    def forward(self, users, items):
        centre = self.item.weight.mean(0)
        return (self.user(users) * (self.item(items) - centre)).sum(-1)

    @torch.no_grad()
    def factors(self, users):
        return Factors(self.user.weight[users], self.item.weight - self.item.weight.mean(0))
