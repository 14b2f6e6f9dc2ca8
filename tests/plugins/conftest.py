"""Packages of other people, installed for these tests alone, and a small log."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

HERE = Path(__file__).parent
POINTS = """\
[recsieve.models]
graph-model = lightgcn_like:GraphModel
dense-mf = lightgcn_like:DenseMF
ridge = ease_like:Ridge
[recsieve.denoisers]
relabelling = relabelling:Relabelling
"""


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The environment of processes that find the plug-ins by their entry points, as if pip had installed them."""
    folder = tmp_path_factory.mktemp("site")
    for module in ("lightgcn_like", "ease_like", "relabelling", "trainings", "commands"):
        shutil.copy(HERE / f"{module}.py", folder)
    info = folder / "plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def run(installed):
    """A function that runs Python with the plug-ins."""

    def start(*words):
        ended = subprocess.run([sys.executable, *map(str, words)], env=installed, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr

    return start


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """A small log with ratings, none of its users with every item."""
    random = np.random.default_rng(0)
    users, items = (random.random((40, 30)) < 0.3).nonzero()
    frame = pl.DataFrame({"user": users, "item": items, "rating": random.integers(1, 6, len(users))})
    frame.write_csv(path := tmp_path_factory.mktemp("log") / "log.csv")
    return path
