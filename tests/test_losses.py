import pytest
import torch
from torch.nn import functional

from recsieve.denoisers import KeepAll, Truncated
from recsieve.errors import ConfigError
from recsieve.group import ALONE
from recsieve.losses import CascadedLoss, DenoisedLoss, ReweightedBCE, TruncatedBCE


def batch(n=64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, generator=generator, requires_grad=True)
    return logits, (torch.rand(n, generator=generator) < 0.5).float()


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
    weighed = loss.weigh(logits, torch.ones(10), sample_weights=torch.zeros(10))
    assert weighed.mean().item() == 0


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
    value = DenoisedLoss(KeepAll())(logits, labels, sample_weights=given)
    torch.testing.assert_close(value, (given * losses).sum() / 3)


def test_shapes_that_would_broadcast_are_refused():
    with pytest.raises(ConfigError, match="same length"):
        TruncatedBCE()(torch.zeros(4, 1), torch.zeros(4))


def test_the_cascaded_loss_is_the_mean_of_both_tasks_over_what_was_liked_and_what_was_clicked():
    satisfaction, _ = batch(3)
    click, _ = batch(3, seed=1)
    liked, ids = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([4, 2, -1])  # the second was clicked and regretted
    clicked = torch.tensor([1.0, 1.0, 0.0])
    of = functional.binary_cross_entropy_with_logits
    expected = 0.75 * of(satisfaction, liked) + 0.25 * of(click, clicked)
    loss = CascadedLoss(KeepAll(), lambda users, items: click, satisfaction_share=0.75)
    found = loss(satisfaction, liked, users=torch.zeros(3), items=torch.zeros(3), ids=ids)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient(found, click), gradient(0.25 * of(click, clicked), click))


def test_the_cascaded_loss_says_what_it_needs():
    logits, labels = batch()
    with pytest.raises(ConfigError, match="give `users` and `items`"):
        CascadedLoss(KeepAll(), lambda users, items: logits)(logits, labels)


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

    alone, whole = gradient(ALONE, slice(None))
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
        return loss.weigh(own.float(), torch.ones(5), **about, places=own, n_all=10)

    for rank, weighed in enumerate(in_ranks(2, weigh)):
        assert weighed.weights.tolist() == list(range(rank, 10, 2))
        assert weighed.kept == 9  # the given weight of the first is 0
    for batch in seen:
        assert batch.users.tolist() == list(range(10))
        assert batch.ids.tolist() == list(range(-1, 9))
        assert batch.users.dtype == torch.int32
