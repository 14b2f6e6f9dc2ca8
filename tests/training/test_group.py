"""One run on several ranks over gloo, beside the same run in one process."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from recsieve.denoisers import DENOISERS
from recsieve.models import MODELS

ROOT = Path(__file__).parents[2]
STEPS = 12


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_ranks(n_ranks, *words):
    """Start the processes of a group as torchrun does, without the seconds that torchrun takes to start."""
    shared = {"WORLD_SIZE": str(n_ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    shared |= {"TORCHELASTIC_RUN_ID": "test", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    return [
        subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, env=os.environ | shared | {"RANK": str(rank)})
        for rank in range(n_ranks)
    ]


@pytest.fixture(scope="module")
def run_on(tmp_path_factory):
    """A function that makes a few steps with every model and strategy on a number of ranks."""
    folder = tmp_path_factory.mktemp("ranks")

    def run(n_ranks):
        path = folder / f"{n_ranks}.json"
        if not path.exists():
            for rank in start_ranks(n_ranks, "benchmarks.ranks", str(path), "--steps", str(STEPS)):
                assert rank.wait(timeout=300) == 0
        return json.loads(path.read_text())["runs"]

    return run


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_every_model_and_strategy_has_the_losses_and_metrics_of_one_process(run_on, n_ranks):
    alone, group = run_on(1), run_on(n_ranks)
    assert len(alone) == len(MODELS) * len(DENOISERS)
    for name, run in alone.items():
        assert group[name]["losses"] == pytest.approx(run["losses"], abs=1e-5), name
        assert group[name]["metrics"] == pytest.approx(run["metrics"], abs=1e-4), name
