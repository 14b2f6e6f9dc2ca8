from dataclasses import replace

import numpy as np
import pytest
import torch
from recsieve.training.selection import own_loss

from recsieve.denoisers import DENOISERS, KeepAll, make_denoiser
from recsieve.errors import ConfigError, DivergedError, RunError
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS
from recsieve.training import InteractionMemory, Trained, Training, TrainingPlan, Validated
from recsieve.training.checkpoint import load_checkpoint, save_checkpoint


def make_training(data, model="gmf", denoiser="keep-all", memory=None, **plan):
    generator = torch.Generator().manual_seed(0)
    popularity = torch.from_numpy(data.item_counts())
    strategy = make_denoiser(denoiser, {}, steps_per_epoch=5, negatives=1, popularity=popularity)
    plan = TrainingPlan(**{"epochs": 4, "batch_size": 32, "patience": 99, "seed": 3, **plan})
    return Training(MODELS[model](data.csr, generator), DenoisedLoss(strategy), data, plan, memory)


def validation(step):
    return float(-abs(step - 20))


def weights(training):
    return torch.cat([weight.flatten() for weight in training.model.state_dict().values()])


class Killed(Exception):
    pass


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("denoiser", DENOISERS)
def test_a_resumed_training_ends_with_the_same_bits_as_one_never_stopped(small_data, tmp_path, model, denoiser):
    data, path = small_data(), tmp_path / "state.safetensors"
    options = {"model": model, "denoiser": denoiser, "checkpoint_every": 7}
    undisturbed = make_training(data, memory=InteractionMemory(len(data)), **options)
    list(undisturbed.run(validation, save=lambda state: None))

    def save_and_die(state):
        save_checkpoint(path, state)
        if np.random.default_rng(state["step"]).random() < 0.5:
            raise Killed

    for _ in range(100):
        training = make_training(data, memory=InteractionMemory(len(data)), **options)
        if path.exists():
            training.load_state_dict(load_checkpoint(path))
        try:
            list(training.run(validation, save=save_and_die))
            break
        except Killed:
            continue
    assert torch.equal(weights(training), weights(undisturbed))
    assert training.history.frame().equals(undisturbed.history.frame(), null_equal=True)
    assert training.memory.epochs == undisturbed.memory.epochs == [0, 1, 2, 3]
    for name in ("losses", "weights", "dropped"):
        assert np.array_equal(getattr(training.memory, name), getattr(undisturbed.memory, name))


def test_the_weights_of_the_best_validation_are_kept(small_data):
    training = make_training(small_data(), epochs=3)
    seen = {}

    def validate(step):
        seen[step] = training.model.user.weight.detach().clone()
        return 1.0 if len(seen) == 2 else 0.0

    list(training.run(validate))
    assert training.selection.best_step == list(seen)[1]
    assert torch.equal(training.model.user.weight, seen[training.selection.best_step])


@pytest.mark.parametrize("model", ["gmf", "neumf"])
@pytest.mark.parametrize("denoiser", ["keep-all", "reweighted"])  # R-CE gives exploding losses no weight
def test_a_training_that_diverges_stops_and_keeps_the_best_weights_before_it(small_data, model, denoiser):
    training = make_training(small_data(), model, denoiser, epochs=50, learning_rate=1e-3)
    seen = {}

    def validate(step):
        seen[step] = weights(training)
        training.optimizer.param_groups[0]["lr"] = 1000.0  # from the first validation on
        return 1.0

    with pytest.raises(DivergedError, match=r"diverged by step \d+.*smaller learning rate than 0.001") as error:
        list(training.run(validate))
    assert training.selection.best_step < error.value.step < training.total_steps
    assert torch.equal(weights(training), seen[training.selection.best_step])


def test_a_loss_that_is_no_number_is_told_with_its_step_before_anything_is_saved(small_data):
    training = make_training(small_data())
    stretch = training._steps.stretch

    def broken(rows, batch_size):
        means, losses, of = stretch(rows, batch_size)
        return [*means[:-2], float("nan"), means[-1]], losses, of

    training._steps.stretch = broken
    with pytest.raises(DivergedError, match="no weights were kept") as error:
        list(training.run(validation, save=lambda state: pytest.fail("a diverged state was saved")))
    assert error.value.step == training.step - 1


def test_weights_that_are_no_numbers_are_never_selected(small_data):
    training = make_training(small_data(), epochs=3)
    events = training.run(lambda step: 1.0)
    next(event for event in events if event.step == training.steps_per_epoch)  # the last before the first validation
    training.model.item.weight.data[0] = float("nan")
    with pytest.raises(DivergedError):
        list(events)
    assert not training.selection.weights


def test_a_validation_score_that_is_no_number_is_not_selected(small_data):
    training = make_training(small_data(), epochs=4)
    scores = iter([float("nan"), 0.5, float("nan"), 0.1])
    told = [event.best for event in training.run(lambda step: next(scores)) if isinstance(event, Validated)]
    assert told == [False, True, False, False]
    assert training.selection.best_score == 0.5


def test_training_ends_when_validation_stops_improving(small_data):
    training = make_training(small_data(), epochs=50, patience=3)
    validations = [event for event in training.run(lambda step: 0.0) if isinstance(event, Validated)]
    assert len(validations) == 4


def test_the_same_seed_gives_the_same_course_and_another_seed_another(small_data):
    def course(seed):
        return [e.loss for e in make_training(small_data(), seed=seed).run(validation) if isinstance(e, Trained)]

    assert course(1) == course(1)
    assert course(1) != course(2)


def test_plain_training_learns_what_it_is_shown(small_data):
    training = make_training(small_data(), epochs=60, learning_rate=0.02)
    losses = [event.loss for event in training.run(lambda step: float(step)) if isinstance(event, Trained)]
    assert losses[-1] < 0.5 * losses[0]


def test_validating_every_few_steps_is_possible(small_data):
    events = make_training(small_data(), epochs=2, validate_every=5).run(validation)
    steps = [event.step for event in events if isinstance(event, Validated)]
    assert steps[:3] == [5, 10, 15]


def test_the_loop_equals_a_plain_one_written_out(small_data):
    """The reference: dense Adam, one step after the other."""
    data = small_data()
    training = make_training(data, epochs=2)
    list(training.run(lambda step: float(step)))
    reference = MODELS["gmf"](data.csr, torch.Generator().manual_seed(0))
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
        make_training(data, denoiser="truncated", memory=memory) for memory in (None, InteractionMemory(len(data)))
    )
    for training in (plain, remembered):
        list(training.run(validation))
    assert torch.equal(weights(plain), weights(remembered))
    memory, history = remembered.memory, remembered.history.frame()
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
    training = make_training(data, memory=InteractionMemory(len(data)), epochs=9, validate_every=5, patience=3)
    list(training.run(lambda step: 0.0))
    assert training.step % training.steps_per_epoch
    assert len(training.memory.losses) == training.step // training.steps_per_epoch


def test_a_new_training_begins_with_an_empty_memory(small_data):
    data = small_data()
    memory = InteractionMemory(len(data))
    for _ in range(2):
        list(make_training(data, memory=memory, epochs=1).run(validation))
    assert memory.epochs == [0]


def test_a_memory_that_does_not_fit_says_what_to_give(small_data):
    data = small_data()
    with pytest.raises(ConfigError, match=rf"give InteractionMemory\({len(data)}\)"):
        make_training(data, memory=InteractionMemory(3))
    with pytest.raises(RunError, match="begun without a memory"):
        make_training(data, memory=InteractionMemory(len(data))).load_state_dict(make_training(data).state_dict())


def test_a_strategy_that_learns_from_flags_is_given_false_positives_as_negatives(small_data):
    data = small_data()
    labels = {}
    for batch in make_training(data, denoiser="negative-feedback").sampler.batches(0, 32):
        labels |= {int(row): float(label) for row, label in zip(batch.ids, batch.labels, strict=True) if row >= 0}
        assert (batch.labels[batch.ids < 0] == 0).all()
    assert [labels[row] for row in range(len(data))] == (~data.is_false_positive).astype(float).tolist()


def test_learning_from_flags_without_any_is_one_clear_error(small_data):
    with pytest.raises(ConfigError, match="give a rule for false positives"):
        make_training(replace(small_data(), false_positive=None), denoiser="negative-feedback")


def test_what_learns_from_flags_is_validated_by_what_it_learns(small_data):
    """NR's own loss on clicks that were all regretted is that of negatives, of which every second counts a tenth."""
    data = small_data()
    regretted = replace(data, false_positive=np.ones(len(data), np.int8))
    training = make_training(data, denoiser="negative-feedback")
    with torch.no_grad():
        training.model.output.bias.fill_(-3.0)  # the model thinks that nobody likes anything
    found = own_loss(training.model, training.loss, regretted, data.csr, batch_size=32, seed=0, step=1)
    assert found == pytest.approx((0.1 + 1) / 2 * np.log1p(np.exp(-3.0)), abs=1e-3)
