"""A tiny reproduction in this process."""

import pytest

from recsieve.experiments.paper import store
from recsieve.experiments.paper.data_sets import DataSet
from recsieve.experiments.paper.runs import Options
from recsieve.experiments.paper.training import train_run
from recsieve.run_folder import RunFolder


@pytest.fixture(scope="session")
def tiny_data(split):
    """A small split as a data set."""
    return DataSet("tiny", "tiny.csv", "made by hand", "yelp", split)


@pytest.fixture(scope="session")
def tiny_options():
    return Options(seeds=2, epochs=3, models=("gmf",))


@pytest.fixture
def trained(monkeypatch):
    """Train in this process; gives the names of the runs that were trained."""
    names = []

    def run_all(tasks, workers, progress):
        for task in tasks:
            names.append(task.run_spec.name)
            train_run(store.read_split(task.data), task.run_spec, RunFolder(task.folder))

    monkeypatch.setattr(store, "run_all", run_all)
    store.read_split.cache_clear()
    return names
