"""Every fast way to make a step equals the plain one."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from recsieve.denoisers import KeepAll, NegativeFeedback, RandomDrop, Reweighted, Truncated
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS
from recsieve.objectives import BCE, Square
from recsieve.sampling import Sampler
from recsieve.training.gradient import layout_of
from recsieve.training.steps import fused_cdae, fused_neumf, make_stepper
from recsieve.training.steps.autograd import AutogradStep
from recsieve.training.steps.fused import FusedStep

FUSED = ["gmf", "neumf", "cdae"]
STRATEGIES = [
    KeepAll(), Truncated(0.2, 50), Truncated(0.3, 4, "authors"), Reweighted(0.3), RandomDrop(0.2, 50),
    NegativeFeedback(0.3, 0.8),
]  # fmt: skip


def train(data, model, strategy, engine, steps=120, spread=0.3):
    model = MODELS[model](data.csr, torch.Generator().manual_seed(0))
    with torch.no_grad():  # spread the losses, so that T-CE's choice does not turn on the last bit
        for weight in model.parameters():
            weight.normal_(0, spread, generator=torch.Generator().manual_seed(1))
    loss = DenoisedLoss(strategy)
    step, optimizer = make_stepper(model, loss, 1e-3, engine)
    liked = (~data.is_false_positive).astype(np.float32) if isinstance(strategy, NegativeFeedback) else None
    sampler = Sampler(data, seed=0, layout=layout_of(model, BCE(), "paper"), labels=liked)
    batches = (batch for epoch in range(steps) for batch in sampler.batches(epoch, 64))
    trace = [step(batch) for _, batch in zip(range(steps), batches, strict=False)]
    optimizer.flush()
    return model, trace


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("model", FUSED)
def test_fused_steps_equal_dense_adam(small_data, model, strategy):
    compare(small_data(80, 60), model, strategy, "fused")


@pytest.mark.parametrize("model", ["neumf", "cdae"])
def test_fused_steps_on_two_cores_equal_dense_adam(small_data, monkeypatch, two_threads, model):
    monkeypatch.setattr(fused_cdae, "MANY_ROWS", 0)
    compare(small_data(80, 60), model, Truncated(0.2, 50), "fused")


@pytest.fixture
def two_threads():
    n_threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(n_threads)


@pytest.mark.parametrize("model", ["gmf", "neumf", "cdae"])
def test_lazy_rows_equal_dense_adam(small_data, model):
    compare(small_data(80, 60), model, Truncated(0.2, 50), "lazy")


@pytest.mark.parametrize("model", FUSED)
def test_given_weights_are_honoured_by_the_fused_step(small_data, model):
    data = small_data(80, 60)
    weight = np.random.default_rng(0).random(len(data)).astype(np.float32)
    compare(replace(data, weight=weight), model, Truncated(0.2, 50), "fused")


def compare(data, model, strategy, engine):
    expected, plain = train(data, model, strategy, "dense")
    found, fast = train(data, model, strategy, engine)
    for step, other in zip(plain, fast, strict=True):
        assert other.means == pytest.approx(step.means, abs=1e-6)
        torch.testing.assert_close(other.losses, step.losses, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(other.weights, step.weights, atol=1e-5, rtol=1e-5)
        assert torch.equal(other.ids, step.ids)
    for name, weight in expected.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], weight, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("model", FUSED)
def test_the_fused_step_is_taken_by_itself_where_it_applies_and_pays(small_data, monkeypatch, model):
    made = MODELS[model](small_data().csr, torch.Generator())
    pays = model != "neumf"  # whose tables are too small here
    assert isinstance(make_stepper(made, DenoisedLoss(KeepAll()), 1e-3, "auto")[0], FusedStep) == pays
    monkeypatch.setattr(fused_neumf, "LAZY_ROWS", 1)
    assert isinstance(make_stepper(made, DenoisedLoss(KeepAll()), 1e-3, "auto")[0], FusedStep)
    other_loss = DenoisedLoss(KeepAll(), Square())
    assert isinstance(make_stepper(made, other_loss, 1e-3, "auto")[0], AutogradStep)


@pytest.mark.parametrize("strategy", [Truncated(0.2, 50), Reweighted(0.3)], ids=str)
@pytest.mark.parametrize("model", FUSED)
def test_steps_in_one_go_equal_single_ones(small_data, model, strategy):
    (chunk,) = Sampler(small_data(80, 60), seed=0).chunks(0, 64, 0, [5])
    one, other = (
        make_stepper(
            MODELS[model](small_data(80, 60).csr, torch.Generator().manual_seed(0)),
            DenoisedLoss(strategy),
            1e-3,
            "fused",
        )[0]
        for _ in range(2)
    )
    at_once, steps = one.run(chunk), [other(batch) for batch in chunk.batches()]
    assert at_once.means == [mean for step in steps for mean in step.means]
    for name in ("losses", "weights", "ids"):
        assert torch.equal(getattr(at_once, name), torch.cat([getattr(step, name) for step in steps]))


def test_equal_losses_are_dropped_in_the_order_of_the_batch_by_every_engine(small_data):
    """At first all logits are zero, so which positives go is decided by ties alone."""
    data = small_data(40, 30)
    _, plain = train(data, "gmf", Truncated(0.2, 1), "dense", steps=1, spread=0.0)
    _, fused = train(data, "gmf", Truncated(0.2, 1), "fused", steps=1, spread=0.0)
    assert torch.equal(plain[0].weights, fused[0].weights)
    assert (plain[0].weights == 0).sum() == 12
