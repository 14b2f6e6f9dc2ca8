"""`check_objective` finds what is wrong with an objective."""

from dataclasses import dataclass

import pytest
import torch
from torch.nn import functional

from recsieve.objectives import BCE, BPR
from recsieve.testing import check_objective


class Silent:
    def __call__(self, scores, labels):
        return BCE()(scores, labels)


class Reducing(BCE):
    def __call__(self, scores, labels):
        return super().__call__(scores, labels).mean()


class Column(BCE):
    def __call__(self, scores, labels):
        return super().__call__(scores, labels)[:, None]


class Unrounded(BCE):
    def __call__(self, scores, labels):
        return functional.binary_cross_entropy_with_logits(scores, labels, reduction="none")


class Overflowing(BCE):
    def __call__(self, scores, labels):
        return (1 + ((1 - 2 * labels) * scores).exp()).log().float()


class Together(BCE):
    def __call__(self, scores, labels):
        return super().__call__(scores, labels) / max(len(scores), 1)


class Backwards(BCE):
    def __call__(self, scores, labels):
        return super().__call__(-scores, labels)


class Negative(BCE):
    def __call__(self, scores, labels):
        return super().__call__(scores, labels) - 1


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, losses):
        return losses.clone()

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient


class WrongGradient(BCE):
    def __call__(self, scores, labels):
        return Doubled.apply(super().__call__(scores, labels))


@dataclass(frozen=True)
class OneSided(BPR):
    def __call__(self, positive, negative):
        return super().__call__(positive, negative.detach())


@pytest.mark.parametrize(
    ("objective", "promise"),
    [
        (Silent(), "whether it takes pairs"),
        (Reducing(), "reduces nothing"),
        (Column(), r"the shape \(0, 1\)"),
        (Unrounded(), "float32 whatever"),
        (Overflowing(), "finite at scores of a thousand"),
        (Together(), "does not depend on the others"),
        (Backwards(), "never raises its loss"),
        (Negative(), "never below 0"),
        (WrongGradient(), "gradients are those of the losses"),
        (OneSided(), "those of negatives too"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_objective_is_told_in_one_sentence(objective, promise):
    with pytest.raises(AssertionError, match=promise) as raised:
        check_objective(objective)
    assert "\n" not in str(raised.value)
