"""Recommendations for everybody, part by part."""

import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest

from recsieve.communicator import Communicator
from recsieve.errors import ConfigError, RunError
from recsieve.recommendations.filters import Filters
from recsieve.recommender import Recommender
from recsieve.serving import list_folder
from recsieve.serving.list_folder import ABOUT, part_path, write_lists


@pytest.fixture(scope="module")
def run(split, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    Recommender(model="gmf", epochs=1).fit(split).save(folder)
    return folder


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Seven users a part at k = 3, and two between reports of progress."""
    monkeypatch.setattr(list_folder, "PART_ROWS", 21)
    monkeypatch.setattr(list_folder, "BLOCK_USERS", 2)


def parts(folder):
    return sorted(folder.glob("*.parquet"))


def is_what_recommend_gives(folder, run, **options):
    """Scores to rounding: a product of matrices depends on their shapes in its last bits."""
    lists, expected = (
        pl.concat(list(map(pl.read_parquet, parts(folder)))),
        Recommender.load(run).recommend(k=3, **options),
    )
    close = (lists["score"] - expected["score"]).abs().max() < 1e-6
    return close and lists.drop("score").equals(expected.drop("score"))


@pytest.mark.parametrize("exclude_seen", [True, False])
def test_the_parts_together_are_what_recommend_gives(run, tmp_path, exclude_seen):
    lists = write_lists(run, tmp_path / "lists", 3, filters=Filters(exclude_seen))
    assert is_what_recommend_gives(tmp_path / "lists", run, exclude_seen=exclude_seen)
    assert len(parts(tmp_path / "lists")) == lists.n_parts > 2
    assert max(pl.read_parquet(part)["user"].n_unique() for part in parts(tmp_path / "lists")) == 7


def test_filters_hold_in_every_part_and_lists_of_other_filters_do_not_get_mixed(run, tmp_path):
    folder, categories = tmp_path / "lists", {f"i{number}": number % 3 for number in range(25)}
    given = {"deny": {"u1": ["i1", "i2"]}, "min_popularity": 3, "categories": categories, "per_category": 1}
    write_lists(run, folder, 3, filters=Filters(**given))
    assert is_what_recommend_gives(folder, run, **given)
    with pytest.raises(RunError, match=r"other settings \(filters"):
        write_lists(run, folder, 3, filters=Filters(deny=["i1"]))


def test_parts_that_are_there_are_kept_and_what_is_missing_is_written(run, tmp_path):
    folder, told = tmp_path / "lists", []
    lists = write_lists(run, folder, 3)
    written = {part.name: part.read_bytes() for part in parts(folder)}
    kept = part_path(folder, 0).stat().st_mtime_ns
    part_path(folder, 1).unlink()
    (folder / f".{part_path(folder, 1).name}.0123.part").write_text("of a process that was killed")
    write_lists(run, folder, 3, progress=lambda event: told.append((event.done, event.total)))
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ABOUT} == written
    assert part_path(folder, 0).stat().st_mtime_ns == kept
    assert told[0] == (lists.users - 7, lists.users)
    assert told[-1] == (lists.users, lists.users)


def test_the_ranks_of_a_group_share_the_parts_out(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Communicator, "any", lambda self, answer: answer)  # nobody to wait for
    ranks = [Communicator(rank, 3) for rank in range(3)]
    lists = write_lists(run, tmp_path / "lists", 3, group=ranks[0])
    assert parts(tmp_path / "lists") == [part_path(tmp_path / "lists", part) for part in range(0, lists.n_parts, 3)]
    for group in ranks[1:]:
        write_lists(run, tmp_path / "lists", 3, group=group)
    assert is_what_recommend_gives(tmp_path / "lists", run)


def test_going_on_keeps_to_the_parts_that_were_begun(run, tmp_path, monkeypatch):
    folder = tmp_path / "lists"
    begun = write_lists(run, folder, 3)
    part_path(folder, 2).unlink()
    monkeypatch.setattr(list_folder, "PART_ROWS", 100)  # as another version might have it
    assert write_lists(run, folder, 3) == begun
    assert is_what_recommend_gives(folder, run)


def test_lists_of_another_run_or_length_do_not_get_mixed(run, split, tmp_path):
    folder = tmp_path / "lists"
    write_lists(run, folder, 3)
    with pytest.raises(RunError, match=r"other settings \(k"):
        write_lists(run, folder, 4)
    with pytest.raises(RunError, match="exclude_seen"):
        write_lists(run, folder, 3, filters=Filters(exclude_seen=False))
    Recommender(model="gmf", epochs=1, seed=1).fit(split).save(tmp_path / "other")
    with pytest.raises(RunError, match=r"other settings \(run"):
        write_lists(tmp_path / "other", folder, 3)


def test_a_folder_of_something_else_and_a_damaged_one_are_refused(run, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="not lists of recsieve"):
        write_lists(run, tmp_path, 3)
    (tmp_path / "lists").mkdir()
    for text in ("{", "[]", '{"k": 3}', '{"run": "", "k": 3, "exclude_seen": true, "users": 9, "users_per_part": 0}'):
        (tmp_path / "lists" / ABOUT).write_text(text)
        with pytest.raises(RunError, match="damaged"):
            write_lists(run, tmp_path / "lists", 3)
    with pytest.raises(ConfigError, match="k is 0"):
        write_lists(run, tmp_path / "new", 0)
    assert not (tmp_path / "new").exists()


SLOW = """
import sys, time
from recsieve.serving import list_folder
list_folder.PART_ROWS, list_folder.BLOCK_USERS = 21, 2
def slowly(event):
    print(event.done, flush=True)
    time.sleep(0.05)
list_folder.write_lists(sys.argv[1], sys.argv[2], 3, progress=slowly)
"""


def test_after_a_kill_the_same_call_goes_on(run, tmp_path):
    folder = tmp_path / "lists"
    process = subprocess.Popen([sys.executable, "-c", SLOW, run, folder], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if int(line) > 16:  # in the middle of the third part
            os.kill(process.pid, signal.SIGKILL)
            break
    process.communicate()
    assert 2 <= len(parts(folder)) < json.loads((folder / ABOUT).read_text())["users"] / 7
    write_lists(run, folder, 3)
    assert is_what_recommend_gives(folder, run)
