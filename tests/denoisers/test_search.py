import pytest

from recsieve.denoisers import LeastPopularDrop, NegativeFeedback, RandomDrop, Reweighted, Truncated
from recsieve.denoisers.search import Range

DROPPING = {"drop_positives": Range(0.01, 0.5), "ramp_epochs": Range(0.5, 30)}


@pytest.mark.parametrize(
    ("strategy", "space"),
    [
        (Truncated, DROPPING),
        (RandomDrop, DROPPING),
        (LeastPopularDrop, DROPPING),
        (Reweighted, {"beta": Range(0.02, 1.0)}),
        (NegativeFeedback, {"false_positive_weight": Range(0.02, 1.0)}),
    ],
)
def test_where_tune_looks_is_as_the_documentation_says(strategy, space):
    assert dict(strategy.search_space) == space
