"""New data into a run folder, by the command line."""

import polars as pl
import pytest

EVENTS = ["user,item,event"]
EVENTS += [f"u{user},i{item},view" for user in range(20) for item in range(10) if (user + item) % 2]
EVENTS += [f"u{user},i{item},buy" for user in range(20) for item in range(10) if (user + item) % 3 == 0]
NEXT = ["user,item,event", *(f"u{user},n{user % 5},view" for user in range(20)), "u0,i1,buy", "u1,i0,buy"]


@pytest.fixture
def bought(recsieve, tmp_path):
    """A run of purchases, from a log of events, and the log of the next day."""
    for name, lines in (("log.csv", EVENTS), ("next.csv", NEXT)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    rule = ("--positive", "event = 'buy'")
    assert recsieve("train", tmp_path / "log.csv", "--model", "popularity", *rule, "--out", tmp_path / "run").code == 0
    return tmp_path


def test_rows_that_were_no_interactions_are_none_the_next_day(recsieve, bought):
    answer = recsieve("refresh", bought / "run", "--data", bought / "next.csv", "--out", bought / "refreshed")
    assert answer.code == 0, answer.err
    items = pl.read_parquet(bought / "refreshed" / "ids.parquet").filter(kind="item")["id"]
    assert not items.str.starts_with("n").any()


@pytest.mark.parametrize(
    ("options", "code", "new"), [(("--positive", "event = 'view'"), 0, 5), (("--encoding", "latin-1"), 0, 0)]
)
def test_each_option_of_reading_is_taken(recsieve, bought, options, code, new):
    out = bought / "refreshed"
    answer = recsieve("refresh", bought / "run", "--data", bought / "next.csv", *options, "--out", out)
    assert answer.code == code, answer.err
    items = pl.read_parquet(out / "ids.parquet").filter(kind="item")["id"]
    assert items.str.starts_with("n").sum() == new


def test_a_refreshing_that_was_stopped_begins_anew_and_a_finished_run_is_left_alone(recsieve, bought):
    words = ("refresh", bought / "run", "--data", bought / "next.csv", "--out", bought / "refreshed")
    assert recsieve(*words).code == 0
    whole = (bought / "refreshed" / "model.safetensors").read_bytes()
    again = recsieve(*words)
    assert again.code == 2
    assert "already holds a run: give another folder" in again.err
    for name in ("manifest.json", "metrics.json"):  # what is written last
        (bought / "refreshed" / name).unlink()
    assert recsieve(*words).code == 0
    assert (bought / "refreshed" / "model.safetensors").read_bytes() == whole
