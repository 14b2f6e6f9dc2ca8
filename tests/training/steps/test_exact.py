"""The exact step, looked at closely: what it computes in float64, and where it rounds."""

from copy import deepcopy

import pytest
import torch

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.sharing import share_out
from recsieve.denoisers import KeepAll, Truncated
from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS
from recsieve.objectives import BCE
from recsieve.sampling import Sampler
from recsieve.training.gradient import layout_of
from recsieve.training.steps import make_stepper, weigh_batch
from recsieve.training.steps.autograd import AutogradStep
from recsieve.training.steps.exact import ExactStep


def make(name, data, denoiser):
    return MODELS[name](data.csr, torch.Generator().manual_seed(0)), DenoisedLoss(denoiser)


@pytest.mark.parametrize("name", ["gmf", "neumf", "nmtr"])  # torch's bags, and so CDAE's profiles, are float32
def test_gradients_are_those_of_float64_rounded_once(small_data, monkeypatch, name):
    data = small_data(40, 30)
    model, loss = make(name, data, KeepAll())
    plain, plain_loss = make(name, data, KeepAll())
    batch = next(Sampler(data, seed=0, layout=layout_of(model, BCE(), "paper")).batches(0, 64))
    step, optimizer = make_stepper(model, loss, 1e-3, "exact")
    rows = []
    monkeypatch.setattr(optimizer, "step_on_rows", rows.extend)
    (mean,) = step(batch).means

    for table in (module for module in plain.modules() if hasattr(module, "sparse")):
        table.sparse = False
    expected = weigh_batch(plain.double(), plain_loss, batch).mean()
    expected.backward()
    assert mean == pytest.approx(expected.item(), rel=1e-7)
    sums = {table: torch.zeros_like(table).double().index_add(0, where, values) for table, where, values in rows}
    for weight, plain_weight in zip(model.parameters(), plain.parameters(), strict=True):
        found = sums[weight] if weight in sums else weight.grad.double()
        torch.testing.assert_close(found, plain_weight.grad, rtol=2e-7, atol=1e-10)


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("name", ["gmf", "neumf", "cdae", "nmtr", "mf"])  # a rank has no whole graph
def test_parameters_have_the_same_bits_on_any_number_of_ranks(small_data, in_ranks, name, n_ranks):
    data = small_data(40, 30)

    def train(group):
        own = share_out(data, group)
        model, loss = make(name, own, Truncated(0.2, 5))
        loss.group = group
        step, optimizer = make_stepper(model, loss, 1e-2, "exact", group)
        means = [
            step(batch).means for batch in Sampler(own, seed=0, layout=layout_of(model, BCE(), "paper")).batches(0, 64)
        ]
        optimizer.flush()
        return means, model.state_dict()

    means, weights = train(SINGLE_PROCESS)
    for other_means, other_weights in in_ranks(n_ranks, train):
        assert other_means == means
        assert all(torch.equal(weight, weights[name]) for name, weight in other_weights.items())


def test_nothing_of_the_model_stays_float64(small_data):
    model, loss = make("gmf", small_data(), KeepAll())
    before = deepcopy(model.state_dict())
    step, _ = make_stepper(model, loss, 1e-3, "exact")
    stepped = step(next(Sampler(small_data(), seed=0).batches(0, 64)))
    users = torch.arange(3)
    found = [*model.parameters(), stepped.losses, stepped.weights, model(users, users)]
    assert {tensor.dtype for tensor in found} == {torch.float32}
    assert not any(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


def test_ranks_make_exact_steps_where_a_model_has_no_fused_ones_or_when_asked(small_data):
    model, loss = make("nmtr", small_data(), KeepAll())
    assert isinstance(make_stepper(model, loss, 1e-3, "auto", Communicator(1, 2))[0], ExactStep)
    assert isinstance(make_stepper(model, loss, 1e-3, "auto")[0], AutogradStep)
    with pytest.raises(ConfigError, match="engine is 'lazy', which works in one process only"):
        make_stepper(model, loss, 1e-3, "lazy", Communicator(1, 2))
    fused, loss = make("gmf", small_data(), KeepAll())
    assert isinstance(make_stepper(fused, loss, 1e-3, "exact", Communicator(1, 2))[0], ExactStep)
