"""`check_learner` finds what is wrong with a learner."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from recsieve.models import IALS, Fitting, Popularity
from recsieve.models.closed_form import ClosedForm
from recsieve.models.ials import Sweeps
from recsieve.models.popularity import PopularityScorer
from recsieve.testing import check_learner

SMALL = {"factors": 3, "sweeps": 4}


class ForgetfulSweeps(Sweeps):
    def load_state_dict(self, state):
        super().load_state_dict(state | {"items": state["items"] + 1e-6})


class LostStep(Sweeps):
    def load_state_dict(self, state):
        super().load_state_dict(state | {"step": 0})


class Overshooting(Sweeps):
    def advance(self):
        loss = super().advance()
        self.step += self.total
        return loss


class Stuck(Sweeps):
    def advance(self):
        loss = super().advance()
        self.step = 1
        return loss


@dataclass(frozen=True)
class Sweeping(IALS):
    """iALS whose fitting is another."""

    fitting: type[Fitting] = Sweeps

    def begin(self, split, run):
        return self.fitting(self.settled(split.train), split.train, run)


class Unseeded(IALS):
    def begin(self, split, run):
        return super().begin(split, replace(run, seed=int(torch.randint(1 << 40, ()))))


class WeighsOnes(Popularity):
    def solve(self, train):
        scorer = super().solve(train)
        scorer.popularity += 0.0 if train.weight is None else 1e-3
        return scorer


class IgnoresWeights(Popularity):
    def solve(self, train):
        return super().solve(replace(train, weight=None))


class Believes(Popularity):
    def restore(self, train, state):
        return PopularityScorer(train.n_users, state.get("popularity", torch.ones(train.n_items)).reshape(-1))


class Crashes(Popularity):
    def restore(self, train, state):
        if state["popularity"].shape != (train.n_items,):
            raise ValueError("no")
        return super().restore(train, state)


class RestoresOtherwise(Popularity):
    def restore(self, train, state):
        return super().restore(train, {"popularity": state["popularity"] + 1})


class NoNumbers(Popularity):
    def solve(self, train):
        counts = np.bincount(train.items, train.weight, minlength=train.n_items)
        return PopularityScorer(train.n_users, torch.from_numpy((1 - 1 / counts).astype(np.float32)))


class Choosy(Popularity):
    def accepts(self, denoiser):
        return False


class Nothing(Popularity):
    def begin(self, split, run):
        fitting = ClosedForm(lambda: self.solve(split.train))
        fitting.total = 0
        return fitting


def test_sound_learners_pass():
    check_learner(Popularity())
    check_learner(Sweeping(**SMALL))


@pytest.mark.parametrize(
    ("learner", "promise"),
    [
        (Sweeping(**SMALL, fitting=ForgetfulSweeps), "goes on from its state_dict"),
        (Sweeping(**SMALL, fitting=LostStep), "at the step where that was saved"),
        (Sweeping(**SMALL, fitting=Overshooting), "not beyond the total"),
        (Sweeping(**SMALL, fitting=Stuck), "goes on by a step or more"),
        (Unseeded(**SMALL), "one of the same seed"),
        (WeighsOnes(), "weights of 1 are the same as none"),
        (IgnoresWeights(), "weights of interactions change"),
        (Believes(), "restore refuses a state without 'popularity'"),
        (Crashes(), "by a RunError of one line"),
        (RestoresOtherwise(), "same scores to the bit"),
        (NoNumbers(), "without interactions"),
        (Choosy(), "accepts keep-all"),
        (Nothing(), "a total of 1 or more"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_broken_learner_is_told_in_one_sentence(learner, promise):
    with np.errstate(divide="ignore"), pytest.raises(AssertionError, match=promise) as raised:
        check_learner(learner)
    assert "\n" not in str(raised.value)


def test_a_learner_that_reads_a_damaged_state_as_it_is_is_found():
    class Widens(Popularity):
        def restore(self, train, state):
            return super().restore(train, {name: tensor.float() for name, tensor in state.items()})

    with pytest.raises(AssertionError, match="in which 'popularity' has another type"):
        check_learner(Widens())
