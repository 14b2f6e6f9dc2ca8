"""`check_model` finds what is wrong with a model that is trained by gradients."""

import pytest
import torch
from torch import nn

from recsieve.models import MF, Model
from recsieve.models.base import embedding
from recsieve.models.scorer import Factors
from recsieve.objectives import BPR
from recsieve.testing import check_model


class Plain(Model):
    """A dot product with a score of its own."""

    def __init__(self, profiles, generator, *, factors=4):
        super().__init__(profiles)
        self.user = embedding("users", profiles, factors, generator)
        self.item = embedding("items", profiles, factors, generator)

    def forward(self, users, items):
        return (self.user(users) * self.item(items)).sum(-1)

    @torch.no_grad()
    def score(self, users):
        return self.user.weight[users] @ self.item.weight.T


class ScoresOtherwise(Plain):
    def score(self, users):
        return super().score(users) + torch.arange(self.n_items)


class FactorsOtherwise(Plain):
    def factors(self, users):
        return Factors(self.user.weight[users], self.item.weight, constant=1.0)


class ScoresWithGradients(Plain):
    def score(self, users):
        return self.user.weight[users] @ self.item.weight.T


class ScoresByPlace(Plain):
    def score(self, users):
        return super().score(users) + torch.arange(len(users))[:, None]


class ScoresWhatItKeeps(Plain):
    def score(self, users):
        if not hasattr(self, "kept"):
            self.kept = super().score(torch.arange(self.n_users))
        return self.kept[: len(users)] if len(users) == self.n_users else self.kept[users]


class LeavesTraining(Plain):
    def score(self, users):
        self.eval()
        return super().score(users)


class OneTooMany(Plain):
    def forward(self, users, items):
        return super().forward(users, items)[:, None]


class OwnChance(Plain):
    def __init__(self, profiles, generator):
        super().__init__(profiles, generator)
        nn.init.normal_(self.user.weight)


class WholeTable(Plain):
    def forward(self, users, items):
        return super().forward(users, items) + self.item.weight.mean()

    def score(self, users):
        return super().score(users) + self.item.weight.mean().detach()


class UnseededDropout(Plain):
    def forward(self, users, items):
        return nn.functional.dropout(super().forward(users, items), 0.5, self.training)


def test_a_sound_model_passes_also_with_dense_tables():
    class Dense(Plain):
        def __init__(self, profiles, generator):
            super().__init__(profiles, generator)
            self.item.sparse = False

        def forward(self, users, items):
            return super().forward(users, items) + self.item.weight.mean()

        def score(self, users):
            return super().score(users) + self.item.weight.mean().detach()

    check_model(Plain, {"factors": 3}, BPR())
    check_model(Dense)


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (ScoresOtherwise, "those that forward gives the pairs"),
        (FactorsOtherwise, "the product of the factors is the score"),
        (ScoresWithGradients, "records no gradients"),
        (ScoresByPlace, "any order, and again"),
        (ScoresWhatItKeeps, "memory of their own"),
        (LeavesTraining, "leaves the training mode"),
        (OneTooMany, "one score a pair"),
        (OwnChance, "numbers of the generator"),
        (WholeTable, "read by lookups only"),
        (UnseededDropout, "trains to the same scores|to the bit"),
        (nn.Module, "is a recsieve.models.Model"),
    ],
)
def test_a_broken_model_is_told_in_one_sentence(kind, promise):
    with pytest.raises(AssertionError, match=promise) as raised:
        check_model(kind)
    assert "\n" not in str(raised.value)


def test_a_model_that_keeps_what_it_prepared_through_training_is_found():
    class Stale(MF):
        """Prepares once, and never again."""

        def factors(self, users):
            if not hasattr(self, "kept"):
                self.kept = self.user.weight.detach().clone(), self.item.weight.detach().clone()
            return Factors(self.kept[0][users], self.kept[1])

    with pytest.raises(AssertionError, match="scores are of the step"):
        check_model(Stale)
