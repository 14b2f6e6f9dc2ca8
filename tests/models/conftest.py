"""What tests of models that are solved share: small data with weights, and how to fit to it."""

from dataclasses import replace

import numpy as np
import pytest

from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll
from recsieve.models.learner import Run


@pytest.fixture(scope="session")
def begin():
    """A function that begins to fit a learner to training data."""

    def make(learner, train, *, seed=0, denoiser=None):
        return learner.begin(Split.of_training(train), Run(seed, lambda context: denoiser or KeepAll()))

    return make


@pytest.fixture(scope="session")
def fit(begin):
    """A function that fits a learner to training data, and gives the scorer."""

    def make(learner, train, **options):
        return begin(learner, train, **options).finish()

    return make


@pytest.fixture(scope="session")
def weighted(small_data):
    """A function that makes small random interactions with weights, some of them 0."""

    def make(n_users=30, n_items=20, seed=0, zeros=0.2):
        data = small_data(n_users, n_items, 0.3, seed)
        random = np.random.default_rng(seed)
        weights = random.uniform(0.2, 3, len(data)) * (random.random(len(data)) >= zeros)
        return replace(data, weight=weights.astype(np.float32))

    return make


@pytest.fixture(scope="session")
def dense():
    """A function that makes a plain matrix of weights: (users, items)."""

    def make(train):
        matrix = np.zeros((train.n_users, train.n_items))
        np.add.at(matrix, (train.users, train.items), 1.0 if train.weight is None else train.weight)
        return matrix

    return make
