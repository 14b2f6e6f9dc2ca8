import json

import numpy as np

from recsieve.auto.candidates import Candidate, Spec
from recsieve.auto.choice import Choice, better_by_chance, pick, rate

PLAIN = Candidate((Spec("ease"),))
OTHER = Candidate((Spec("ials"),))
SHIFTED = Candidate((Spec("ease"),), c=0.5, gamma=1.0)


def users(mean, spread=0.1, n=400, seed=0):
    return np.random.default_rng(seed).normal(mean, spread, n)


def halves(of_users, popular=0.5):
    return np.stack([popular * of_users, (1 - popular) * of_users], axis=1)


def values(**given):
    return {one.name: (one, halves(of_users)) for one, of_users in given.values()}


def test_what_is_only_a_little_better_is_not_chosen():
    plain = users(0.3)
    rated = rate(values(a=(PLAIN, plain), b=(SHIFTED, plain + users(0.005, 0.1, seed=2))))
    chosen, reason = pick(rated, "NDCG@20", labelled=True)
    assert chosen.name == "ease"
    assert "nothing is convincingly better" in reason
    assert SHIFTED.name in reason


def test_of_what_is_convincingly_better_the_best_is_chosen():
    plain = users(0.3)
    blend = Candidate((Spec("ease"), Spec("ials")), (0.5, 0.5))
    better, best = plain + users(0.02, 0.05, seed=1), plain + users(0.04, 0.05, seed=2)
    rated = rate(values(a=(PLAIN, plain), b=(blend, better), c=(SHIFTED, best)))
    chosen, reason = pick(rated, "NDCG@20", labelled=True)
    assert chosen.name == "ease +0.5 log(1−P) +1 log popularity"
    assert f"{100 * chosen.change:+.1f} %" in reason


def test_the_reference_is_the_best_of_the_plain_models():
    plain = users(0.3)
    rated = rate(values(a=(PLAIN, plain), b=(OTHER, plain + 0.05), c=(SHIFTED, plain + users(0.04, 0.01, seed=3))))
    assert pick(rated, "NDCG@20", labelled=True)[0].name == "ials"
    assert next(one for one in rated if one.name == "ials").change == 0


def test_a_hundred_candidates_that_are_equal_leave_the_best_plain_model_in_at_most_one_case_of_twenty():
    """The promise of issue 21, with candidates that are as alike as models of one log are."""
    left = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        of_users = rng.normal(0.3, 0.2, (300, 1)) + rng.normal(0, 0.05, (300, 101))
        many = {f"{n}": (Candidate((Spec("ease"),), gamma=1.0 + n), of_users[:, n]) for n in range(1, 101)}
        rated = rate(values(plain=(PLAIN, of_users[:, 0]), **many), seed)
        left += not pick(rated, "NDCG@20", labelled=True)[0].candidate.plain
    assert left <= 10


def test_candidates_that_are_one_and_the_same_count_as_one():
    one = users(0.004, 0.05)
    alone, often = better_by_chance(one[:, None]), better_by_chance(np.repeat(one[:, None], 50, axis=1))
    np.testing.assert_allclose(often, alone[0])


def test_without_labels_a_gain_needs_a_margin():
    plain = users(0.3)
    rated = rate(values(a=(PLAIN, plain), b=(SHIFTED, plain + users(0.002, 0.001, seed=1))))
    assert pick(rated, "NDCG@20", labelled=True)[0].name == SHIFTED.name
    chosen, reason = pick(rated, "NDCG@20", labelled=False)
    assert chosen.name == "ease"
    assert "Without noise labels, it must be better by 1 %" in reason


def test_without_labels_a_gain_must_not_cost_popular_items_or_others():
    plain, gain = halves(users(0.3)), users(0.03, 0.05, seed=1)
    for traded in (gain[:, None] * [2, -1], gain[:, None] * [-1, 2]):
        rated = rate({PLAIN.name: (PLAIN, plain), SHIFTED.name: (SHIFTED, plain + traded)})
        assert pick(rated, "NDCG@20", labelled=True)[0].name == SHIFTED.name
        assert pick(rated, "NDCG@20", labelled=False)[0].name == "ease"
    rated = rate({PLAIN.name: (PLAIN, plain), SHIFTED.name: (SHIFTED, plain + gain[:, None] * [1, 0])})
    assert pick(rated, "NDCG@20", labelled=False)[0].name == SHIFTED.name


def test_where_nothing_is_better_that_is_said():
    plain = users(0.3)
    rated = rate(values(a=(PLAIN, plain), b=(SHIFTED, plain - users(0.01, 0.01, seed=1))))
    chosen, reason = pick(rated, "NDCG@20", labelled=True)
    assert chosen.name == "ease"
    assert reason == "nothing has a better NDCG@20 on validation data."


def test_a_choice_comes_back_from_json():
    plain = users(0.3)
    rated = rate(values(a=(PLAIN, plain), b=(SHIFTED, plain + users(0.1, 0.01, seed=1))))
    choice = Choice(rated[0], rated[1], rated[1], None, "because", "NDCG@20", 3, "some", 1, 2, {"ease-x": 1.0}, rated)
    assert Choice.from_dict(json.loads(json.dumps(choice.as_dict()))) == choice
