"""The whole way from data to verdict, where the truth is known.

Noise is injected, so that without it there is none: in the simulator's own "world without noise" people still click
outside their tastes, and T-CE gains there too (docs/decisions/0007). All items are equally popular, because where they
are not, to drop unpopular ones helps without any noise.
"""

import pytest

from recsieve.experiments.compare import run_comparison
from recsieve.experiments.config import make_config
from recsieve.simulation.config import WorldConfig
from recsieve.simulation.simulate import simulate
from recsieve.simulation.world import write_world

WORLD = WorldConfig(600, 300, 18_000, 5_400, n_topics=16, popularity_skew=0, activity_skew=0.2)
BUDGET = {
    "seeds": 5,
    "epochs": 30,
    "patience": 5,
    "batch_size": 512,
    "learning_rate": 0.005,
    "workers": 1,
    "plain_models": [],
}
STRATEGIES = {
    "CE": {"denoiser": "keep-all"},
    "R-CE": {"denoiser": "reweighted", "denoiser_options": {"beta": 1.0}},
}


@pytest.fixture
def verdicts(in_this_process, tmp_path):
    """A function that gives what is found of each strategy where a share of the clicks is noise."""

    def judge(rate):
        write_world(simulate(WORLD, seed=0), tmp_path / "shop")
        source = {"source": tmp_path / "shop", "false_positive": WORLD.rule}
        noise = [{"mechanism": "uniform", "rate": rate}]
        config = make_config({"data": source, "noise": noise, "strategies": STRATEGIES, "plain_models": [], **BUDGET})
        rows = run_comparison(config, tmp_path / "out")["rows"]
        return {row["strategy"]: row for row in rows}

    return judge


@pytest.mark.soak
def test_with_strong_noise_that_can_be_learnt_denoising_is_better_than_plain_training_and_than_the_control(verdicts):
    found = verdicts(0.6)
    assert found["R-CE"]["against_baseline"]["verdict"] == "better"
    assert found["R-CE"]["against_popularity"]["verdict"] == "better"
    assert found["clean training (oracle)"]["against_baseline"]["verdict"] == "better"


@pytest.mark.soak
def test_without_noise_no_difference_is_found(verdicts):
    found = verdicts(0.0)
    assert found["R-CE"]["against_baseline"]["verdict"] == "no difference found"
    assert found["clean training (oracle)"]["against_baseline"]["difference"] == 0
