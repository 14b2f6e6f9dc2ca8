import json

import numpy as np
import polars as pl
import pytest

from recsieve.errors import RunError
from recsieve.simulation.config import WorldConfig
from recsieve.simulation.simulate import simulate
from recsieve.simulation.world import World, write_world


@pytest.fixture(scope="module")
def world() -> World:
    return simulate(WorldConfig(60, 50, 400, 80), seed=4)


def test_the_truth_is_known_of_pairs_that_never_met(world):
    users, items = np.divmod(np.arange(60 * 50), 50)
    preference = world.preference(users, items)
    assert ((preference > 0) & (preference < 1)).all()
    liked = world.truth.tastes[users, world.truth.topics[items]] > 0
    assert preference[liked].mean() > preference[~liked].mean() + 0.3


def test_a_world_is_written_as_parts_rule_and_truth(world, tmp_path):
    write_world(world, tmp_path / "new" / "shop")
    folder = tmp_path / "new" / "shop"
    assert {path.name for path in folder.iterdir()} == {
        "train.parquet",
        "validation.parquet",
        "test.parquet",
        "truth.json",
        "world",
    }
    for part in ("train", "validation", "test"):
        expected = world.log.filter(pl.col("part") == part).drop("part")
        assert pl.read_parquet(folder / f"{part}.parquet").equals(expected)
    about = json.loads((folder / "truth.json").read_text())
    assert about["rule"] == "rating < 3"
    assert about["seed"] == 4
    assert WorldConfig(**about["config"]) == world.config
    assert pl.read_parquet(folder / "world" / "users.parquet")["user"][17] == "u17"
    assert pl.read_parquet(folder / "world" / "items.parquet")["topic"].to_list() == world.truth.topics.tolist()
    assert list((tmp_path / "new").iterdir()) == [folder]


def test_an_empty_folder_is_filled(world, tmp_path):
    write_world(world, tmp_path)
    assert (tmp_path / "train.parquet").exists()
    assert not [path for path in tmp_path.parent.iterdir() if path.name.startswith(f".{tmp_path.name}")]


def test_a_folder_with_something_in_it_is_refused_and_left_alone(world, tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    for place in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(RunError, match="is not an empty folder"):
            write_world(world, place)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_a_failure_leaves_nothing_behind(world, tmp_path, monkeypatch):
    def disk_full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", disk_full)
    with pytest.raises(OSError, match="no space"):
        write_world(world, tmp_path / "shop")
    assert list(tmp_path.iterdir()) == []
