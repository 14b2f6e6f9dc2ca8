import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from recsieve import Recommender, split_interactions
from recsieve.communicator import SINGLE_PROCESS
from recsieve.data.sharing import share_out
from recsieve.denoisers import (
    DCF,
    DENOISERS,
    PLD,
    Context,
    EpochMemory,
    FineTuning,
    KeepAll,
    LossBatch,
    NextEpoch,
    WarmUp,
    make_denoiser,
)
from recsieve.errors import ConfigError, RunError
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS, Model
from recsieve.objectives import BCE, OBJECTIVES, make_objective
from recsieve.sampling import Sampler
from recsieve.training import Driver, GradientFitting, InteractionMemory, TrainingPlan
from recsieve.training.checkpoint import load_checkpoint, save_checkpoint


def begin(data, model="gmf", denoiser="keep-all", memory=None, objective="bce", **plan):
    """A fitting; the strategy is given by its name, or by a function of the context."""
    made = MODELS[model](data.csr, torch.Generator().manual_seed(0), **{} if model == "cdae" else {"factors": 8})
    plan = TrainingPlan(**{"epochs": 4, "batch_size": 32, "seed": 3, **plan})

    def make(context):
        return make_denoiser(denoiser, {}, replace(context, steps_per_epoch=5))

    strategy = make if isinstance(denoiser, str) else denoiser
    return GradientFitting(made, make_objective(objective, {}), data, plan, strategy, memory)


def drive(fitting, save=None):
    """Run a fitting to its end."""
    driver = Driver(fitting, 99, fitting.plan.validate_every, fitting.plan.checkpoint_every)
    list(driver.run(lambda fitting: float(-abs(fitting.step - 20)), save))
    return fitting


def losses_of(fitting):
    """The losses along the way to the end."""
    losses = []
    while fitting.step < fitting.total:
        losses.append(fitting.advance())
    return losses


def weights(fitting):
    return torch.cat([weight.flatten() for weight in fitting.scorer().state_dict().values()])


def assert_resumes(make, path):
    """Kill a fitting in the middle of epochs, go on with what was saved; all is as if it had never been stopped."""
    undisturbed = drive(make(), save=lambda state: None)

    def save_and_die(state):
        save_checkpoint(path, state)
        if np.random.default_rng(state["step"]).random() < 0.5:
            raise Killed

    deaths = set()
    for _ in range(100):
        fitting = make()
        driver = Driver(fitting, 99, None, fitting.plan.checkpoint_every)
        if path.exists():
            driver.load_state_dict(load_checkpoint(path))
        try:
            list(driver.run(lambda fitting: float(-abs(fitting.step - 20)), save_and_die))
            break
        except Killed:
            deaths.add(fitting.step % fitting.steps_per_epoch)
    assert deaths - {0}
    assert torch.equal(weights(fitting), weights(undisturbed))
    assert fitting.history().equals(undisturbed.history(), null_equal=True)
    return fitting, undisturbed


class Killed(Exception):
    pass


@pytest.mark.parametrize("model", [name for name in MODELS if issubclass(MODELS[name], Model)])
@pytest.mark.parametrize("denoiser", DENOISERS)
def test_a_resumed_training_ends_with_the_same_bits_as_one_never_stopped(small_data, tmp_path, model, denoiser):
    data = small_data()
    fitting, undisturbed = assert_resumes(
        lambda: begin(data, model, denoiser, InteractionMemory(len(data)), checkpoint_every=7), tmp_path / "state"
    )
    assert fitting.memory.epochs == undisturbed.memory.epochs == [0, 1, 2, 3]
    for name in ("losses", "weights", "dropped"):
        assert np.array_equal(getattr(fitting.memory, name), getattr(undisturbed.memory, name), equal_nan=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda context: FineTuning(0.2, 9, phase_epochs=2, context=context),
        lambda context: WarmUp(0.2, 9, phase_epochs=2, context=context),
        lambda context: DCF(0.2, 9, "authors", context=context),
        lambda context: PLD(plain_epochs=1, context=context),
    ],
    ids=["fine-tuning", "warm-up", "dcf as released", "pld"],
)
def test_a_training_in_phases_or_by_choice_is_resumed_to_the_bit(small_data, tmp_path, make):
    assert_resumes(lambda: begin(small_data(), "mf", make, objective="bpr", checkpoint_every=7), tmp_path / "state")


def test_the_same_seed_gives_the_same_course_and_another_seed_another(small_data):
    def course(seed):
        return losses_of(begin(small_data(), seed=seed))

    assert course(1) == course(1)
    assert course(1) != course(2)


def test_plain_training_learns_what_it_is_shown(small_data):
    losses = losses_of(begin(small_data(), epochs=60, learning_rate=0.02))
    assert losses[-1] < 0.5 * losses[0]


def test_the_loop_equals_a_plain_one_written_out(small_data):
    """The reference: dense Adam, one step after the other."""
    data = small_data()
    training = drive(begin(data, epochs=2))
    reference = MODELS["gmf"](data.csr, torch.Generator().manual_seed(0), factors=8)
    reference.user.sparse = reference.item.sparse = False
    optimizer, loss = torch.optim.Adam(reference.parameters()), DenoisedLoss(KeepAll())
    for epoch in range(2):
        for batch in training.sampler.batches(epoch, 32):
            optimizer.zero_grad()
            loss(reference(batch.users, batch.items), batch.labels).backward()
            optimizer.step()
    for name, weight in reference.state_dict().items():
        # Positives and negatives cancel in the bias's gradient at first, and Adam blows up what rounding leaves of it.
        tolerance = 1e-5 if name == "output.bias" else 1e-6
        torch.testing.assert_close(training.model.state_dict()[name], weight, atol=tolerance, rtol=1e-5)


def test_a_memory_has_every_interaction_in_every_epoch_and_changes_nothing(small_data):
    data = small_data()
    plain, remembered = (
        drive(begin(data, denoiser="truncated", memory=memory)) for memory in (None, InteractionMemory(len(data)))
    )
    assert torch.equal(weights(plain), weights(remembered))
    memory, history = remembered.memory, remembered.history()
    assert memory.losses.shape == (4, len(data))
    assert np.isfinite(memory.losses).all()
    assert np.array_equal(memory.weights == 0, memory.dropped == 1)
    by_epoch = history.group_by("epoch", maintain_order=True).sum()
    assert memory.dropped.sum(1).tolist() == by_epoch["dropped"].to_list()
    assert memory.dropped.sum() > 0
    mean = (history["positive_loss"].fill_nan(0) * history["positives"]).sum() / history["positives"].sum()
    assert memory.losses.mean() == pytest.approx(mean, rel=1e-5)


def test_an_epoch_that_is_broken_off_is_not_remembered(small_data):
    data = small_data()
    training = begin(data, memory=InteractionMemory(len(data)), epochs=9, validate_every=5)
    list(Driver(training, patience=3, validate_every=5).run(lambda fitting: 0.0))
    assert training.step % training.steps_per_epoch
    assert len(training.memory.losses) == training.step // training.steps_per_epoch


def test_a_new_training_begins_with_an_empty_memory(small_data):
    data = small_data()
    memory = InteractionMemory(len(data))
    for _ in range(2):
        drive(begin(data, memory=memory, epochs=1))
    assert memory.epochs == [0]


def test_a_memory_that_does_not_fit_says_what_to_give(small_data):
    data = small_data()
    with pytest.raises(ConfigError, match=rf"give InteractionMemory\({len(data)}\)"):
        begin(data, memory=InteractionMemory(3))
    with pytest.raises(RunError, match="started without a memory"):
        begin(data, memory=InteractionMemory(len(data))).load_state_dict(begin(data).state_dict())


def test_a_strategy_that_uses_noise_labels_is_given_false_positives_as_negatives(small_data):
    data = small_data()
    labels = {}
    for batch in begin(data, denoiser="negative-feedback").sampler.batches(0, 32):
        labels |= {int(row): float(label) for row, label in zip(batch.ids, batch.labels, strict=True) if row >= 0}
        assert (batch.labels[batch.ids < 0] == 0).all()
    assert [labels[row] for row in range(len(data))] == (~data.is_false_positive).astype(float).tolist()


def test_using_noise_labels_without_any_is_one_clear_error(small_data):
    with pytest.raises(ConfigError, match="give a rule for false positives"):
        begin(replace(small_data(), false_positive=None), denoiser="negative-feedback")


def test_what_uses_noise_labels_is_validated_by_what_it_learns(small_data):
    """NR's validation loss on clicks that were all regretted is that of negatives; every second counts a tenth."""
    data = small_data()
    regretted = replace(data, false_positive=np.ones(len(data), np.int8))
    training = begin(data, denoiser="negative-feedback")
    with torch.no_grad():
        training.model.output.bias.fill_(-3.0)  # the model thinks that nobody likes anything
    found = training.validation_loss(regretted)
    assert found == pytest.approx((0.1 + 1) / 2 * np.log1p(np.exp(-3.0)), abs=1e-3)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("denoiser", ["truncated", "reweighted"])
class TestEveryObjective:
    def test_a_model_learns_by_it(self, small_data, objective, denoiser):
        losses = losses_of(begin(small_data(), "gmf", denoiser, objective=objective, epochs=30, learning_rate=0.02))
        assert np.mean(losses[-10:]) < 0.5 * losses[0]

    def test_a_resumed_training_ends_with_the_same_bits(self, small_data, tmp_path, objective, denoiser):
        data = small_data()
        assert_resumes(
            lambda: begin(data, "gmf", denoiser, objective=objective, checkpoint_every=7), tmp_path / "state"
        )


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("negatives", [1, 3])
def test_drop_positives_is_a_share_of_the_positives_under_every_objective(small_data, objective, negatives):
    def drop(context):
        return make_denoiser("truncated", {"drop_positives": 0.4, "ramp_steps": 1}, context)

    data = small_data()
    memory = InteractionMemory(len(data))
    drive(begin(data, denoiser=drop, objective=objective, memory=memory, epochs=1, negatives=negatives, batch_size=80))
    assert memory.dropped.sum() / len(data) == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize("objective", ["bpr", "softmax"])
def test_under_a_pairwise_objective_what_is_known_to_be_noise_has_no_weight_and_that_is_told(
    small_data, objective, caplog
):
    data = small_data()
    memory = InteractionMemory(len(data))
    fitting = drive(begin(data, denoiser="negative-feedback", objective=objective, memory=memory, epochs=1))
    noise = data.is_false_positive
    assert (memory.weights[0][noise] == 0).all()
    assert (memory.weights[0][~noise] == 1).all()
    assert fitting.history()["dropped"].sum() == noise.sum()
    assert f"{noise.sum()} interactions are known to be noise: a pairwise objective gives them no weight" in caplog.text


@pytest.mark.parametrize("objective", ["bpr", "softmax"])
@pytest.mark.parametrize("model", ["gmf", "cdae"])
def test_users_with_every_item_are_skipped_by_a_pairwise_objective_and_reported(small_data, objective, model, caplog):
    data = full_users(small_data(12, 9, 0.4), [3, 8])
    memory = InteractionMemory(len(data))
    drive(begin(data, model, objective=objective, memory=memory, epochs=1, batch_size=7, negatives=2))
    full = np.isin(data.users, [3, 8])
    assert np.isnan(memory.losses[0][full]).all()
    assert np.isfinite(memory.losses[0][~full]).all()
    assert "18 interactions belong to users who have every item: a pairwise objective cannot learn" in caplog.text


def test_a_pointwise_objective_has_nothing_to_tell_of_pairs(small_data, caplog):
    begin(full_users(small_data(12, 9, 0.4), [3]), denoiser="negative-feedback")
    assert not caplog.text


def full_users(data, users):
    """The data, and beside it all items for some users."""
    others = ~np.isin(data.users, users)
    all_items = np.tile(np.arange(data.n_items, dtype=np.int32), len(users))
    all_users = np.repeat(np.array(users, np.int32), data.n_items)
    return replace(
        data,
        users=np.concatenate([data.users[others], all_users]),
        items=np.concatenate([data.items[others], all_items]),
        false_positive=np.zeros(others.sum() + len(all_users), np.int8),
    )


class Looking:
    """Weighs by the id of an interaction, and asks of the next epoch what it was told to ask."""

    def __init__(self, context: Context, asks: dict[int, NextEpoch | None]) -> None:
        self.context, self.asks = context, asks
        self.epoch, self.seen, self.batches = 0, [], []  # what it saw at the end of each epoch, and batch by batch

    def weights(self, batch: LossBatch) -> torch.Tensor:
        self.batches.append(batch)
        return torch.where(batch.ids % 5 == 0, 0.0, 1.0)

    def end_epoch(self, memory: EpochMemory) -> NextEpoch | None:
        self.seen.append({name: getattr(memory, name) for name in ("losses", "weights", "dropped")})
        self.epoch += 1
        return self.asks.get(self.epoch)

    def state_dict(self):
        return {"epoch": self.epoch}

    def load_state_dict(self, state):
        self.epoch = state["epoch"]


def looking(data, asks, engine="auto", **plan):
    return begin(data, denoiser=lambda context: Looking(context, asks), engine=engine, **plan)


@pytest.mark.parametrize("objective", ["bce", "bpr"])
@pytest.mark.parametrize("engine", ["auto", "lazy", "exact"])
def test_at_the_end_of_an_epoch_a_strategy_is_told_the_mean_loss_of_each_interaction(small_data, objective, engine):
    data = small_data()
    memory = InteractionMemory(len(data))
    fitting = drive(looking(data, {}, engine, objective=objective, memory=memory, epochs=3))
    denoiser = fitting.loss.denoiser
    assert denoiser.context.n_interactions == len(data)
    assert len(denoiser.seen) == 3
    for epoch, seen in enumerate(denoiser.seen):
        assert np.array_equal(seen["losses"].numpy(), memory.losses[epoch])
        assert np.array_equal(seen["weights"].numpy(), (np.arange(len(data)) % 5 > 0).astype(np.float32))
        assert np.array_equal(seen["dropped"].numpy(), (np.arange(len(data)) % 5 == 0).astype(np.float32))


@pytest.mark.parametrize("engine", ["auto", "lazy", "exact"])
def test_what_a_strategy_asks_for_is_done_in_the_next_epoch_and_until_it_asks_for_something_else(small_data, engine):
    data = small_data()
    n, random = len(data), torch.Generator().manual_seed(0)
    labels, given = torch.rand(n, generator=random), torch.rand(n, generator=random)
    chosen = torch.randperm(n, generator=random)[: n // 2]
    asks = {1: NextEpoch(labels=labels), 2: None, 3: NextEpoch(weights=given, chosen=chosen)}
    fitting = drive(looking(data, asks, engine, epochs=4))
    epochs = [fitting.loss.denoiser.batches[i * fitting.steps_per_epoch :][: fitting.steps_per_epoch] for i in range(4)]
    for epoch, batches in enumerate(epochs):
        ids, learned = (torch.cat([getattr(batch, name) for batch in batches]) for name in ("ids", "labels"))
        expected = torch.ones(n) if epoch == 0 else labels
        assert torch.equal(learned[ids >= 0], expected[ids[ids >= 0]])
        assert (learned[ids < 0] == 0).all()
        assert len(ids) == 2 * n
        times = torch.bincount(ids[ids >= 0], minlength=n)
        if epoch < 3:
            assert (times == 1).all()
        else:  # a short choice comes around again
            assert set(times.nonzero().flatten().tolist()) == set(chosen.tolist())
            assert times.max() <= 3
    last = fitting.loss.denoiser.seen[-1]["weights"][chosen]
    torch.testing.assert_close(last, torch.where(chosen % 5 == 0, 0.0, given[chosen]))


@pytest.mark.parametrize("objective", ["bce", "bpr"])
@pytest.mark.parametrize("model", ["gmf", "cdae"])
def test_what_a_strategy_asked_for_survives_a_resume_to_the_bit(small_data, tmp_path, model, objective):
    data = small_data()
    n, random = len(data), torch.Generator().manual_seed(0)
    asks = {
        1: NextEpoch(labels=torch.rand(n, generator=random)),
        2: NextEpoch(weights=torch.rand(n, generator=random), chosen=torch.randperm(n, generator=random)[: n // 2]),
        3: None,
    }
    fitting, undisturbed = assert_resumes(
        lambda: looking(data, asks, model=model, objective=objective, checkpoint_every=3, epochs=5), tmp_path / "state"
    )
    seen, other = fitting.loss.denoiser.seen[-1], undisturbed.loss.denoiser.seen[-1]
    assert all(np.array_equal(seen[name], other[name], equal_nan=True) for name in seen)


def test_the_ranks_tell_a_strategy_together_what_one_process_does(small_data, in_ranks):
    data = small_data()
    asks = {1: NextEpoch(labels=torch.rand(len(data)), weights=torch.rand(len(data)))}

    def train(group):
        return drive(looking(share_out(data, group), asks, "exact", epochs=2))

    alone = train(SINGLE_PROCESS)
    for fitting in in_ranks(2, train):
        assert torch.equal(weights(fitting), weights(alone))
        for seen, other in zip(fitting.loss.denoiser.seen, alone.loss.denoiser.seen, strict=True):
            assert all(torch.equal(seen[name], other[name]) for name in seen)


@pytest.mark.parametrize("objective", ["bce", "bpr"])
@pytest.mark.parametrize("engine", ["auto", "lazy", "exact"])
def test_an_epoch_of_users_without_negatives_trains_though_some_batches_have_no_rows(small_data, objective, engine):
    data = full_users(small_data(12, 9, 0.4), [3, 8])
    asks = {1: NextEpoch(chosen=torch.from_numpy(np.flatnonzero(data.users == 3)))}
    fitting = drive(looking(data, asks, engine, objective=objective, epochs=2, batch_size=9, negatives=2))
    assert fitting.step == fitting.total
    assert weights(fitting).isfinite().all()


def test_the_trimmed_loss_is_the_mean_without_the_largest_losses_of_positives(small_data):
    fitting, validation = drive(begin(small_data())), small_data(seed=1)
    sampler = Sampler(validation, seed=3, observed=fitting.data.csr)
    rows = next(sampler.batches(fitting.step, 10_000))
    losses = BCE()(fitting.model(rows.users, rows.items), rows.labels).tolist()
    positives = sorted(loss for loss, label in zip(losses, rows.labels.tolist(), strict=True) if label)
    negatives = [loss for loss, label in zip(losses, rows.labels.tolist(), strict=True) if not label]
    for share in (0.0, 0.1, 0.5):
        kept = positives[: math.ceil((1 - share) * len(positives))] + negatives
        assert fitting.trimmed_loss(validation, share) == pytest.approx(sum(kept) / len(kept), abs=1e-6)


@pytest.mark.parametrize("select_by", ["trimmed-loss", "trimmed-loss@0.3"])
def test_the_trimmed_loss_selects(small_data, select_by):
    split, scores, share = split_interactions(small_data(), seed=0), [], 0.3 if select_by.endswith("3") else 0.1
    plan = {"epochs": 4, "batch_size": 32, "learning_rate": 0.05}

    def watch(fitting):
        scores.append(-fitting.trimmed_loss(split.validation, share))
        return scores[-1]

    found = Recommender("gmf", **plan, select_by=select_by).fit(split)
    Recommender("gmf", **plan).fit(split, validate=watch)
    assert found.selected["score"] == max(scores)


@pytest.mark.parametrize("select_by", ["trimmed-loss@", "trimmed-loss@1", "trimmed-loss@2", "trimmed-loss@x"])
def test_a_share_that_cannot_be_trimmed_is_refused(select_by):
    with pytest.raises(ConfigError, match="give a number from 0 to below 1"):
        Recommender("gmf", select_by=select_by)
