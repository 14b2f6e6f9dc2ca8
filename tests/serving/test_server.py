"""Runs that follow each other, without a service around them."""

import shutil
import weakref

import pytest

from recsieve import Recommender, split_interactions
from recsieve.errors import RunError
from recsieve.serving import server
from recsieve.serving.server import Current


@pytest.fixture(scope="module")
def runs(small_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    split = split_interactions(small_data(30, 20), seed=0)
    for model in ("ease", "itemknn", "popularity"):
        Recommender(model).fit(split).save(folder / model)
    return folder


def test_no_more_than_two_runs_are_in_memory_at_once(runs, monkeypatch):
    current, alive = Current(runs / "ease"), weakref.WeakSet()
    alive.add(current.server)
    most = []

    class Watched(server.Server):
        def __init__(self, folder):
            super().__init__(folder)
            alive.add(self)
            most.append(len(alive))

    monkeypatch.setattr(server, "Server", Watched)
    for model in ("itemknn", "popularity", "ease"):
        current.reload(runs / model)
    assert max(most) == 2


def test_a_run_that_cannot_be_read_changes_neither_the_current_one_nor_the_one_before(runs, tmp_path):
    damaged = shutil.copytree(runs / "popularity", tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"nothing")
    current = Current(runs / "ease")
    first, second = current.server, current.reload(runs / "itemknn")
    with pytest.raises(RunError, match="is damaged"):
        current.reload(damaged)
    assert current.server is second
    assert current.back() is first


def test_the_run_before_is_loaded_again_where_a_later_one_failed_only_while_loading(runs, monkeypatch):
    current = Current(runs / "ease")
    current.reload(runs / "itemknn")

    def fail(folder):
        raise RunError("it is damaged.")

    with monkeypatch.context() as patch:
        patch.setattr(server, "Server", fail)
        with pytest.raises(RunError, match="damaged"):
            current.reload(runs / "popularity")
    assert current.server.folder == runs / "itemknn"
    assert current.back().folder == runs / "ease"
    assert current.back().folder == runs / "itemknn"
