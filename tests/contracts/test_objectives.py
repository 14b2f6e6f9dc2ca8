"""What every registered objective promises."""

import pytest
import torch

from recsieve.objectives import OBJECTIVES, make_objective


@pytest.fixture(params=OBJECTIVES)
def objective(request):
    return make_objective(request.param, {})


def inputs(objective, n, dtype=torch.float32, scale=1.0):
    """Scores and labels, or the scores of positives and of their negatives."""
    generator = torch.Generator().manual_seed(n)
    one, many = torch.randn(n, generator=generator) * scale, torch.randn(n, 3, generator=generator) * scale
    other = many if objective.pairwise else (torch.arange(n) % 2).float()
    return one.to(dtype).requires_grad_(), other.to(dtype)


@pytest.mark.parametrize("n", [0, 1, 2, 65])
def test_there_is_one_loss_for_each_interaction_none_below_zero(objective, n):
    losses = objective(*inputs(objective, n))
    assert losses.shape == (n,)
    assert (losses >= 0).all()


def test_losses_are_float32_whatever_the_scores_are(objective):
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        assert objective(*inputs(objective, 9, dtype)).dtype == torch.float32


def test_losses_and_gradients_are_finite_at_large_scores(objective):
    scores, other = inputs(objective, 64, scale=1e3)
    losses = objective(scores, other)
    losses.sum().backward()
    assert losses.isfinite().all()
    assert scores.grad.isfinite().all()


def test_a_loss_does_not_depend_on_the_others_in_the_batch(objective):
    scores, other = inputs(objective, 64)
    order = torch.randperm(64, generator=torch.Generator().manual_seed(1))
    assert torch.equal(objective(scores[order], other[order]), objective(scores, other)[order])
    assert torch.equal(objective(scores[:1], other[:1]), objective(scores, other)[:1])


def test_a_higher_score_of_what_is_liked_never_raises_the_loss(objective):
    scores, other = inputs(objective, 64)
    if not objective.pairwise:
        scores, other = scores.detach().clamp(max=0.9).requires_grad_(), torch.ones(64)
    objective(scores, other).sum().backward()
    assert (scores.grad <= 0).all()
