import numpy as np
import pytest

from recsieve.audit.share import noise_share


def covered(seed, n, labelled, base, informed):
    """Whether the interval holds the share of noise of a log of which a random part is labelled."""
    rng = np.random.default_rng(seed)
    probability = rng.beta(base * 3, (1 - base) * 3, n) if informed else np.full(n, base)
    noise = rng.random(n) < probability
    shown = np.zeros(n, bool)
    shown[rng.permutation(n)[:labelled]] = True
    expected = np.clip(probability + 0.1, 0, 1)  # a model that is off by a tenth
    found = noise_share(noise[shown], expected[shown], n, float(expected[~shown].mean()))
    return found["low"] <= noise.mean() <= found["high"]


@pytest.mark.parametrize(("n", "labelled", "base"), [(2_000, 100, 0.1), (2_000, 1_000, 0.1), (400, 100, 0.5)])
@pytest.mark.parametrize("informed", [True, False])
def test_ninety_of_a_hundred_intervals_hold_the_truth(n, labelled, base, informed):
    assert 0.86 <= np.mean([covered(seed, n, labelled, base, informed) for seed in range(300)]) <= 0.95


def test_a_good_model_makes_the_interval_narrower():
    rng = np.random.default_rng(0)
    probability = rng.beta(0.2, 0.8, 1_000)
    noise = rng.random(1_000) < probability
    informed = noise_share(noise, probability, 20_000, float(probability.mean()))
    blind = noise_share(noise, np.full(1_000, noise.mean()), 20_000, None)
    assert informed["high"] - informed["low"] < 0.8 * (blind["high"] - blind["low"])


def test_where_all_is_known_nothing_is_estimated():
    found = noise_share(np.array([True, False, False, False]), np.full(4, 0.5), 4, None)
    assert (found["low"], found["estimate"], found["high"]) == (0.25, 0.25, 0.25)


def test_labels_without_any_noise_leave_room_for_some():
    found = noise_share(np.zeros(100, bool), np.zeros(100), 10_000, None)
    assert found["low"] == 0
    assert 0.01 < found["high"] < 0.05
