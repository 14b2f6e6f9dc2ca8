import numpy as np

from recsieve.audit.evidence import adjusted_for_popularity, popularity_share
from recsieve.audit.summary import _notes


def facts(**changes):
    usual = {
        "popularity_correlation": 0.1,
        "interactions": 1_000,
        "labelled": 100,
        "noise_share": {"estimate": 0.2, "low": 0.15, "high": 0.26, "level": 0.9},
        "labels_differ": {"item popularity": 0.0, "user activity": 0.05},
        "method": "mixed model",
        "cross_validation": {"mixed model": {"roc_auc": 0.7}, "popularity": {"roc_auc": 0.6}},
    }
    return usual | changes


def test_mostly_popularity_is_said_first():
    notes = list(_notes(facts(popularity_correlation=0.9)))
    assert "mostly popularity" in notes[0]
    assert not any("mostly popularity" in note for note in _notes(facts()))


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
    assert "not a random part" in notes
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
