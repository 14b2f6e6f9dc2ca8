"""A tiny reproduction in this process."""

import pytest

from recsieve.run_folder import RunFolder
from research.paper import store
from research.paper.data_sets import DataSet
from research.paper.runs import Options
from research.paper.training import train_run


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
