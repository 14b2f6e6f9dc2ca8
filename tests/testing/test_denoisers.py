"""`check_denoiser` finds what is wrong with a strategy."""

import pytest
import torch

from recsieve.denoisers import KeepAll, NextEpoch, Reweighted
from recsieve.testing import check_denoiser


class DropsNegatives(KeepAll):
    def weights(self, batch):
        return (batch.losses < 2).float()


class BelowZero(KeepAll):
    def weights(self, batch):
        return 1 - batch.losses


class First(KeepAll):
    def weights(self, batch):
        weights = torch.ones_like(batch.losses)
        weights[: int((batch.labels > 0).sum()) // 2] = 0.5
        return weights


class Chance(KeepAll):
    def weights(self, batch):
        return torch.rand(len(batch.losses))


class OneForAll(KeepAll):
    def weights(self, batch):
        return torch.ones(())


class Doubles(KeepAll):
    def weights(self, batch):
        return torch.ones(len(batch.losses), dtype=torch.float64)


class ChangesTheBatch(Reweighted):
    def weights(self, batch):
        batch.losses.mul_(2)
        return super().weights(batch)


class NeedsIds(KeepAll):
    def weights(self, batch):
        return torch.where(batch.ids >= 0, 0.5, 1.0)


class Remembers:
    """Weighs by how often an interaction was seen."""

    def __init__(self, context):
        self.seen = torch.zeros(context.n_interactions)

    def weights(self, batch):
        weights = torch.ones_like(batch.losses)
        if batch.ids is not None:
            known = batch.ids >= 0
            self.seen[batch.ids[known]] += 1
            weights[known] = 1 / self.seen[batch.ids[known]]
        return weights

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state):
        self.seen = state["seen"]


class Forgets:
    def __init__(self, context):
        self.memory = Remembers(context)

    def weights(self, batch):
        return self.memory.weights(batch)


class TakesNothingUp(Remembers):
    def load_state_dict(self, state):
        pass


class Relabels(Remembers):
    def end_epoch(self, memory):
        return NextEpoch(labels=(memory.losses < 2).float())


class AsksTooLittle(Remembers):
    def end_epoch(self, memory):
        return NextEpoch(labels=torch.ones(3))


class AsksForLabelsOfTwo(Remembers):
    def end_epoch(self, memory):
        return NextEpoch(labels=torch.full_like(memory.losses, 2))


class AsksForNaN(Remembers):
    def end_epoch(self, memory):
        return NextEpoch(weights=memory.losses * torch.nan)


class ChoosesOutside(Remembers):
    def end_epoch(self, memory):
        return NextEpoch(chosen=torch.tensor([64]))


class AsksForATensor(Remembers):
    def end_epoch(self, memory):
        return torch.ones(64)


@pytest.mark.parametrize("kind", [Remembers, Relabels])
def test_a_strategy_that_keeps_its_memory_passes(kind):
    check_denoiser(kind)


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (DropsNegatives, "negatives are never dropped"),
        (BelowZero, "weights are finite numbers from 0 on"),
        (First, "do not depend on the order"),
        (Chance, "chance that is not seeded"),
        (OneForAll, "one weight for each loss"),
        (Doubles, "of the type of the losses"),
        (ChangesTheBatch, "changes nothing in the batch"),
        (NeedsIds, "a batch without ids"),
        (Forgets, "was never stopped"),
        (TakesNothingUp, "was never stopped"),
        (AsksTooLittle, "one of `labels` for each interaction"),
        (AsksForLabelsOfTwo, "`labels` that are finite, from 0 to 1"),
        (AsksForNaN, "`weights` that are finite, from 0 on"),
        (ChoosesOutside, "chooses interactions by their numbers"),
        (AsksForATensor, "gives a NextEpoch, or None"),
    ],
)
def test_a_broken_strategy_is_told_in_one_sentence(kind, promise):
    with pytest.raises(AssertionError, match=promise) as raised:
        check_denoiser(lambda context: kind() if issubclass(kind, KeepAll | Reweighted) else kind(context))
    assert "\n" not in str(raised.value)
