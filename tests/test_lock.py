"""One process at a time writes into a folder."""

import os
import socket
import subprocess
import sys

import pytest

from recsieve.errors import RunError
from recsieve.lock import HOLDER, is_begun, locked

HOLD = """
import sys, time
from pathlib import Path
from recsieve.lock import locked
with locked(Path(sys.argv[1])):
    (Path(sys.argv[1]) / "work").write_text("half")
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock of a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "run"], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_another_process_is_told_who_writes_until_that_one_is_dead(holder, tmp_path):
    said = rf"written by process {holder.pid} on {socket.gethostname()} since 2\d\d\d-"
    for _ in range(2):  # being refused takes nothing from the holder
        with pytest.raises(RunError, match=said), locked(tmp_path / "run"):
            pass
    holder.kill()
    holder.wait()
    with locked(tmp_path / "run"):
        assert str(os.getpid()) in (tmp_path / "run" / HOLDER).read_text()
    assert (tmp_path / "run" / "work").read_text() == "half"


def test_a_lock_in_this_process_is_respected_too(tmp_path):
    with locked(tmp_path), pytest.raises(RunError, match=f"process {os.getpid()} "), locked(tmp_path):
        pass


def test_a_folder_into_which_nothing_was_written_is_gone_unless_it_was_there_before(tmp_path):
    with locked(tmp_path / "new"):
        assert not is_begun(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        (tmp_path / "work").touch()
    assert {path.name for path in tmp_path.iterdir()} == {"work"}
