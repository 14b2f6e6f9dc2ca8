"""The whole way from data to verdict, where the truth is known.

What is tested is the oracle, which takes away exactly the noise. T-CE is no yardstick: with drop_positives 0.2 it is
"better" on this simulator's data without any noise too (docs/decisions/0007), and so is dropping unpopular items.
"""

import pytest

from recsieve.data.simulation import simulate
from recsieve.data.world import write_world
from recsieve.data.world_config import WorldConfig
from recsieve.experiments.compare import run_comparison
from recsieve.experiments.config import make_config


@pytest.fixture
def oracle(in_this_process, tmp_path):
    """A function that gives the verdict on clean training in a world with a share of noise."""

    def judge(share):
        world = WorldConfig(400, 200, 12_000, int(share * 12_000))
        write_world(simulate(world, seed=0), tmp_path / "shop")
        source = {"source": tmp_path / "shop", "false_positive": world.rule}
        budget = {"seeds": 3, "epochs": 20, "patience": 5, "batch_size": 512, "learning_rate": 0.005}
        config = make_config({"data": source, "strategies": {"CE": {"denoiser": "keep-all"}}, **budget})
        return run_comparison(config, tmp_path / "out")["rows"][1]["against_baseline"]

    return judge


def test_taking_strong_noise_away_is_found_to_be_better(oracle):
    assert oracle(0.4)["verdict"] == "better"


def test_taking_no_noise_away_is_no_difference(oracle):
    judged = oracle(0.0)
    assert (judged["verdict"], judged["difference"]) == ("no difference found", 0)
