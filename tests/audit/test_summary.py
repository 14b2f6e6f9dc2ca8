import numpy as np
import pytest

from recsieve.audit.evidence import adjusted_for_popularity, popularity_share
from recsieve.audit.summary import _notes, noise_share


def facts(**changes):
    usual = {
        "popularity_correlation": 0.1,
        "interactions": 1_000,
        "labelled": 100,
        "noise_share": {"estimate": 0.2, "low": 0.15, "high": 0.26, "level": 0.9},
        "labels_differ": {"item popularity": 0.0, "user activity": 0.05},
        "method": "mixed model",
        "evidence": [],
        "cross_validation": {"mixed model": {"roc_auc": 0.7}, "popularity": {"roc_auc": 0.6}},
    }
    return usual | changes


def test_mostly_popularity_is_said_first():
    notes = list(_notes(facts(popularity_correlation=0.9)))
    assert "mostly reflects popularity" in notes[0]
    assert not any("mostly reflects popularity" in note for note in _notes(facts()))


def test_the_share_of_noise_is_told_with_its_interval():
    assert any("20.0 % (90 % interval 15.0 % to 26.0 %)" in note for note in _notes(facts()))


def test_where_everything_is_labelled_nothing_is_called_an_estimate():
    notes = " ".join(_notes(facts(labelled=1_000, labels_differ=None)))
    assert "Every interaction is labelled: 20.0 %" in notes
    assert "interval" not in notes


def test_falling_back_is_said():
    notes = " ".join(_notes(facts(method="popularity")))
    assert "popularity alone" in notes


def test_labels_that_are_no_random_part_are_warned_of():
    notes = " ".join(_notes(facts(labels_differ={"item popularity": 0.5, "user activity": 0.0})))
    assert "not a random sample" in notes
    assert "item popularity" in notes


def test_too_few_labels_are_said_to_be_unused():
    assert "too few to learn from" in " ".join(_notes(facts(method="no labels")))


def test_a_score_that_is_popularity_is_nothing_once_adjusted():
    rng = np.random.default_rng(0)
    popularity = rng.integers(1, 1_000, 5_000).astype(np.int32)
    scores = -np.log(popularity)
    assert popularity_share(scores, popularity) > 0.99
    adjusted = adjusted_for_popularity(scores, popularity)
    assert abs(popularity_share(adjusted, popularity)) < 0.1


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
