"""Two processes with one folder: the second is told who writes there, and changes nothing."""

import pytest

from recsieve.lock import locked


@pytest.mark.parametrize(
    "command", [("train",), ("train", "--resume"), ("audit",), ("compare", "--seeds", 2), ("tune", "--trials", 1)]
)
def test_a_folder_that_another_writes_is_left_alone(recsieve, log, columns, tmp_path, command):
    name, *options = command
    with locked(tmp_path / "out"):
        before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
        answer = recsieve(name, log, *columns, *options, "--out", tmp_path / "out")
        assert answer.code == 2
        assert "is being written by process" in answer.err
        assert before == {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}


def test_lists_that_another_writes_are_left_alone(recsieve, run_folder, tmp_path):
    with locked(tmp_path / "lists"):
        answer = recsieve("recommend", run_folder, "--out", tmp_path / "lists")
    assert answer.code == 2
    assert "is being written by process" in answer.err
    assert recsieve("recommend", run_folder, "--out", tmp_path / "lists").code == 0


def test_a_run_under_way_can_be_read_and_a_killed_one_leaves_a_folder_to_begin_in(recsieve, run_folder, log, tmp_path):
    with locked(run_folder):
        assert recsieve("evaluate", run_folder).code == 0
    new = tmp_path / "new"
    new.mkdir()
    (new / ".lock").touch()
    (new / ".holder").write_text("process 1 on a host that was killed")
    words = ("--user", "customer", "--item", "product", "--model", "gmf", "--epochs", 1)
    assert recsieve("train", log, *words, "--out", new).code == 0
