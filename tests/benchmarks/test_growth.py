"""The benchmark of growth, on a log of a few thousand rows: no time is looked at."""

import json

import polars as pl
import pytest

from benchmarks import large_log
from benchmarks.growth import write_size
from benchmarks.growth_stages import measure
from benchmarks.large_log import LargeLog
from benchmarks.scale_docs import ROOT, growth_chart, scale_page


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(large_log, "PART_INTERACTIONS", 5_000)
    LargeLog(15_000).write(tmp_path / "log")
    return tmp_path / "log"


def test_a_large_log_has_as_many_distinct_pairs_as_asked_for_and_some_repeats(log):
    rows, about = pl.read_parquet(log / "*.parquet"), LargeLog(15_000)
    assert len(list(log.iterdir())) == 3
    assert rows.select("user", "item").n_unique() == 15_000
    assert rows.height == 15_150
    assert rows["item"].n_unique() <= about.n_items
    assert rows["user"].n_unique() <= about.n_users
    busiest = rows["item"].value_counts()["count"].top_k(about.n_items // 10).sum()
    assert busiest > rows.height * 0.3
    assert 0.15 < (rows["rating"] < 3).mean() < 0.25


def test_a_part_is_the_same_whenever_it_is_made(log):
    assert LargeLog(15_000).part(1).equals(pl.read_parquet(log / "part-00001.parquet"))


def test_every_stage_is_measured_and_what_is_held_is_counted(log):
    found = measure(log, users=50, threads=1)
    assert found["train_interactions"] * 2 == found["rows_per_epoch"]
    assert found["rows_read"] == 15_150
    assert found["users_ranked"] == 50
    assert list(found["stages"]) == [
        "read and split", "fingerprint", "write the split", "make the model", "epoch", "validation", "checkpoint",
        "what was seen", "test", "write the model",
    ]  # fmt: skip
    assert all(stage["peak_mb"] > 0 for stage in found["stages"].values())
    assert found["held_bytes"]["interaction"] == 14
    assert found["held_bytes"]["item"] == 32 * 4 * 4 + 8
    assert [path.name for path in log.parent.iterdir()] == ["log"]  # the run is removed


def test_sizes_that_are_not_measured_again_stay(tmp_path):
    for size in ({"millions": 10, "x": 1}, {"millions": 1, "x": 2}, {"millions": 10, "x": 3}):
        write_size(tmp_path / "growth.json", size)
    sizes = json.loads((tmp_path / "growth.json").read_text())["sizes"]
    assert sizes == [{"millions": 1, "x": 2}, {"millions": 10, "x": 3}]


def test_the_page_shows_what_is_in_the_result_file():
    assert (ROOT / "docs" / "scale.md").read_text(encoding="utf-8") == scale_page()


def test_the_chart_draws_every_size():
    sizes = [{"millions": n, "epoch_seconds": n * 2.0, "peak_mb": n * 100} for n in (1, 10)]
    drawn = growth_chart(sizes).to_dict()
    assert [len(panel["data"]["values"]) for panel in drawn["hconcat"]] == [2, 2]
