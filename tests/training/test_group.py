"""One run on several ranks over gloo, beside the same run in one process."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ranks import NETWORKS, STRATEGIES
from recsieve import Recommender, split_interactions
from recsieve.data.sharing import share_out
from recsieve.errors import ConfigError, GroupError
from recsieve.training import InteractionMemory

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run_on(tmp_path_factory, start_ranks):
    """A function that trains models with every strategy on a number of ranks; gives losses and metrics of each run."""
    folder = tmp_path_factory.mktemp("ranks")

    def run(n_ranks, *options):
        path = folder / f"{n_ranks}{''.join(map(str, options))}.json"
        if not path.exists():
            for rank in start_ranks([["benchmarks.ranks", path, *options]] * n_ranks):
                _, errors = rank.communicate(timeout=1800)
                assert rank.returncode == 0, errors
        return json.loads(path.read_text())["runs"]

    return run


def assert_same(runs, others):
    assert len(runs) == len(others)
    for name, run in runs.items():
        assert others[name]["losses"] == pytest.approx(run["losses"], abs=1e-5), name
        assert others[name]["metrics"] == pytest.approx(run["metrics"], abs=1e-4), name


@pytest.mark.parametrize(
    ("n_ranks", "steps"),
    [(2, 40), pytest.param(2, 500, marks=pytest.mark.soak), pytest.param(3, 500, marks=pytest.mark.soak)],
)
def test_steps_with_every_strategy_are_those_of_one_rank(run_on, n_ranks, steps):
    options = "--steps", steps, "--models", "gmf", "neumf", "cdae"
    runs = run_on(1, *options)
    assert len(runs) == 3 * len(STRATEGIES)
    assert_same(runs, run_on(n_ranks, *options))


def test_one_process_with_kernels_of_its_own_has_the_losses_and_metrics_of_two_ranks(run_on, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "benchmarks.ranks", tmp_path / "1.json", "--steps", "12"], cwd=ROOT, check=True
    )
    runs = json.loads((tmp_path / "1.json").read_text())["runs"]
    assert len(runs) == len(NETWORKS) * len(STRATEGIES)
    assert_same(runs, run_on(2, "--steps", 12))


@pytest.mark.parametrize("model", ["gmf", "neumf"])
@pytest.mark.parametrize("n_ranks", [(2, 3), (1, 2), (3, 1)])
def test_a_run_that_was_stopped_goes_on_with_another_number_of_ranks(small_data, in_ranks, tmp_path, n_ranks, model):
    data, path = small_data(), tmp_path / "state.safetensors"
    settings = {"model": model, "denoiser": "truncated", "epochs": 6, "batch_size": 32, "model_options": {"factors": 4}}

    class Killed(Exception):
        pass

    def stop(event):
        if event.step >= 15:
            raise Killed

    def fit(group, **options):
        parts = split_interactions(share_out(data, group), seed=0)
        recommender = Recommender(**settings, checkpoint_every=5).fit(parts, checkpoint=path, **options)
        return recommender.history["loss"].to_numpy(), recommender.evaluate(ks=[5]).overall

    (losses, metrics), *_ = in_ranks(1, fit)
    path.unlink()
    with pytest.raises((Killed, GroupError)):
        in_ranks(n_ranks[0], lambda group: fit(group, progress=stop))
    for again_losses, again_metrics in in_ranks(n_ranks[1], lambda group: fit(group, resume=True)):
        np.testing.assert_allclose(again_losses, losses, atol=1e-5)
        assert again_metrics == pytest.approx(metrics, abs=1e-4)


@pytest.mark.parametrize("n_ranks", [(2, 2), (1, 2), (3, 1)])
def test_the_memory_of_a_run_that_was_stopped_goes_on_with_another_number_of_ranks(
    small_data, in_ranks, tmp_path, n_ranks
):
    data, path = small_data(), tmp_path / "state.safetensors"

    class Killed(Exception):
        pass

    def stop(event):
        if event.step >= 15:
            raise Killed

    def fit(group, **options):
        parts = split_interactions(share_out(data, group), seed=0)
        memory = InteractionMemory(len(parts.train))
        recommender = Recommender("gmf", epochs=4, batch_size=32, checkpoint_every=5, model_options={"factors": 4})
        recommender.fit(parts, checkpoint=path, memory=memory, **options)
        return parts.train.ids_of(np.arange(len(parts.train))), memory.losses

    ((_, losses),) = in_ranks(1, fit)
    path.unlink()
    with pytest.raises((Killed, GroupError)):
        in_ranks(n_ranks[0], lambda group: fit(group, progress=stop))
    for own, again in in_ranks(n_ranks[1], lambda group: fit(group, resume=True)):
        np.testing.assert_allclose(again, losses[:, own], atol=1e-5)


@pytest.mark.parametrize("denoiser", ["eard", "udt", "dcf", "truncated-by-owner", "reweighted-by-owner"])
def test_a_strategy_with_a_memory_has_the_same_losses_on_two_ranks(small_data, in_ranks, denoiser):
    data = small_data()
    settings = {"epochs": 4, "batch_size": 32, "learning_rate": 0.02, "model_options": {"factors": 4}}

    def fit(group):
        parts = split_interactions(share_out(data, group), seed=0)
        return Recommender("gmf", denoiser, **settings).fit(parts).history["loss"].to_numpy()

    (alone,), together = in_ranks(1, fit), in_ranks(2, fit)
    for losses in together:
        np.testing.assert_allclose(losses, alone, atol=1e-5)


@pytest.mark.parametrize("denoiser", ["pld", "fine-tuning"])
def test_a_strategy_that_chooses_among_interactions_is_refused_in_a_group(small_data, in_ranks, denoiser):
    options = {"phase_epochs": 1} if denoiser == "fine-tuning" else {}
    strategy = {"denoiser_options": options, "epochs": 2}
    with pytest.raises(ConfigError, match="one process only"):
        in_ranks(2, lambda group: Recommender("gmf", denoiser, **strategy).fit(share_out(small_data(), group)))


def test_auto_is_refused_in_a_group(small_data, in_ranks):
    data = small_data()
    with pytest.raises(ConfigError, match="auto chooses on all interactions"):
        in_ranks(2, lambda group: Recommender(denoiser="auto").fit(share_out(data, group)))
