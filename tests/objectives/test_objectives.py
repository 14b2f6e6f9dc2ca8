"""Each objective beside its formula, in values and gradients."""

import pytest
import torch

from recsieve.errors import ConfigError
from recsieve.objectives import BCE, BPR, BSL, Hinge, Softmax, Square, make_objective

POINTWISE = {
    BCE(): lambda s, y: -(y * s.sigmoid().log() + (1 - y) * (1 - s.sigmoid()).log()),
    Square(): lambda s, y: (s - y) ** 2,
    Hinge(): lambda s, y: torch.relu(1 - torch.where(y > 0.5, 1, -1) * s),
}
PAIRWISE = {
    BPR(): lambda p, n: -(p[:, None] - n).sigmoid().log().mean(1),
    Softmax(): lambda p, n: -(p.exp() / (p.exp() + n.exp().sum(1))).log(),
    Softmax(0.2): lambda p, n: -((p / 0.2).exp() / ((p / 0.2).exp() + (n / 0.2).exp().sum(1))).log(),
    BSL(): lambda p, n: -(p.exp() / n.exp().sum(1) ** 1.1).log(),
    BSL(0.2, 1.3): lambda p, n: -((p / 0.2).exp() / (n / 0.2).exp().sum(1) ** 1.3).log(),
}


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("objective", POINTWISE, ids=str)
def test_a_pointwise_objective_is_its_formula(objective):
    scores, labels = numbers(50), (torch.arange(50) % 2).double()
    assert_same(objective(scores, labels), POINTWISE[objective](scores, labels), scores)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("objective", PAIRWISE, ids=str)
def test_a_pairwise_objective_is_its_formula(objective, k):
    positive, negative = numbers(50), numbers(50, k, seed=1)
    assert_same(objective(positive, negative), PAIRWISE[objective](positive, negative), positive, negative)


def assert_same(found, expected, *inputs):
    torch.testing.assert_close(found, expected.float())
    found_slopes, slopes = (
        torch.autograd.grad(losses.sum(), inputs, retain_graph=True) for losses in (found, expected)
    )
    torch.testing.assert_close(found_slopes, slopes, rtol=1e-6, atol=1e-9)


def test_with_one_negative_softmax_is_bpr():
    positive, negative = numbers(9), numbers(9, 1, seed=1)
    torch.testing.assert_close(Softmax()(positive, negative), BPR()(positive, negative))


def test_cross_entropy_takes_labels_between_0_and_1():
    scores, labels = numbers(9), torch.linspace(0, 1, 9).double()
    assert_same(BCE()(scores, labels), POINTWISE[BCE()](scores, labels), scores)


@pytest.mark.parametrize("temperature", [0, -1, float("inf"), float("nan")])
def test_an_impossible_temperature_says_what_to_give(temperature):
    with pytest.raises(ConfigError, match="give a number above 0"):
        make_objective("softmax", {"temperature": temperature})
    with pytest.raises(ConfigError, match="give a number above 0"):
        make_objective("bsl", {"temperature": temperature})
    with pytest.raises(ConfigError, match="give a number above 0"):
        make_objective("bsl", {"power": temperature})


def test_an_unknown_name_or_option_is_answered_with_a_close_one():
    with pytest.raises(ConfigError, match="did you mean 'softmax'"):
        make_objective("softmx", {})
    with pytest.raises(ConfigError, match="did you mean 'temperature'"):
        make_objective("softmax", {"temprature": 1.0})
    assert make_objective("softmax", {"temperature": 0.5}) == Softmax(0.5)
