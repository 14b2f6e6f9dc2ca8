"""What every registered strategy promises."""

import pytest
import torch

from recsieve.denoisers import DENOISERS, Context, LossBatch, make_denoiser
from recsieve.losses import DenoisedLoss
from recsieve.objectives import BCE, Losses

POPULARITY = torch.randperm(64, generator=torch.Generator().manual_seed(0))


@pytest.fixture(params=DENOISERS)
def denoiser(request):
    context = Context(7, 64, 64, POPULARITY, steps_per_epoch=1, losses_per_positive=2)
    return make_denoiser(request.param, {}, context)


def batch(n, share=0.5, step=100):
    generator = torch.Generator().manual_seed(n)
    labels = (torch.arange(n) < share * n).float()
    losses = torch.rand(n, generator=generator) * 5
    ids = torch.where(labels > 0, torch.arange(n), -1)
    return LossBatch(losses, labels, step, torch.arange(n) % 7, torch.arange(n), ids)


@pytest.mark.parametrize(("n", "share"), [(1, 0), (1, 1), (2, 1), (64, 0), (64, 0.5), (64, 1)])
def test_weights_are_finite_and_from_zero_to_one_on_any_batch(denoiser, n, share):
    given = batch(n, share)
    weights = denoiser.weights(given)
    assert weights.shape == given.losses.shape
    assert weights.dtype == given.losses.dtype
    assert ((weights >= 0) & (weights <= 1)).all()


def test_weights_do_not_depend_on_the_order_of_the_batch(denoiser):
    given, order = batch(64), torch.randperm(64, generator=torch.Generator().manual_seed(1))
    shuffled = LossBatch(
        *(value[order] if isinstance(value, torch.Tensor) else value for value in vars(given).values())
    )
    torch.testing.assert_close(denoiser.weights(shuffled), denoiser.weights(given)[order])


def test_negatives_are_never_dropped(denoiser):
    given = batch(64)
    assert (denoiser.weights(given)[given.labels == 0] > 0).all()


def test_the_loss_has_gradients_and_the_strategy_none(denoiser):
    logits = torch.randn(32, generator=torch.Generator().manual_seed(0), requires_grad=True)
    labels = (torch.arange(32) < 16).float()
    losses = BCE()(logits, labels)
    weighed = DenoisedLoss(denoiser).weigh(Losses(losses, losses), labels, items=torch.arange(32))
    assert not weighed.weights.requires_grad
    weighed.mean().backward()
    assert torch.isfinite(logits.grad).all()
