"""A comparison in miniature."""

import pytest

from recsieve.data.splitting import split_interactions
from recsieve.experiments import compare as comparing
from recsieve.experiments.config import make_config
from recsieve.experiments.trial import run_trial
from recsieve.run_folder import RunFolder

TINY = {
    "seeds": 2, "epochs": 3, "batch_size": 64, "workers": 1, "metric": "ndcg@5",
    "strategies": {
        "CE": {"denoiser": "keep-all"},
        "T-CE": {"denoiser": "truncated", "denoiser_options": {"drop_positives": 0.2, "ramp_epochs": 1}},
    },
}  # fmt: skip


@pytest.fixture(scope="session")
def tiny():
    """Options of a comparison that takes a second."""
    return TINY


@pytest.fixture(scope="session")
def split(small_data):
    return split_interactions(small_data(40, 25, 0.4))


@pytest.fixture
def in_this_process(monkeypatch):
    """Train here instead of in processes of its own, which take seconds to start; says what was trained."""
    trained = []

    def run_all(jobs, metric, workers, progress):
        for job in jobs:
            trained.append(job.cell.name)
            run_trial(RunFolder(job.data).read_split(), job.cell, job.folder, metric)

    monkeypatch.setattr(comparing, "run_all", run_all)
    return trained


@pytest.fixture
def compare(in_this_process, split, tmp_path, tiny):
    """A function that compares the tiny strategies, with other options if they are given."""

    def run(out="out", **options):
        return comparing.run_comparison(make_config({**tiny, **options}), tmp_path / out, split=split)

    return run
