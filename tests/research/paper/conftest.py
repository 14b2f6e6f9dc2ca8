"""A tiny reproduction."""

import pytest

from research.paper.data_sets import DataSet
from research.paper.runs import Options


@pytest.fixture(scope="session")
def tiny_data(split):
    """A small split as a data set."""
    return DataSet("tiny", "tiny.csv", "made by hand", "yelp", split)


@pytest.fixture(scope="session")
def tiny_options():
    return Options(seeds=2, epochs=3, models=("gmf",))


@pytest.fixture
def trained(in_this_process):
    """Train in this process; gives the names of the runs that were trained."""
    return in_this_process
