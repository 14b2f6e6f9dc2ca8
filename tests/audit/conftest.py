"""An audit of a small simulated log, made once."""

from dataclasses import replace

import numpy as np
import pytest

from recsieve.data.interactions import UNLABELLED, Interactions


def with_labels(data: Interactions, share: float, seed: int = 0) -> Interactions:
    """The same interactions with a random share of their labels."""
    shown = np.random.default_rng(seed).random(len(data)) < share
    return replace(data, false_positive=np.where(shown, data.is_false_positive, UNLABELLED).astype(np.int8))


@pytest.fixture(scope="session")
def regretful():
    """People of two tastes; what is of the other taste, and half of what three users and three items do, is noise."""
    rng = np.random.default_rng(1)
    n_users, n_items = 120, 60
    same = (np.arange(n_users)[:, None] % 2) == (np.arange(n_items) % 2)
    taken = rng.random((n_users, n_items)) < np.where(same, 0.5, 0.06)
    users, items = (axis.astype(np.int32) for axis in taken.nonzero())
    often = (users < 12) | (items < 6)
    noise = (~same[users, items] & (rng.random(len(users)) < 0.8)) | (often & (rng.random(len(users)) < 0.6))
    import polars as pl

    ids = pl.Series([f"u{user}" for user in range(n_users)]), pl.Series([f"i{item}" for item in range(n_items)])
    return Interactions(users, items, *ids, noise.astype(np.int8), time=np.arange(len(users), dtype=np.int64))


@pytest.fixture(scope="session")
def dynamics(regretful):
    from recsieve.audit.dynamics import observe_training

    return observe_training(regretful, seed=0)


@pytest.fixture(scope="session")
def evidence(regretful, dynamics):
    from recsieve.audit.evidence import gather_evidence

    return gather_evidence(regretful, dynamics)


@pytest.fixture(scope="session")
def audited(regretful):
    """The audit with a third of the labels."""
    from recsieve.audit import find_noisy_interactions

    return find_noisy_interactions(with_labels(regretful, 0.33), seed=0)


@pytest.fixture(scope="session")
def unlabelled(regretful):
    """The audit without labels."""
    from recsieve.audit import find_noisy_interactions

    return find_noisy_interactions(replace(regretful, false_positive=None), seed=0)


@pytest.fixture(scope="session")
def labels():
    return with_labels
