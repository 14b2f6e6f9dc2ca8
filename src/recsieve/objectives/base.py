"""The contract of an objective: scores in, one loss each out, nothing reduced."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

from torch import Tensor


class Pointwise(Protocol):
    """A loss for each scored pair, from its label: (n,), (n,) -> (n,)."""

    pairwise: ClassVar[bool] = False

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor: ...


class Pairwise(Protocol):
    """A loss for each positive, from its score and those of its negatives: (n,), (n, k) -> (n,)."""

    pairwise: ClassVar[bool] = True

    def __call__(self, positive: Tensor, negative: Tensor) -> Tensor: ...


Objective = Pointwise | Pairwise


class Losses(NamedTuple):
    """The losses of a batch: those that a denoiser judges, and those that are minimised; with two tasks they differ."""

    judged: Tensor  # (n,)
    minimised: Tensor  # (n,) with gradients
    rows: Tensor | None = None  # which rows of the batch they are of; None: all of them


def precise(scores: Tensor) -> Tensor:
    """Scores as float64, if the device supports it.

    A denoiser's choice depends on the last bit of losses that are nearly equal, as all are at first. Computed in
    float64 and rounded once, that bit does not depend on the vector instructions of the processor.
    """
    return scores if scores.device.type == "mps" else scores.double()
