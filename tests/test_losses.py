import pytest
import torch
from torch.nn import functional

from recsieve.communicator import SINGLE_PROCESS
from recsieve.denoisers import EpochMemory, KeepAll, NextEpoch, Reweighted, Truncated
from recsieve.errors import ConfigError
from recsieve.losses import (
    DenoisedLoss,
    ReweightedBCE,
    ReweightedBPR,
    ReweightedHinge,
    ReweightedSoftmax,
    ReweightedSquare,
    TruncatedBCE,
    TruncatedBPR,
    TruncatedHinge,
    TruncatedSoftmax,
    TruncatedSquare,
    WeighedLosses,
)
from recsieve.objectives import BPR, Losses

TRUNCATED = [TruncatedBCE, TruncatedSquare, TruncatedHinge, TruncatedBPR, TruncatedSoftmax]
REWEIGHTED = [ReweightedBCE, ReweightedSquare, ReweightedHinge, ReweightedBPR, ReweightedSoftmax]


def batch(n=64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, generator=generator, requires_grad=True)
    return logits, (torch.rand(n, generator=generator) < 0.5).float()


def inputs_of(loss, n=64, dtype=torch.float32):
    """Scores and labels, or the scores of positives and of their negatives."""
    scores, labels = batch(n)
    if not loss.objective.pairwise:
        return scores.detach().to(dtype).requires_grad_(), labels
    negative = torch.randn(n, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float32)
    return scores.detach().to(dtype).requires_grad_(), negative.to(dtype).requires_grad_()


def plain_losses(loss, one, other):
    """Each objective as it is written in the literature."""
    names = {"BCE": lambda s, y: -(y * torch.sigmoid(s).log() + (1 - y) * (1 - torch.sigmoid(s)).log()),
             "Square": lambda s, y: (s - y) ** 2,
             "Hinge": lambda s, y: torch.relu(1 - torch.where(y > 0, 1.0, -1.0) * s),
             "BPR": lambda p, n: -torch.sigmoid(p[:, None] - n).log().mean(1),
             "Softmax": lambda p, n: -(p.exp() / (p.exp() + n.exp().sum(1))).log()}  # fmt: skip
    return names[type(loss.objective).__name__](one, other)


def gradient(value, logits):
    return torch.autograd.grad(value, logits)[0]


def test_truncated_has_the_gradient_of_the_mean_over_what_is_kept():
    logits, labels = batch()
    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    positives = labels.nonzero().flatten()
    hardest = positives[losses[positives].argsort(descending=True)[:12]]  # 0.2 · 64 = 12.8
    kept = torch.ones(64, dtype=torch.bool).index_fill(0, hardest, False)
    expected = losses[kept].mean()
    loss = TruncatedBCE(max_drop_rate=0.2, ramp_steps=1)(logits, labels)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradient(loss, logits), gradient(expected, logits))


def test_reweighted_has_the_gradient_of_the_formula_with_fixed_weights():
    logits, labels = batch()
    probability = torch.sigmoid(logits)
    weights = torch.where(labels > 0, probability, 1 - probability).detach() ** 0.3
    expected = (weights * functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")).mean()
    loss = ReweightedBCE(beta=0.3)(logits, labels)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradient(loss, logits), gradient(expected, logits))


def test_keep_all_is_plain_cross_entropy():
    logits, labels = batch()
    torch.testing.assert_close(
        DenoisedLoss(KeepAll())(logits, labels), functional.binary_cross_entropy_with_logits(logits, labels)
    )


def test_the_first_step_is_step_one_and_only_training_advances_it():
    loss = TruncatedBCE(0.2, 10)
    logits, labels = batch()
    loss(logits, labels)
    assert loss.step == 1
    loss.eval()(logits, labels)
    assert loss.step == 1


def test_evaluation_uses_the_drop_rate_of_the_last_step():
    loss = TruncatedBCE(0.5, 2)
    logits, labels = batch()
    loss(logits, labels)
    trained = loss(logits, labels)
    torch.testing.assert_close(loss.eval()(logits, labels), trained)


@pytest.mark.parametrize("loss", [TruncatedBCE(0.5, 1), ReweightedBCE()])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_a_batch_of_one_has_a_finite_loss_and_gradient(loss, label):
    logits = torch.zeros(1, requires_grad=True)
    value = loss(logits, torch.tensor([label]))
    assert torch.isfinite(value)
    assert torch.isfinite(gradient(value, logits)).all()


def test_a_batch_of_which_all_is_dropped_has_loss_zero():
    loss = DenoisedLoss(Truncated(0.9, 1))
    logits = torch.zeros(10, requires_grad=True)
    kept_one = loss(logits, torch.ones(10))
    assert torch.isfinite(kept_one)
    assert loss(logits, torch.ones(10), weight=torch.zeros(10)).item() == 0


def test_under_autocast_the_loss_is_float32_and_close():
    logits, labels = batch()
    plain = TruncatedBCE(0.2, 1)(logits, labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = TruncatedBCE(0.2, 1)(logits.bfloat16(), labels)
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, plain, atol=0.02, rtol=0.02)


def test_the_step_travels_through_state_dict():
    loss, other = TruncatedBCE(0.2, 10), TruncatedBCE(0.2, 10)
    loss(*batch())
    other.load_state_dict(loss.state_dict())
    assert other.step == 1


def test_given_weights_multiply_those_of_the_strategy():
    logits, labels = batch(4)
    given = torch.tensor([2.0, 0.0, 1.0, 1.0])
    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    value = DenoisedLoss(KeepAll())(logits, labels, weight=given)
    torch.testing.assert_close(value, (given * losses).sum() / 3)


def test_shapes_that_would_broadcast_are_refused():
    with pytest.raises(ConfigError, match="two tensors of one shape"):
        TruncatedBCE()(torch.zeros(4, 1), torch.zeros(4))
    for negative in (torch.zeros(3, 2), torch.zeros(4, 0), torch.zeros(8)):
        with pytest.raises(ConfigError, match=r"give \(n,\) and \(n, k\)"):
            TruncatedBPR()(torch.zeros(4), negative)


@pytest.mark.parametrize("make", TRUNCATED)
def test_every_truncated_loss_has_the_gradient_of_the_mean_over_what_is_kept(make):
    loss = make(max_drop_rate=0.2, ramp_steps=1)
    one, other = inputs_of(loss)
    losses = plain_losses(loss, one, other)
    positives = torch.arange(64) if loss.objective.pairwise else other.nonzero().flatten()
    hardest = positives[losses[positives].argsort(descending=True)[:12]]
    expected = losses[torch.ones(64, dtype=torch.bool).index_fill(0, hardest, False)].mean()
    assert_same(loss(one, other), expected, one, other)


@pytest.mark.parametrize("make", REWEIGHTED)
def test_every_reweighted_loss_has_the_gradient_of_the_formula_with_fixed_weights(make):
    loss = make(beta=0.3)
    one, other = inputs_of(loss)
    losses = plain_losses(loss, one, other)
    assert_same(loss(one, other), ((-0.3 * losses.detach()).exp() * losses).mean(), one, other)


def assert_same(found, expected, *inputs):
    torch.testing.assert_close(found, expected)
    for given in inputs:
        if given.requires_grad:
            torch.testing.assert_close(
                *(torch.autograd.grad(v, given, retain_graph=True)[0] for v in (found, expected))
            )


@pytest.mark.parametrize("make", [TruncatedBCE, TruncatedHinge, TruncatedSquare])
def test_scores_of_users_by_items_are_one_batch(make):
    scores, labels = batch()
    expected = make(0.2, 1)(scores, labels)
    matrix = scores.detach().reshape(8, 8).requires_grad_()
    found = make(0.2, 1)(matrix, labels.reshape(8, 8), weight=torch.ones(8, 8), ids=torch.arange(64).reshape(8, 8))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient(found, matrix).flatten(), gradient(expected, scores))


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.uint8, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("make", [TruncatedBCE, ReweightedBCE, TruncatedHinge, TruncatedSquare])
def test_labels_of_any_type_mean_the_same(make, kind):
    scores, labels = batch()
    found = make()(scores, labels.to(kind))
    assert found.dtype == torch.float32
    assert torch.equal(found, make()(scores, labels))


POINTWISE = [TruncatedBCE, TruncatedSquare, TruncatedHinge, ReweightedBCE, ReweightedSquare, ReweightedHinge]


@pytest.mark.parametrize("wrong", [-1.0, 5.0, float("nan")])
@pytest.mark.parametrize("make", [*POINTWISE, lambda: DenoisedLoss(KeepAll())])
def test_labels_that_are_not_from_0_to_1_are_refused(make, wrong):
    scores, labels = batch()
    with pytest.raises(ConfigError, match=r"labels are from .* give numbers from 0 to 1"):
        make()(scores, labels.index_fill(0, torch.tensor([7]), wrong))


@pytest.mark.parametrize("make", POINTWISE)
def test_soft_labels_and_an_empty_batch_have_a_loss(make):
    scores, labels = batch()
    assert make()(scores, 0.1 + 0.8 * labels).isfinite()
    assert make()(scores[:0], labels[:0]).item() == 0


@pytest.mark.parametrize("make", [TruncatedBPR, ReweightedSoftmax])
def test_positive_and_negative_scores_may_have_any_number_of_negatives(make):
    loss = make()
    positive, negative = inputs_of(loss)
    assert loss(positive, negative[:, 0]).isfinite()  # one each
    torch.testing.assert_close(make()(positive, negative[:, 0]), make()(positive, negative[:, :1]))
    torch.testing.assert_close(make()(positive[:, None], negative), make()(positive, negative))


def test_a_weight_goes_with_each_positive_and_its_negatives():
    loss = DenoisedLoss(KeepAll(), BPR())
    positive, negative = inputs_of(loss, 4)
    given = torch.tensor([2.0, 0.0, 1.0, 1.0])
    expected = (given * plain_losses(loss, positive, negative)).sum() / 3
    torch.testing.assert_close(loss(positive, negative, weight=given), expected)


def test_under_a_pairwise_objective_a_label_of_0_has_no_weight():
    loss, losses = DenoisedLoss(KeepAll(), BPR()), torch.tensor([1.0, 2.0, 3.0])
    weighed = loss.weigh(Losses(losses, losses), torch.tensor([1.0, 0.0, 0.3]))
    assert weighed.weights.tolist() == [1, 0, 1]
    assert weighed.mean().item() == 2


@pytest.mark.parametrize("make", [*TRUNCATED, *REWEIGHTED])
def test_every_loss_is_float32_and_close_under_autocast(make):
    plain = make()(*inputs_of(make()))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        one, other = inputs_of(make(), dtype=torch.bfloat16)
        half = make()(one, other)
        half.backward()
    assert half.dtype == torch.float32
    assert one.grad.dtype == torch.bfloat16
    torch.testing.assert_close(half, plain, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("make", [TruncatedBCE, ReweightedBPR])
def test_compiled_a_loss_gives_the_same_and_is_not_compiled_anew_at_each_step(make):
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters
    loss, plain = make(), make()
    layer = torch.nn.Linear(1, 1)

    def step(one, other):
        return loss(layer(one[:, None]).squeeze(1), other)

    compiled = torch.compile(step, backend="eager")
    graphs = []
    for _ in range(6):
        one, other = (given.detach() for given in inputs_of(loss))
        found = compiled(one, other)
        torch.testing.assert_close(found, plain(layer(one[:, None]).squeeze(1), other))
        graphs.append(counters["stats"]["unique_graphs"])
    assert loss.step == 6
    assert graphs[0] > 0
    assert graphs[-1] == graphs[1], "a graph at each step"


def test_fidelity_counts_and_rounds_as_the_authors_code():
    logits, labels = batch()
    paper, authors = TruncatedBCE(0.21, 1), TruncatedBCE(0.21, 1, fidelity="authors")
    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    hardest = losses.masked_fill(labels == 0, -1).argsort(descending=True)
    assert authors(logits, labels) == losses.mean()  # the first of its steps drops nothing
    for loss, n_dropped in ((paper, 13), (authors, 14)):  # 64 · 0.21 = 13.44
        kept = torch.ones(64).index_fill(0, hardest[:n_dropped], 0.0)
        torch.testing.assert_close(loss(logits, labels), (kept * losses).sum() / kept.sum())


@pytest.mark.parametrize("kind", [*TRUNCATED, *REWEIGHTED])
def test_every_loss_has_the_defaults_and_the_fidelity_of_its_strategy(kind):
    strategy = Truncated if kind in TRUNCATED else Reweighted
    assert kind().denoiser == strategy()
    assert kind(fidelity="authors").denoiser == strategy(fidelity="authors")


def test_a_strategy_may_divide_by_the_batch():
    class Halves:
        divides_by = "batch"

        def weights(self, batch):
            return (torch.arange(len(batch.losses)) % 2).float()

    logits, labels = batch()
    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    torch.testing.assert_close(DenoisedLoss(Halves())(logits, labels), losses[1::2].sum() / 64)


def test_a_group_selects_over_the_batch_of_all_ranks_and_their_mean_gradient_is_that_of_one(in_ranks):
    """As in DistributedDataParallel, which averages the gradients that the ranks have."""
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(24, generator=generator), (torch.arange(24) % 2).float()
    parts = [slice(0, 15), slice(15, 18), slice(18, 24)]  # ranks may have different numbers of rows

    def gradient(group, part):
        own = logits[part].clone().requires_grad_()
        loss = DenoisedLoss(Truncated(0.25, 1), group=group)
        value = loss(own, labels[part])
        value.backward()
        return value.item(), own.grad

    alone, whole = gradient(SINGLE_PROCESS, slice(None))
    found = in_ranks(3, lambda group: gradient(group, parts[group.rank]))
    assert sum(value for value, _ in found) / 3 == pytest.approx(alone)
    torch.testing.assert_close(torch.cat([own for _, own in found]) / 3, whole)
    assert (whole == 0).sum() == 6  # what was dropped, wherever it was


def test_places_bring_the_batch_of_all_ranks_into_its_order(in_ranks):
    """The first of equal losses goes, so that the order decides."""
    seen = []

    class Remember:
        def weights(self, batch):
            seen.append(batch)
            return torch.ones_like(batch.losses)

    def weigh(group):
        own = torch.arange(group.rank, 10, 2)
        loss = DenoisedLoss(Remember(), group=group)
        about = {"users": own.int(), "items": own.int(), "ids": own - 1, "sample_weights": own.float()}
        return loss.weigh(Losses(own.float(), own.float()), torch.ones(5), **about, positions=own, n_all=10)

    for rank, weighed in enumerate(in_ranks(2, weigh)):
        assert weighed.weights.tolist() == list(range(rank, 10, 2))
        assert weighed.divisor == 9  # the given weight of the first is 0
    for batch in seen:
        assert batch.users.tolist() == list(range(10))
        assert batch.items.tolist() == list(range(10))
        assert batch.ids.tolist() == list(range(-1, 9))
        assert batch.users.dtype == torch.int32


class Asking:
    """A strategy that keeps what it was shown."""

    def weights(self, batch):
        self.batch = batch
        return torch.ones_like(batch.losses)


def test_users_items_and_ids_reach_the_strategy_as_one_row_each():
    asking = Asking()
    table = torch.arange(4).reshape(2, 2)
    DenoisedLoss(asking)(torch.zeros(2, 2), torch.ones(2, 2), users=table, items=table + 4, ids=table + 8)
    assert asking.batch.users.tolist() == [0, 1, 2, 3]
    assert asking.batch.items.tolist() == [4, 5, 6, 7]
    assert asking.batch.ids.tolist() == [8, 9, 10, 11]


def test_without_them_the_strategy_is_told_that_there_are_none():
    asking = Asking()
    DenoisedLoss(asking)(torch.zeros(2), torch.ones(2))
    assert (asking.batch.users, asking.batch.items, asking.batch.ids) == (None, None, None)


def test_losses_that_nobody_names_are_of_no_interaction_and_of_one_rank():
    weighed = WeighedLosses(torch.tensor([2.0, 4.0]), torch.ones(2), torch.tensor(2))
    assert (weighed.ids, weighed.ranks) == (None, 1)
    assert weighed.mean() == 3


def test_the_mean_of_a_rank_is_as_many_times_its_share_as_there_are_ranks():
    for ranks in (2, 3):
        weighed = WeighedLosses(torch.tensor([2.0, 4.0]), torch.ones(2), torch.tensor(4), ranks=ranks)
        assert weighed.mean() == 1.5 * ranks


def test_a_single_kept_loss_is_its_own_mean():
    assert WeighedLosses(torch.tensor([2.0, 4.0]), torch.tensor([0.0, 1.0]), torch.tensor(1)).mean() == 4


def test_before_any_training_the_rate_is_that_of_the_first_step():
    loss = DenoisedLoss(Truncated(0.5, 2)).eval()
    scores = torch.tensor([-3.0, 0.0, 1.0, 2.0])
    losses = functional.binary_cross_entropy_with_logits(scores, torch.ones(4), reduction="none")
    assert loss(scores, torch.ones(4)) == losses[1:].mean()  # one of four


def remembering(n_interactions=4):
    loss = DenoisedLoss(Truncated(0.5, 1))
    loss.memory = EpochMemory(n_interactions)
    return loss


def test_a_training_step_is_remembered_by_interaction_and_one_of_validation_is_not():
    loss, scores, ids = remembering(), torch.tensor([2.0, -2.0]), torch.tensor([3, 1])
    loss(scores, torch.ones(2), ids=ids)
    expected = functional.binary_cross_entropy_with_logits(scores, torch.ones(2), reduction="none")
    assert torch.equal(loss.memory.losses[[3, 1]], expected)
    assert loss.memory.weights[[3, 1]].tolist() == [1.0, 0.0]  # the larger loss was dropped
    assert loss.memory.losses[[0, 2]].isnan().all()
    loss.eval()
    loss(scores - 5, torch.ones(2), ids=ids)
    assert torch.equal(loss.memory.losses[[3, 1]], expected)


def test_a_batch_without_ids_is_not_remembered():
    loss = remembering()
    loss(torch.zeros(2), torch.ones(2))
    assert loss.memory.losses.isnan().all()


class LookingBack(Asking):
    """A strategy that asks for other weights after an epoch."""

    seen = 0

    def end_epoch(self, memory):
        self.means = memory.losses.clone()
        return NextEpoch(weights=torch.full((4,), 0.5))

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state):
        self.seen = state["seen"]


def test_at_the_end_of_an_epoch_the_strategy_looks_back_and_the_memory_is_emptied():
    loss = DenoisedLoss(LookingBack())
    loss.memory = EpochMemory(4)
    loss(torch.zeros(2), torch.ones(2), ids=torch.tensor([0, 2]))
    assert loss.end_epoch().weights.tolist() == [0.5] * 4
    assert loss.denoiser.means[[0, 2]].tolist() == pytest.approx([0.6931472] * 2)
    assert loss.memory.losses.isnan().all()


def test_without_a_memory_nobody_looks_back():
    assert DenoisedLoss(LookingBack()).end_epoch() is None


def test_memory_and_step_of_a_loss_travel_through_its_state():
    loss, other = DenoisedLoss(LookingBack()), DenoisedLoss(LookingBack())
    for one in (loss, other):
        one.memory = EpochMemory(4)
    loss(torch.zeros(2), torch.ones(2), ids=torch.tensor([0, 2]))
    loss.denoiser.seen = 7
    other.set_extra_state(loss.get_extra_state())
    assert (other.step, other.denoiser.seen) == (1, 7)
    assert torch.equal(other.memory.sums, loss.memory.sums)
    loss.memory.clear()
    assert other.memory.sums.any()  # a state is a copy


@pytest.mark.parametrize("step", [-1, "1", 1.5, None])
def test_a_step_that_is_no_count_is_refused(step):
    with pytest.raises(ValueError, match="step"):
        DenoisedLoss(KeepAll()).set_extra_state({"step": step, "memory": {}})


def test_the_first_step_may_be_0():
    loss = DenoisedLoss(KeepAll())
    loss.set_extra_state({"step": 0, "memory": {}})
    assert loss.step == 0


@pytest.mark.parametrize("make", TRUNCATED)
def test_a_truncated_loss_has_the_papers_schedule_unless_told_otherwise(make):
    assert make().denoiser == Truncated(0.2, 30_000, "paper", 1.0)
    assert make(0.1, 7).denoiser == Truncated(0.1, 7)


@pytest.mark.parametrize("make", REWEIGHTED)
def test_a_reweighted_loss_has_a_power_of_a_fifth_unless_told_otherwise(make):
    assert make().denoiser == Reweighted(0.2, "paper")
    assert make(0.7).denoiser == Reweighted(0.7)


def test_further_options_reach_strategy_and_objective():
    assert TruncatedBCE(0.1, 7, "authors", 2.0).denoiser == Truncated(0.1, 7, "authors", 2.0)
    assert ReweightedBCE(0.1, "authors").denoiser == Reweighted(0.1, "authors")
    for make in (TruncatedSoftmax, ReweightedSoftmax):
        assert make().objective.temperature == 1
        assert make(temperature=0.2).objective.temperature == 0.2


def test_a_printed_loss_shows_its_options():
    assert repr(TruncatedBCE(0.1, 5)) == (
        "TruncatedBCE(max_drop_rate=0.1, ramp_steps=5, fidelity='paper', exponent=1.0)"
    )
    assert repr(ReweightedSoftmax(0.3, 0.2)) == "ReweightedSoftmax(beta=0.3, fidelity='paper', temperature=0.2)"
    assert repr(TruncatedSoftmax(temperature=0.2)).endswith("fidelity='paper', exponent=1.0, temperature=0.2)")
    assert repr(ReweightedHinge(beta=0.3)) == "ReweightedHinge(beta=0.3, fidelity='paper')"
    assert repr(DenoisedLoss(Reweighted(0.3), BPR())) == (
        "DenoisedLoss(denoiser=Reweighted(beta=0.3, fidelity='paper'), objective=BPR())"
    )


def test_each_loss_has_the_objective_of_its_name():
    names = ["BCE", "Square", "Hinge", "BPR", "Softmax"]
    for losses in (TRUNCATED, REWEIGHTED):
        assert [type(make().objective).__name__ for make in losses] == names


def test_cross_entropy_is_the_objective_unless_another_is_given():
    assert type(DenoisedLoss(KeepAll()).objective).__name__ == "BCE"
    assert type(DenoisedLoss(KeepAll(), BPR()).objective).__name__ == "BPR"
