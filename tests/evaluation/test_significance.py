import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recsieve import Recommender, split_interactions
from recsieve.errors import DataError
from recsieve.evaluation.significance import LEVEL, compare_paired, holm, levels_left, verdict

N_USERS, N_SEEDS = 200, 5


def compare(method, baseline, n_bootstrap=2, seed=0):
    return compare_paired(method, baseline, rng=np.random.default_rng(seed), n_bootstrap=n_bootstrap)


def trainings(rng, luck, n=N_SEEDS, n_users=N_USERS):
    """Metrics of users after n trainings of one method: each is lucky or not, in all and with users of some taste."""
    quality = np.random.default_rng(1).gamma(1, 0.2, n_users)
    taste = np.random.default_rng(2).standard_normal((3, n_users))
    overall, for_tastes = luck * rng.standard_normal((n, 1)), 2 * luck * rng.standard_normal((n, 3)) @ taste
    return quality + overall + for_tastes + 0.1 * rng.standard_normal((n, n_users))


def alarms(luck, n_seeds=N_SEEDS, spread=0.0):
    """How often of 200 times two identical methods seem to differ; users may gain or lose, by 0 on average."""
    rng, found = np.random.default_rng(5), 0
    for _ in range(200):
        method = trainings(rng, luck, n_seeds) + spread * rng.standard_normal(N_USERS)
        found += compare(method, trainings(rng, luck, n_seeds)).p_value < 0.05
    return found


@pytest.mark.parametrize("luck", [0.0, 0.005, 0.02, 0.1])
@pytest.mark.parametrize("spread", [0.0, 0.2])
@pytest.mark.parametrize("n_seeds", [3, 5])
def test_identical_methods_under_two_names_raise_no_more_alarms_than_promised(luck, spread, n_seeds):
    assert alarms(luck, n_seeds, spread) <= stats.binom(200, 0.05).ppf(0.99)


def test_a_test_over_users_alone_would_cry_wolf_where_this_one_does_not():
    rng, found = np.random.default_rng(5), 0
    for _ in range(200):
        by_user = (trainings(rng, luck=0.02) - trainings(rng, luck=0.02)).mean(0)
        found += stats.ttest_1samp(by_user, 0).pvalue < 0.05
    assert found > 80


@pytest.mark.soak
def test_real_trainings_that_differ_by_their_seeds_alone_raise_no_more_alarms_than_promised(small_data):
    split = split_interactions(small_data(80, 40), seed=0)
    options = {"epochs": 2, "batch_size": 256, "learning_rate": 0.02}
    runs = [Recommender(seed=seed, **options).fit(split).evaluate(ks=[5]).per_user["ndcg@5"] for seed in range(20)]
    values, rng, found = np.stack(runs)[:, ~np.isnan(runs[0])], np.random.default_rng(0), 0
    for _ in range(200):
        chosen = rng.permutation(20)[:10]
        found += compare(values[chosen[:5]], values[chosen[5:]]).p_value < 0.05
    assert found <= stats.binom(200, 0.05).ppf(0.99)


def test_the_smallest_detectable_difference_is_found_four_times_of_five():
    rng, found = np.random.default_rng(3), 0
    detectable = np.mean([compare(trainings(rng, 0.01), trainings(rng, 0.01)).smallest_detectable() for _ in range(50)])
    for _ in range(200):
        found += compare(trainings(rng, 0.01) + detectable, trainings(rng, 0.01)).p_value < 0.05
    assert 0.7 < found / 200 < 0.95


def test_the_interval_holds_the_truth_nineteen_times_of_twenty():
    rng, held = np.random.default_rng(4), 0
    for number in range(100):
        method = trainings(rng, 0.02) + 0.1 * rng.standard_normal(N_USERS) + 0.03
        low, high = compare(method, trainings(rng, 0.02), n_bootstrap=300, seed=number).interval
        held += low < 0.03 < high
    assert held >= stats.binom(100, 0.95).ppf(0.01)


def test_a_real_difference_is_described_by_its_size():
    rng = np.random.default_rng(0)
    baseline = np.tile(rng.random(50), (5, 1))
    gains = np.tile(rng.normal(0.1, 0.05, 50), (5, 1))
    found = compare(baseline + gains, baseline, n_bootstrap=2000)
    assert found.mean_difference == pytest.approx(gains.mean())
    assert found.relative_difference == pytest.approx(gains.mean() / baseline.mean())
    assert found.effect_size == pytest.approx(gains[0].mean() / gains[0].std(ddof=1))
    assert (found.n_users, found.n_seeds) == (50, 5)
    # The seeds agree, so that this is the paired t test over users.
    assert found.p_value == pytest.approx(stats.ttest_1samp(gains[0], 0).pvalue, rel=1e-6)
    expected = stats.t.interval(0.95, 49, gains[0].mean(), stats.sem(gains[0]))
    assert found.interval == pytest.approx(expected, rel=0.05)


def test_where_users_agree_it_is_the_paired_t_test_over_seeds():
    by_seed = np.array([0.1, 0.3, -0.1, 0.2, 0.25])
    baseline = np.random.default_rng(0).random((5, 30))
    found = compare(baseline + by_seed[:, None], baseline)
    assert found.p_value == pytest.approx(stats.ttest_1samp(by_seed, 0).pvalue, rel=1e-6)


def test_the_same_runs_twice_do_not_differ():
    values = np.random.default_rng(0).random((5, 20))
    found = compare(values, values)
    assert (found.mean_difference, found.p_value, found.effect_size, found.interval) == (0.0, 1.0, 0.0, (0.0, 0.0))


def test_a_difference_that_is_the_same_for_everybody_is_certain():
    values = np.zeros((5, 20))
    found = compare(values + 0.5, values)
    assert (found.p_value, found.effect_size, found.interval) == (0.0, np.inf, (0.5, 0.5))


def test_the_same_generator_gives_the_same_interval():
    rng = np.random.default_rng(0)
    method, baseline = rng.random((5, 20)), rng.random((5, 20))
    assert compare(method, baseline, 50) == compare(method, baseline, 50)


@given(st.integers(2, 6), st.integers(2, 40), st.integers(0, 10_000))
def test_exchanging_method_and_baseline_turns_the_difference_and_keeps_the_certainty(n_seeds, n_users, seed):
    rng = np.random.default_rng(seed)
    method, baseline = rng.random((n_seeds, n_users)), rng.random((n_seeds, n_users))
    there, back = compare(method, baseline), compare(baseline, method)
    assert there.mean_difference == pytest.approx(-back.mean_difference)
    assert there.p_value == pytest.approx(back.p_value)
    assert there.smallest_detectable() == pytest.approx(back.smallest_detectable())
    assert 0 <= there.p_value <= 1


@pytest.mark.parametrize(
    ("method", "baseline", "words"),
    [
        (np.zeros((5, 4)), np.zeros((5, 3)), "the same for both"),
        (np.zeros(4), np.zeros(4), "give \\(seeds, users\\)"),
        (np.zeros((1, 4)), np.zeros((1, 4)), "give 5 seeds or more"),
        (np.full((5, 4), np.nan), np.zeros((5, 4)), "leave out the users"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_error(method, baseline, words):
    with pytest.raises(DataError, match=words):
        compare(method, baseline)


def test_holm_gives_the_numbers_of_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_lowers_a_p_value_nor_changes_their_order(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= p_values).all()
    assert (adjusted <= np.minimum(1, np.array(p_values) * len(p_values))).all()
    assert (np.diff(adjusted[np.argsort(p_values)]) >= 0).all()


def test_among_many_comparisons_a_difference_has_to_be_larger_to_be_found():
    rng = np.random.default_rng(0)
    found = compare(trainings(rng, 0.01), trainings(rng, 0.01))
    assert found.smallest_detectable(LEVEL / 9) > 1.2 * found.smallest_detectable()


def test_the_level_that_is_left_is_shared_by_those_not_found_to_differ():
    assert levels_left([0.01, 0.06, 0.3, 0.02]).tolist() == pytest.approx([0.05 / 3, 0.05 / 2, 0.05 / 2, 0.05 / 3])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.data())
def test_what_was_not_found_would_have_been_just_below_the_level_that_was_left(p_values, data):
    adjusted = holm(p_values)
    place = data.draw(st.sampled_from(range(len(p_values))))
    if adjusted[place] < LEVEL:
        return
    level = levels_left(adjusted)[place]
    below, above = ([*p_values[:place], factor * level, *p_values[place + 1 :]] for factor in (0.999, 1.001))
    assert holm(below)[place] < LEVEL <= holm(above)[place]


@pytest.mark.parametrize(
    ("difference", "p", "expected"),
    [
        (0.1, 0.01, "better"),
        (-0.1, 0.01, "worse"),
        (0.1, 0.05, "no difference found"),
        (-9.0, 0.2, "no difference found"),
        (0.1, float("nan"), "no difference found"),
    ],
)
def test_the_verdict_is_in_words(difference, p, expected):
    assert verdict(compare(np.full((5, 10), difference), np.zeros((5, 10))), p) == expected
