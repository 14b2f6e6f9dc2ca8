import numpy as np
import polars as pl
import pytest

from research.paper import verdicts
from research.paper.reports.verdicts import ONE_SEED, both_selections, judged, told
from research.paper.runs import SELECTIONS


class Kept:
    """Runs that gave each user a value, by seed and method, users in another order each time."""

    def __init__(self, gain):
        self.gain = gain

    def __getitem__(self, run):
        self.run = run
        return self

    def per_user(self, select_by):
        method, seed = self.run
        random = np.random.default_rng(7)
        base = random.random(200)
        noise = np.random.default_rng([seed, len(method)]).normal(0, 0.01, 200)
        values = base + noise + (self.gain if method == "T-CE" else 0.0)
        frame = pl.DataFrame({"user": np.arange(200), "ndcg@50": values})
        return frame.sample(fraction=1.0, shuffle=True, seed=seed)


def runs(method, seeds=5):
    return [(method, seed) for seed in range(seeds)]


@pytest.mark.parametrize(("gain", "verdict"), [(0.05, "better"), (-0.05, "worse"), (0.0, "no difference found")])
def test_a_change_is_judged_by_users_and_seeds_whatever_their_order(gain, verdict):
    tested = verdicts.tested(Kept(gain), runs("CE"), runs("T-CE"), "ndcg@50")
    assert set(tested) == set(SELECTIONS)
    (found,) = judged([{"tested": tested}], "own-loss")
    assert found["verdict"] == verdict
    assert (found["users"], found["seeds"]) == (200, 5)
    low, high = found["interval"]
    assert low <= found["relative"] <= high


def test_one_seed_has_no_test_and_older_results_no_verdict():
    assert verdicts.tested(Kept(0.1), runs("CE", 1), runs("T-CE", 1), "ndcg@50") == {}
    assert judged([{}, {"tested": {}}], "own-loss") == [None, None]
    assert told(None) == ONE_SEED


def test_p_values_are_corrected_for_all_rows_of_a_data_set():
    rows = [{"tested": {"own-loss": {"relative": 1.0, "p_value": p}}} for p in (0.03, 0.04, 0.001)]
    assert [one["adjusted"] for one in judged(rows, "own-loss")] == pytest.approx([0.06, 0.06, 0.003])
    assert [one["verdict"] for one in judged(rows, "own-loss")] == ["no difference found"] * 2 + ["better"]


def test_a_gain_that_the_other_selection_reverses_is_told_with_both():
    gains = {"own-loss": {"mean": 54.2, "sd": 20.0}, "ndcg@20": {"mean": -4.4, "sd": 2.0}}
    assert "the selection decides the sign" in both_selections(gains)
    assert "−4.40" in both_selections(gains)
    assert "decides" not in both_selections({by: {"mean": 1.0, "sd": 0.1} for by in SELECTIONS})
