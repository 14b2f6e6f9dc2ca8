"""Real processes: few tests, because each takes seconds to start them."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from recsieve.errors import RunError
from recsieve.experiments.compare import run_comparison
from recsieve.experiments.config import make_config

pytestmark = pytest.mark.xdist_group("processes")


def test_processes_give_the_numbers_of_one_and_a_failure_is_told(compare, split, tiny, tmp_path, monkeypatch):
    alone = compare("alone")
    monkeypatch.undo()
    events = []
    config = make_config({**tiny, "workers": 2})
    result = run_comparison(config, tmp_path / "parallel", split=split, progress=events.append)
    for mine, theirs in zip(alone["rows"], result["rows"], strict=True):
        assert mine["metrics"] == theirs["metrics"]
        assert mine.get("against_baseline") == theirs.get("against_baseline")
    assert (events[0].tasks, events[0].finished, events[0].workers) == (10, 0, 2)
    assert sum(event.ended for event in events[1:]) == 10


def test_a_run_that_fails_is_named_with_its_reason(split, tiny, tmp_path):
    # Its tables fit into memory, which is looked at beforehand, and its layers do not.
    options = {"models": ["neumf"], "model_options": {"neumf": {"factors": 200_000}}}
    config = make_config({**tiny, **options, "learning_rate": 1e-3})
    with pytest.raises(RunError, match=r"NeuMF, CE, seed 0 failed: .* \(details in .*error.txt\)"):
        run_comparison(config, tmp_path / "out", split=split)


def test_ctrl_c_leaves_whole_files_and_the_same_command_goes_on(tmp_path):
    write_log(tmp_path / "log.csv")
    options = ["--seeds", "2", "--epochs", "40", "--patience", "40", "--workers", "1"]
    options += ["--strategies", "reweighted", "--plain-models", ""]
    out = tmp_path / "out"
    words = [sys.executable, "-m", "recsieve", "compare", str(tmp_path / "log.csv"), *options, "--out", str(out)]
    process = subprocess.Popen([*words, "--json"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while process.poll() is None and not list(out.glob("runs/*/manifest.json")):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert "stopped; all files are intact" in process.stderr.read()
    assert not list(out.rglob("*.part"))
    done = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/manifest.json")}
    assert 1 <= len(done) < 6
    answer = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True)
    assert len(json.loads(answer.stdout)["rows"]) == 3  # plain CE, R-CE, and its popularity control
    assert len(list(out.glob("runs/*/manifest.json"))) == 6
    assert all(path.stat().st_mtime_ns == when for path, when in done.items())


def test_ctrl_c_in_a_terminal_while_the_processes_start_shows_no_traceback(tmp_path):
    write_log(tmp_path / "log.csv")
    words = [sys.executable, "-m", "recsieve", "compare", str(tmp_path / "log.csv"), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    said = process.stderr.readline()  # how many runs there are; now the processes import torch
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
    said += process.stderr.read()
    assert process.wait(60) == 130
    assert "stopped; all files are intact" in said
    assert "Traceback" not in said


def write_log(path):
    rng = np.random.default_rng(0)
    users, items = (rng.random((120, 80)) < 0.3).nonzero()
    pl.DataFrame({"user": users, "item": items}).write_csv(path)
