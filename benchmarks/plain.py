"""The plain way of the field, to compare with: idiomatic PyTorch with nothing slowed down on purpose.

Rows are Python lists, the training pairs are in a scipy dok_matrix, negatives are drawn one by one, a Dataset hands out
one sample at a time, dense Adam updates every row of every table on every step, users are ranked one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

BATCH = 1_024  # positives and negatives together
LEARNING_RATE = 1e-3
MAX_DROP_RATE, RAMP_STEPS = 0.2, 30_000


@dataclass(frozen=True)
class Ratings:
    """Training pairs as a list, and as a matrix to ask whether a pair is one of them."""

    pairs: list[list[int]]
    flags: list[int]
    observed: sparse.dok_matrix

    @property
    def n_items(self) -> int:
        return self.observed.shape[1]


def read_ratings(path: Path) -> Ratings:
    """Read user, item and flag from a file with tabs."""
    frame = pd.read_csv(path, sep="\t", header=None, names=["user", "item", "flag"])
    return _ratings(frame["user"], frame["item"], frame["flag"])


def read_log(path: Path) -> Ratings:
    """Read a Parquet file with ids that are text, and number them; a rating below 3 marks a false positive."""
    frame = pd.read_parquet(path)
    for name in ("user", "item"):
        code = {own: number for number, own in enumerate(sorted(frame[name].unique()))}
        frame[name] = frame[name].map(code)
    return _ratings(frame["user"], frame["item"], (frame["rating"] >= 3).astype(int))


def _ratings(users: pd.Series, items: pd.Series, flags: pd.Series) -> Ratings:
    pairs = pd.concat([users, items], axis=1).values.tolist()
    observed = sparse.dok_matrix((users.max() + 1, items.max() + 1), dtype=np.float32)
    for user, item in pairs:
        observed[user, item] = 1.0
    return Ratings(pairs, flags.tolist(), observed)


class PairDataset(Dataset):
    """The positives and, once an epoch, freshly sampled negatives; one sample at a time."""

    def __init__(self, ratings: Ratings, negatives: int = 1) -> None:
        self.positives, self.observed, self.n_items = ratings.pairs, ratings.observed, ratings.n_items
        self.negatives = negatives
        self.rows: list[list[int]] = []
        self.labels: list[int] = []

    def sample_negatives(self) -> None:
        """Draw items for each positive until they are no training pair of the user."""
        drawn = []
        for user, _ in self.positives:
            for _ in range(self.negatives):
                item = np.random.randint(self.n_items)  # noqa: NPY002
                while (user, item) in self.observed:
                    item = np.random.randint(self.n_items)  # noqa: NPY002
                drawn.append([user, item])
        self.rows = self.positives + drawn
        self.labels = [1] * len(self.positives) + [0] * len(drawn)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[int, int, int]:
        user, item = self.rows[index]
        return user, item, self.labels[index]


class GMF(nn.Module):
    """A weighted dot product of a user and an item vector."""

    def __init__(self, n_users: int, n_items: int, factors: int = 32) -> None:
        super().__init__()
        self.user, self.item = nn.Embedding(n_users, factors), nn.Embedding(n_items, factors)
        self.output = nn.Linear(factors, 1)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        return self.output(self.user(users) * self.item(items)).view(-1)


class NeuMF(nn.Module):
    """GMF beside a multi-layer perceptron."""

    def __init__(self, n_users: int, n_items: int, factors: int = 32) -> None:
        super().__init__()
        width = 4 * factors
        self.user, self.item = nn.Embedding(n_users, factors), nn.Embedding(n_items, factors)
        self.user_mlp, self.item_mlp = nn.Embedding(n_users, width), nn.Embedding(n_items, width)
        self.first = nn.Linear(2 * width, width)
        self.deeper = nn.Sequential(nn.Linear(width, width // 2), nn.ReLU(), nn.Linear(width // 2, factors), nn.ReLU())
        self.output = nn.Linear(2 * factors, 1)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        product = self.user(users) * self.item(items)
        hidden = torch.cat((self.user_mlp(users), self.item_mlp(items)), -1)
        hidden = self.deeper(torch.relu(self.first(hidden)))
        return self.output(torch.cat((product, hidden), -1)).view(-1)


class CDAE(nn.Module):
    """An auto-encoder of whole user rows, all items in and all items out, as RecBole has it."""

    def __init__(self, profiles: sparse.csr_matrix, factors: int = 200, corruption: float = 0.5) -> None:
        super().__init__()
        self.profiles = profiles
        self.corrupt = nn.Dropout(corruption)
        self.user = nn.Embedding(profiles.shape[0], factors)
        self.encoder = nn.Linear(profiles.shape[1], factors)
        self.decoder = nn.Linear(factors, profiles.shape[1])

    def rows(self, users: Tensor) -> Tensor:
        return torch.from_numpy(self.profiles[users.numpy()].toarray())

    def forward(self, users: Tensor, rows: Tensor) -> Tensor:
        hidden = torch.sigmoid(self.encoder(self.corrupt(rows)) + self.user(users))
        return self.decoder(hidden)


def drop_rate(step: int, ramp_steps: int = RAMP_STEPS) -> float:
    """The share of a batch to drop, growing from 0 at step 0."""
    return MAX_DROP_RATE * min(1.0, step / (ramp_steps - 1))


def truncated_loss(logits: Tensor, labels: Tensor, rate: float) -> Tensor:
    """Cross-entropy without the positives of largest loss (T-CE), found by sorting loss times label."""
    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    kept = torch.argsort(losses.detach() * labels)[: int((1 - rate) * len(labels))]
    return functional.binary_cross_entropy_with_logits(logits[kept], labels[kept])


def train(
    model: nn.Module, batches: Iterable[list[Tensor]], ramp_steps: int = RAMP_STEPS, lr: float = LEARNING_RATE
) -> Iterator[float]:
    """Make a step of dense Adam on each batch, yielding its loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for step, (users, items, labels) in enumerate(batches):
        optimizer.zero_grad()
        loss = truncated_loss(model(users, items), labels.float(), drop_rate(step, ramp_steps))
        loss.backward()
        optimizer.step()
        yield loss.item()


def train_cdae(model: CDAE, batches: Iterable[Tensor]) -> Iterator[float]:
    """Make a step of dense Adam on each batch of users: the cross-entropy of all their items."""
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    model.train()
    for users in batches:
        rows = model.rows(users)
        optimizer.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(model(users, rows), rows, reduction="sum")
        loss.backward()
        optimizer.step()
        yield loss.item()


def loader(dataset: Dataset) -> DataLoader:
    return DataLoader(dataset, batch_size=BATCH, shuffle=True, num_workers=0)


@torch.no_grad()
def recommend(
    model: nn.Module, users: Iterable[int], seen: dict[int, set[int]], n_items: int, k: int
) -> list[list[int]]:
    """The k best unseen items of each user, one user after the other."""
    model.eval()
    all_items = set(range(n_items))
    recommended = []
    for user in users:
        candidates = list(all_items - seen[user])
        scores = model(torch.LongTensor([user] * len(candidates)), torch.LongTensor(candidates))
        _, best = torch.topk(scores, k)
        recommended.append([candidates[place] for place in best.tolist()])
    return recommended
