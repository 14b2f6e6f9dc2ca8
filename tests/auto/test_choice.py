import json

import numpy as np

from recsieve.auto.choice import Choice, pick, rate
from recsieve.auto.judging import Shift

PLAIN = ("CE", Shift())


def users(mean, spread=0.1, n=400, seed=0):
    return np.random.default_rng(seed).normal(mean, spread, n)


def test_what_is_only_a_little_better_is_not_chosen():
    plain = users(0.3)
    candidates = rate({PLAIN: plain, ("T-CE 10 %", Shift()): plain + users(0.005, 0.1, seed=2)})
    chosen, reason = pick(candidates, "NDCG@20")
    assert chosen.name == "CE"
    assert "nothing is convincingly better" in reason
    assert "T-CE 10 %" in reason


def test_of_what_is_convincingly_better_the_best_is_chosen():
    plain = users(0.3)
    better, best = plain + users(0.02, 0.05, seed=1), plain + users(0.04, 0.05, seed=2)
    candidates = rate({PLAIN: plain, ("T-CE 10 %", Shift()): better, ("R-CE", Shift(1.5, True)): best})
    chosen, reason = pick(candidates, "NDCG@20")
    assert chosen.name == "R-CE +1.5 log popularity + log(1−P)"
    assert f"{100 * chosen.change:+.1f} %" in reason


def test_one_that_gains_by_luck_among_many_is_not_chosen():
    """A hundred candidates that are no better: one in twenty looks so, but not after the correction."""
    plain = users(0.3)
    many = {(f"{number}", Shift()): plain + users(0, 0.05, seed=number) for number in range(100)}
    candidates = rate({PLAIN: plain, **many})
    assert candidates[0].name != "CE"
    assert pick(candidates, "NDCG@20")[0].name == "CE"


def test_where_nothing_is_better_that_is_said():
    plain = users(0.3)
    chosen, reason = pick(rate({PLAIN: plain, ("R-CE", Shift()): plain - users(0.01, 0.01, seed=1)}), "NDCG@20")
    assert chosen.name == "CE"
    assert reason == "nothing has a better NDCG@20 on validation than plain CE."


def test_a_choice_comes_back_from_json():
    plain = users(0.3)
    candidates = tuple(rate({PLAIN: plain, ("R-CE", Shift(0.5)): plain + users(0.1, 0.01, seed=1)}))
    choice = Choice(candidates[0], "because", "NDCG@20", 3, "some", True, candidates)
    assert Choice.from_dict(json.loads(json.dumps(choice.as_dict()))) == choice
