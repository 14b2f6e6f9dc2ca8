"""Fused steps on several ranks, beside the same steps in one process."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.sharing import share_out
from recsieve.denoisers import KeepAll, Reweighted, Truncated
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS
from recsieve.objectives import BCE, BPR, Softmax
from recsieve.sampling import Sampler
from recsieve.training.gradient import layout_of
from recsieve.training.steps import make_stepper
from recsieve.training.steps.fused import FusedStep

STEPS = 40
CASES = [
    *((name, {}, BCE()) for name in ("gmf", "neumf", "cdae")),
    ("mf", {"dropout": 0.3, "l2": 0.01}, BCE()),
    ("mf", {"dropout": 0.0, "l2": 0.01}, BPR()),
    ("mf", {"dropout": 0.3, "l2": 0.0}, Softmax()),
]


class ByIds:
    """A strategy that looks at everything it is told, so that ranks have to tell it."""

    def weights(self, batch):
        return (
            (batch.users + batch.items + batch.ids) % 3 / 2 + batch.losses.argsort().argsort() / len(batch.labels)
        ).float()


STRATEGIES = [KeepAll(), Truncated(0.3, 20), Reweighted(0.4), ByIds()]


def steps_of(data, name, options, objective, denoiser, group, labels_of=lambda own: None, steps=STEPS):
    own = share_out(data, group)
    model = MODELS[name](own.csr, torch.Generator().manual_seed(0), factors=8, **options)
    stepper, optimizer = make_stepper(model, DenoisedLoss(denoiser, objective, group), 1e-3, "fused", group)
    layout = layout_of(model, objective, "paper")
    sampler = Sampler(own, seed=0, negatives=2, layout=layout, labels=labels_of(own))
    means, epoch = [], 0
    while len(means) < steps:
        for chunk in sampler.chunks(epoch, 64, 0, [3, sampler.steps_per_epoch(64)]):
            means += stepper.run(chunk).means
        epoch += 1
    optimizer.flush()
    stepper.gather(np.flatnonzero(own.user_counts()), with_moments=True)
    return means, {name: weight.clone() for name, weight in model.state_dict().items()}


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("denoiser", STRATEGIES, ids=lambda denoiser: type(denoiser).__name__)
@pytest.mark.parametrize(("name", "options", "objective"), CASES)
def test_fused_steps_of_ranks_are_those_of_one_process_to_rounding(
    small_data, in_ranks, name, options, objective, denoiser, n_ranks
):
    data = small_data(40, 30)
    asked = data, name, options, objective, denoiser
    means, weights = steps_of(*asked, SINGLE_PROCESS)
    first, *others = in_ranks(n_ranks, lambda group: steps_of(*asked, group))
    assert first[0] == pytest.approx(means, abs=1e-6)
    torch.testing.assert_close(first[1], weights, rtol=1e-4, atol=1e-5)
    for other_means, other_weights in others:
        assert other_means == first[0]
        assert all(torch.equal(weight, first[1][name]) for name, weight in other_weights.items())


@pytest.mark.parametrize("name", ["gmf", "cdae"])
def test_500_fused_steps_of_two_ranks_stay_within_a_hundred_thousandth_of_one_process(small_data, in_ranks, name):
    asked = small_data(40, 30), name, {}, BCE(), Truncated(0.3, 20)
    means, weights = steps_of(*asked, SINGLE_PROCESS, steps=500)
    for of_rank, other_weights in in_ranks(2, lambda group: steps_of(*asked, group, steps=500)):
        assert of_rank == pytest.approx(means, abs=1e-5)
        torch.testing.assert_close(other_weights, weights, rtol=0, atol=1e-5)


def weighted(data):
    return replace(data, weight=np.linspace(0.5, 1.5, len(data), dtype=np.float32))


def half_for_user_one(own):
    """Labels that are neither 0 nor 1, on one rank only."""
    return np.where(own.users == 1, 0.5, 1).astype(np.float32)


@pytest.mark.parametrize(
    ("change", "labels_of"),
    [(weighted, lambda own: None), (lambda data: data, half_for_user_one)],
    ids=["weights", "labels"],
)
def test_weights_and_labels_of_the_data_reach_the_strategy_on_every_rank(small_data, in_ranks, change, labels_of):
    asked = change(small_data(40, 30)), "gmf", {}, BCE(), Truncated(0.3, 20)
    means, weights = steps_of(*asked, SINGLE_PROCESS, labels_of)
    plain, _ = steps_of(small_data(40, 30), *asked[1:], SINGLE_PROCESS)
    assert means != pytest.approx(plain, abs=1e-4)
    for of_rank, other_weights in in_ranks(2, lambda group: steps_of(*asked, group, labels_of)):
        assert of_rank == pytest.approx(means, abs=1e-6)
        torch.testing.assert_close(other_weights, weights, rtol=1e-4, atol=1e-5)


def test_ranks_make_fused_steps_by_themselves(small_data):
    model = MODELS["gmf"](small_data().csr, torch.Generator())
    group = Communicator(1, 2)
    stepper, _ = make_stepper(model, DenoisedLoss(KeepAll(), group=group), 1e-3, "auto", group)
    assert isinstance(stepper, FusedStep)
