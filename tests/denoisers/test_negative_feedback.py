import pytest
import torch

from recsieve.denoisers import LossBatch, NegativeFeedback
from recsieve.errors import ConfigError

# A true positive, a false positive (observed, but learned as a negative) and a sampled negative.
LABELS, IDS = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([7, 3, -1])


def test_each_kind_of_interaction_has_its_own_weight():
    strategy = NegativeFeedback(false_positive_weight=0.25, negative_weight=0.5)
    weights = strategy.weights(LossBatch(torch.rand(3), LABELS, 1, ids=IDS))
    assert weights.tolist() == [1.0, 0.25, 0.5]


def test_without_ids_whatever_is_no_positive_is_taken_for_a_negative():
    strategy = NegativeFeedback(false_positive_weight=0.25, negative_weight=0.5)
    assert strategy.weights(LossBatch(torch.rand(3), LABELS, 1)).tolist() == [1.0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"false_positive_weight": -0.1}, "from 0 \\(left out\\) to 1"),
        ({"false_positive_weight": float("nan")}, "from 0 \\(left out\\) to 1"),
        ({"false_positive_weight": 1.5}, "from 0 \\(left out\\) to 1"),
        ({"negative_weight": 0.0}, "above 0 and up to 1"),
        ({"negative_weight": 2.0}, "above 0 and up to 1"),
    ],
)
def test_a_weight_outside_its_range_is_one_clear_error(options, message):
    with pytest.raises(ConfigError, match=message):
        NegativeFeedback(**options)


def test_by_default_a_regretted_interaction_counts_a_tenth_and_a_negative_fully():
    assert NegativeFeedback() == NegativeFeedback(false_positive_weight=0.1, negative_weight=1.0)
    assert NegativeFeedback.uses_noise_labels is True


def test_the_ends_of_both_ranges_are_allowed():
    assert NegativeFeedback(0.0, 1.0).false_positive_weight == 0
    assert NegativeFeedback(1.0, 0.001).negative_weight == 0.001


def test_the_interaction_numbered_0_is_one_too():
    strategy = NegativeFeedback(false_positive_weight=0.25, negative_weight=0.5)
    assert strategy.weights(LossBatch(torch.rand(1), torch.zeros(1), 1, ids=torch.tensor([0]))).tolist() == [0.25]
