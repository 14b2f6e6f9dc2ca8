"""Trainings as strategies see them, for holding a strategy against a plain re-writing of its paper."""

import numpy as np
import torch

from recsieve.denoisers import Context, EpochMemory, LossBatch

N_USERS, N_ITEMS, N_INTERACTIONS, STEPS = 5, 9, 24, 3


def context(**others):
    given = {"popularity": torch.arange(N_ITEMS), "steps_per_epoch": STEPS, "losses_per_positive": 2}
    return Context(N_USERS, N_ITEMS, N_INTERACTIONS, **(given | others))


def epochs(n, seed=0):
    """Epochs of shuffled batches: rows of (id, user, item, loss), negatives with the id −1; pairs may come twice."""
    random = np.random.default_rng(seed)
    pairs = random.choice(N_USERS * N_ITEMS, N_INTERACTIONS, replace=False)
    free = np.setdiff1d(np.arange(N_USERS * N_ITEMS), pairs)
    for _ in range(n):
        drawn = random.choice(free, N_INTERACTIONS)  # with replacement: a negative may come twice
        rows = [(i, *divmod(int(pairs[i]), N_ITEMS)) for i in range(N_INTERACTIONS)]
        rows += [(-1, *divmod(int(pair), N_ITEMS)) for pair in drawn]
        losses = np.float32(random.random(len(rows)) * 3).tolist()
        rows = [(*row, loss) for row, loss in zip(rows, losses, strict=True)]
        order = random.permutation(len(rows))
        yield [[rows[i] for i in part] for part in np.array_split(order, STEPS)]


def run(strategy, course):
    """The weights that a strategy gives each batch of each epoch, and what it asks for after each."""
    memory, step, given, asked = EpochMemory(N_INTERACTIONS), 0, [], []
    for batches in course:
        for rows in batches:
            step += 1
            batch = loss_batch(rows, step)
            weights = strategy.weights(batch)
            memory.add(batch.losses, weights, batch.ids)
            given.append(weights.tolist())
        asked.append(strategy.end_epoch(memory) if hasattr(strategy, "end_epoch") else None)
        memory.clear()
    return given, asked


def loss_batch(rows, step):
    ids, users, items, losses = (list(column) for column in zip(*rows, strict=True))
    labels = [float(i >= 0) for i in ids]
    return LossBatch(torch.tensor(losses), torch.tensor(labels), step, *map(torch.tensor, (users, items, ids)))


def even_ranks(values):
    """By key, from 0 for the smallest value to 1 for the largest; written for values that differ."""
    order = sorted(values, key=values.get)
    return {key: place / max(len(order) - 1, 1) for place, key in enumerate(order)}


def means(rows, of):
    """The mean loss of the rows of each user or item."""
    found = {}
    for row in rows:
        found.setdefault(row[of], []).append(row[3])
    return {key: sum(losses) / len(losses) for key, losses in found.items()}
