"""kill -9 at random moments, 20 times, resumed each time: the same weights to the bit."""

import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

KILLS = 20


@pytest.fixture
def command(tmp_path):
    """A training that lasts a few seconds and writes a checkpoint every few steps."""
    rng = np.random.default_rng(0)
    users, items = (rng.random((120, 80)) < 0.3).nonzero()
    pl.DataFrame({"user": users, "item": items, "rating": rng.integers(1, 6, len(users))}).write_csv(
        tmp_path / "log.csv"
    )
    options = (
        "--false-positive",
        "rating < 3",
        "--model",
        "gmf",
        "--epochs",
        "60",
        "--patience",
        "60",
        "--batch-size",
        "64",
    )

    def words(out, *more):
        start = [sys.executable, "-m", "recsieve", "train", str(tmp_path / "log.csv"), *options]
        return [*start, "--checkpoint-every", "7", "--out", str(tmp_path / out), *more]

    return words


@pytest.mark.soak
def test_a_training_killed_twenty_times_ends_with_the_same_bits(command, tmp_path):
    subprocess.run(command("undisturbed"), check=True, capture_output=True)
    rng = np.random.default_rng(1)
    killed = in_training = 0
    while killed < KILLS:
        process = subprocess.Popen(command("killed", "--resume"), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        state = tmp_path / "killed" / "checkpoint" / "state.safetensors"
        before = state.stat().st_mtime_ns if state.exists() else None
        if rng.random() < 0.7:  # most of them in the training itself, the rest while it starts
            while process.poll() is None and (not state.exists() or state.stat().st_mtime_ns == before):
                time.sleep(0.005)
        time.sleep(rng.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            break  # it had ended before
        killed += 1
        in_training += state.exists() and state.stat().st_mtime_ns != before
    subprocess.run(command("killed", "--resume"), check=True, capture_output=True)
    assert in_training >= 5
    for name in ("model.safetensors", "history.parquet"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()
