"""MF: its dropout and penalty, and its fused steps beside autograd."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from recsieve.denoisers import KeepAll, RandomDrop, Reweighted, Truncated
from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.models import MF, Run
from recsieve.objectives import BCE, BPR, Hinge, Softmax, Square
from recsieve.sampling import Sampler
from recsieve.training import TrainingPlan
from recsieve.training.learner import GradientLearner
from recsieve.training.steps import make_stepper

OPTIONS = {"plain": {}, "dropout and l2": {"dropout": 0.5, "l2": 0.01}}


class ByBatch(RandomDrop):
    """A strategy that the kernels do not know, with a mean over all of the batch."""

    divides_by = "batch"


STRATEGIES = [KeepAll(), Truncated(0.2, 50), Reweighted(0.3), ByBatch(0.2, 50)]


def make(data, spread=0.3, **options):
    model = MF(data.csr, torch.Generator().manual_seed(0), factors=8, **options)
    with torch.no_grad():  # spread the losses, so that what T-CE drops does not turn on the last bit
        for weight in model.parameters():
            weight.normal_(0, spread, generator=torch.Generator().manual_seed(1))
    return model


def trained(data, objective, strategy, engine, *, in_one_go=False, labels=None, **options):
    model, loss = make(data, **options), DenoisedLoss(strategy, objective)
    stepper, optimizer = make_stepper(model, loss, 1e-3, engine)
    sampler, steps = Sampler(data, seed=0, negatives=3, labels=labels), []
    for epoch in range(6):
        n = sampler.steps_per_epoch(96)
        for chunk in sampler.chunks(epoch, 96, 0, [n]):
            steps += [stepper.run(chunk)] if in_one_go else map(stepper, chunk.batches())
    optimizer.flush()
    return model, [torch.tensor([mean for step in steps for mean in step.means]).float()] + [
        torch.cat([getattr(step, name) for step in steps]) for name in ("losses", "weights", "ids")
    ]


def assert_equal(one, two, tolerance=1e-5):
    for expected, found in zip(one[1], two[1], strict=True):
        torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)
    for name, weight in one[0].state_dict().items():
        torch.testing.assert_close(two[0].state_dict()[name], weight, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
@pytest.mark.parametrize("objective", [BCE(), BPR(), Softmax(0.5)], ids=str)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_fused_steps_equal_autograd_over_a_hundred_steps(small_data, objective, strategy, options):
    data = small_data(80, 60)
    plain = trained(data, objective, strategy, "lazy", **options)
    assert len(plain[1][0]) > 100
    assert_equal(plain, trained(data, objective, strategy, "fused", in_one_go=True, **options))


@pytest.mark.parametrize("objective", [BCE(), BPR(), Softmax(0.5)], ids=str)
def test_fused_steps_in_one_go_equal_single_ones_to_the_bit(small_data, objective):
    data, options = small_data(80, 60), {"dropout": 0.5, "l2": 0.01}
    one, two = (
        trained(data, objective, Truncated(0.2, 50), "fused", in_one_go=at_once, **options) for at_once in (False, True)
    )
    assert all(map(torch.equal, one[1], two[1]))
    assert torch.equal(one[0].item.weight, two[0].item.weight)


@pytest.mark.parametrize("strategy", STRATEGIES[:2], ids=lambda strategy: type(strategy).__name__)
def test_given_weights_labels_and_users_who_have_every_item_are_treated_alike(small_data, strategy):
    data = small_data(80, 60)
    rng = np.random.default_rng(0)
    everything = np.arange(60, dtype=np.int32)
    data = replace(
        data,
        users=np.concatenate([data.users[data.users > 0], np.zeros(60, np.int32)]),
        items=np.concatenate([data.items[data.users > 0], everything]),
        false_positive=None,
    )
    data = replace(data, weight=rng.random(len(data)).astype(np.float32))
    labels = (rng.random(len(data)) > 0.2).astype(np.float32)
    one, two = (trained(data, BPR(), strategy, engine, in_one_go=True, labels=labels) for engine in ("lazy", "fused"))
    assert_equal(one, two)
    assert (one[1][2] == 0).any()


@pytest.mark.parametrize("objective", [BCE(), Square(), Hinge(), BPR(), Softmax()], ids=str)
def test_every_objective_trains(small_data, objective):
    means = trained(small_data(40, 30), objective, KeepAll(), "auto", dropout=0.2, l2=1e-3)[1][0]
    assert means.isfinite().all()
    assert means[-5:].mean() < means[:5].mean()


@pytest.mark.parametrize("engine", ["fused", "lazy", "exact"])
def test_a_resumed_training_draws_the_same_dropout_to_the_bit(split, engine):
    plan = TrainingPlan(epochs=3, batch_size=64, negatives=2, checkpoint_every=3, engine=engine)
    learner = GradientLearner(MF, {"factors": 8, "dropout": 0.5, "l2": 0.01}, plan, Softmax())

    def begin():
        return learner.begin(split, Run(0, lambda context: KeepAll()))

    whole, first = begin(), begin()
    while first.step % first.steps_per_epoch != 3:
        first.advance()
    rest = begin()
    rest.load_state_dict(first.state_dict())
    expected, found = whole.finish().state_dict(), rest.finish().state_dict()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_dropout_leaves_out_its_share_in_training_only_and_keeps_the_mean(small_data):
    model = make(small_data(), dropout=0.4)
    rows = torch.arange(30).repeat(2)
    kept = torch.cat([(model.dropout_draw.add_(1), model._kept(rows, 8))[1] for _ in range(50)])
    assert (kept > 0).float().mean() == pytest.approx(0.6, abs=0.02)
    assert torch.equal(kept[:30], kept[30:60])  # a vector that comes twice
    users, items = torch.arange(4), torch.arange(4)
    assert not torch.equal(model(users, items), model(users, items))
    model.eval()
    assert torch.equal(model(users, items), model(users, items))


def test_the_penalty_is_the_mean_square_of_the_batchs_vectors_and_is_shared_over_ranks(small_data):
    data = small_data()
    model, batch = make(data, l2=0.1), Sampler(data, seed=0).draw(0, 0, 20)
    expected = 0.1 * (model.user(batch.users).square().sum() + model.item(batch.items).square().sum()) / 20
    torch.testing.assert_close(model.penalty(batch), expected)
    parts = [replace(batch.take(rows), n_all=20) for rows in (slice(0, 7), slice(7, 20))]
    torch.testing.assert_close(sum(map(model.penalty, parts)), expected)
    assert make(data).penalty(batch) is None


@pytest.mark.parametrize(("options", "said"), [({"dropout": 1.0}, "dropout is 1.0"), ({"l2": -1.0}, "l2 is -1.0")])
def test_options_out_of_range_are_told(small_data, options, said):
    with pytest.raises(ConfigError, match=said):
        make(small_data(), **options)


def test_an_item_is_most_like_itself(small_data):
    model = make(small_data())
    assert torch.equal(model.similar(torch.tensor([3, 7])).argmax(dim=1), torch.tensor([3, 7]))
