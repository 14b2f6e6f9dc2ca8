import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recsieve.denoisers import LossBatch, Reweighted
from recsieve.errors import ConfigError
from recsieve.losses import ReweightedBCE
from recsieve.objectives import BCE


@given(logit=st.floats(-15, 15), label=st.sampled_from([0.0, 1.0]), beta=st.floats(0, 2))
def test_the_weight_is_the_predicted_probability_of_the_label_to_the_power_beta(logit, label, beta):
    logits, labels = torch.tensor([logit]), torch.tensor([label])
    weight = Reweighted(beta).weights(LossBatch(BCE()(logits, labels), labels, 1))
    probability = torch.sigmoid(logits.double())
    expected = (probability if label else 1 - probability) ** beta
    assert weight.double().item() == pytest.approx(expected.item(), rel=1e-4)


@pytest.mark.parametrize("logit", [-1e4, -88.0, -18.0, 0.0, 18.0, 88.0, 1e4])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_the_weight_is_finite_at_any_logit(logit, label):
    logits, labels = torch.tensor([logit]), torch.tensor([label])
    weight = Reweighted(0.2).weights(LossBatch(BCE()(logits, labels), labels, 1))
    assert 0 <= weight.item() <= 1


def test_beta_zero_is_plain_cross_entropy():
    batch = LossBatch(torch.rand(5) * 9, torch.ones(5), 1)
    assert Reweighted(0).weights(batch).tolist() == [1.0] * 5


@pytest.mark.parametrize("beta", [-1, float("nan"), float("inf")])
def test_an_impossible_beta_says_what_to_give(beta):
    with pytest.raises(ConfigError, match="give 0"):
        Reweighted(beta)


def test_the_mean_is_over_the_batch_in_the_authors_way_also_where_a_weight_underflows():
    logits, labels = torch.tensor([-2000.0, 0.0]), torch.tensor([1.0, 1.0])
    paper, authors = ReweightedBCE(0.2)(logits, labels), ReweightedBCE(0.2, "authors")(logits, labels)
    only = 0.5**0.2 * math.log(2)
    assert paper.item() == pytest.approx(only)
    assert authors.item() == pytest.approx(only / 2)


def test_a_fidelity_that_there_is_not_is_an_error():
    with pytest.raises(ConfigError, match="give 'paper' or 'authors'"):
        Reweighted(0.2, "exact")


def test_the_power_is_a_fifth_unless_told_otherwise():
    assert Reweighted() == Reweighted(0.2, "paper")
