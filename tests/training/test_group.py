"""One run on several ranks over gloo, beside the same run in one process."""

import json

import numpy as np
import pytest

from recsieve import Recommender, split_interactions
from recsieve.data.sharing import share_out
from recsieve.denoisers import DENOISERS
from recsieve.errors import ConfigError, GroupError
from recsieve.models import MODELS

STEPS = 12


@pytest.fixture(scope="module")
def run_on(tmp_path_factory, start_ranks):
    """A function that makes a few steps with every model and strategy on a number of ranks."""
    folder = tmp_path_factory.mktemp("ranks")

    def run(n_ranks):
        path = folder / f"{n_ranks}.json"
        if not path.exists():
            for rank in start_ranks([["benchmarks.ranks", path, "--steps", STEPS]] * n_ranks):
                _, errors = rank.communicate(timeout=300)
                assert rank.returncode == 0, errors
        return json.loads(path.read_text())["runs"]

    return run


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_every_model_and_strategy_has_the_losses_and_metrics_of_one_process(run_on, n_ranks):
    alone, group = run_on(1), run_on(n_ranks)
    assert len(alone) == len(MODELS) * len(DENOISERS)
    for name, run in alone.items():
        assert group[name]["losses"] == pytest.approx(run["losses"], abs=1e-5), name
        assert group[name]["metrics"] == pytest.approx(run["metrics"], abs=1e-4), name


@pytest.mark.parametrize("n_ranks", [(2, 3), (1, 2), (3, 1)])
def test_a_run_that_was_stopped_goes_on_with_another_number_of_ranks(small_data, in_ranks, tmp_path, n_ranks):
    data, path = small_data(), tmp_path / "state.safetensors"
    settings = {"denoiser": "truncated", "epochs": 6, "batch_size": 32, "model_options": {"factors": 4}}

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


def test_auto_is_refused_in_a_group(small_data, in_ranks):
    data = small_data()
    with pytest.raises(ConfigError, match="auto chooses in one process"):
        in_ranks(2, lambda group: Recommender(denoiser="auto").fit(share_out(data, group)))
