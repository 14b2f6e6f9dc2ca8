"""The contract of an objective."""

from __future__ import annotations

import torch
from torch import Tensor

from recsieve.objectives import Objective
from recsieve.testing.promises import close, generator, promise

_STEP, _TOLERANCE = 1e-2, 1e-3  # of a difference quotient of float32 losses
_SHARE_AT_KINKS = 0.1  # of points near which a loss may bend, so that no slope is expected there


def check_objective(objective: Objective) -> None:
    """Check an objective: the shape and type of its losses, their gradients, and that none depends on another."""
    promise(
        isinstance(getattr(objective, "pairwise", None), bool),
        "an objective says by `pairwise`, True or False, whether it takes pairs.",
    )
    _check_losses(objective)
    _check_large_scores(objective)
    _check_independence(objective)
    _check_direction(objective)
    _check_gradients(objective)


def _inputs(objective: Objective, n: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> list[Tensor]:
    """Scores and labels, or the scores of positives and of their negatives."""
    random = generator(n)
    one, many = torch.randn(n, generator=random) * scale, torch.randn(n, 3, generator=random) * scale
    other = many if objective.pairwise else (torch.arange(n) % 2).float()
    return [one.to(dtype).requires_grad_(), other.to(dtype).requires_grad_(objective.pairwise)]


def _check_losses(objective: Objective) -> None:
    for n in (0, 1, 2, 65):
        losses = objective(*_inputs(objective, n))
        promise(
            losses.shape == (n,),
            f"an objective gives one loss for each interaction and reduces nothing: of {n} came the shape "
            f"{tuple(losses.shape)}.",
        )
        bounded = not getattr(objective, "below_zero", False)
        promise(not bounded or (losses >= 0).all(), "a loss is never below 0, unless `below_zero` is True.")
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        found = objective(*_inputs(objective, 9, dtype)).dtype
        promise(found == torch.float32, f"losses are float32 whatever the scores are: of {dtype} came {found}.")


def _check_large_scores(objective: Objective) -> None:
    scores, other = _inputs(objective, 64, scale=1e3)
    losses = objective(scores, other)
    promise(losses.isfinite().all(), "losses are finite at scores of a thousand.")
    promise(losses.requires_grad, "losses have gradients.")
    losses.sum().backward()
    promise(scores.grad is not None and scores.grad.isfinite().all(), "gradients are finite at scores of a thousand.")


def _check_independence(objective: Objective) -> None:
    scores, other = _inputs(objective, 64)
    together, order = objective(scores, other), torch.randperm(64, generator=generator())
    apart = torch.cat([objective(scores[row : row + 1], other[row : row + 1]) for row in range(64)])
    claim = "a loss does not depend on the others of the batch."
    promise(close(objective(scores[order], other[order]), together[order]), claim)
    promise(close(apart, together), claim)


def _check_direction(objective: Objective) -> None:
    scores, other = _inputs(objective, 64)
    if not objective.pairwise:
        # At what is liked, and below 1: a squared error grows beyond it.
        scores, other = scores.detach().clamp(max=0.9).requires_grad_(), torch.ones(64)
    (slopes,) = torch.autograd.grad(objective(scores, other).sum(), scores)
    promise((slopes <= 0).all(), "a higher score of what is liked never raises its loss.")


def _check_gradients(objective: Objective) -> None:
    given = _inputs(objective, 64, torch.float64)
    wanted = [tensor for tensor in given if tensor.requires_grad]
    found = torch.autograd.grad(objective(*given).sum(), wanted, allow_unused=True)
    for tensor, slopes in zip(wanted, found, strict=True):
        promise(slopes is not None, "losses have gradients for all scores, those of negatives too.")
        for column in range(1 if tensor.dim() == 1 else tensor.shape[1]):
            shift = torch.zeros_like(tensor)
            (shift if tensor.dim() == 1 else shift[:, column]).fill_(_STEP)
            higher, lower = (
                objective(*(one + sign * shift if one is tensor else one for one in given)) for sign in (1, -1)
            )
            quotient = (higher - lower) / (2 * _STEP)
            wrong = (quotient - (slopes if tensor.dim() == 1 else slopes[:, column])).abs() > _TOLERANCE
            promise(wrong.double().mean() <= _SHARE_AT_KINKS, "gradients are those of the losses.")
