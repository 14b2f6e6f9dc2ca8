import pytest
import torch

from recsieve.denoisers import KeepAll, Reweighted
from recsieve.errors import DivergedError, RunError
from recsieve.models import MODELS
from recsieve.objectives import BCE
from recsieve.training import Driver, GradientFitting, Trained, TrainingPlan, Validated


def drive(data, patience=99, name="gmf", strategy=None, **plan):
    model = MODELS[name](data.csr, torch.Generator().manual_seed(0), factors=8)
    plan = TrainingPlan(batch_size=32, seed=3, **plan)
    fitting = GradientFitting(model, BCE(), data, plan, lambda context: strategy or KeepAll())
    return Driver(fitting, patience, plan.validate_every, plan.checkpoint_every)


def test_the_weights_of_the_best_validation_are_kept(small_data):
    driver = drive(small_data(), epochs=3)
    seen = {}

    def validate(fitting):
        seen[fitting.step] = fitting.scorer().user.weight.detach().clone()
        return 1.0 if len(seen) == 2 else 0.0

    list(driver.run(validate))
    assert driver.stopping.best_step == list(seen)[1]
    assert torch.equal(driver.scorer().user.weight, seen[driver.stopping.best_step])


def test_where_the_last_weights_are_the_best_they_are_not_set_aside(small_data):
    driver = drive(small_data(), epochs=2)
    list(driver.run(lambda fitting: float(fitting.step)))
    assert not driver.stopping.weights
    assert torch.equal(driver.scorer().user.weight, driver.fitting.model.user.weight)


def test_training_ends_when_validation_stops_improving(small_data):
    events = drive(small_data(), epochs=50, patience=3).run(lambda fitting: 0.0)
    assert len([event for event in events if isinstance(event, Validated)]) == 4


def test_validating_every_few_steps_is_possible(small_data):
    events = drive(small_data(), epochs=2, validate_every=5).run(lambda fitting: 0.0)
    steps = [event.step for event in events if isinstance(event, Validated)]
    assert steps[:3] == [5, 10, 15]


def test_what_it_takes_to_go_on_is_saved_at_each_validation_and_as_often_as_asked_for(small_data):
    driver, saved = drive(small_data(), epochs=2, checkpoint_every=4), []
    steps = driver.fitting.steps_per_epoch
    list(driver.run(lambda fitting: 0.0, lambda state: saved.append(state["step"])))
    assert saved == sorted({*range(4, 2 * steps, 4), steps, 2 * steps})


def test_it_tells_of_the_loss_at_every_step_of_a_short_epoch(small_data):
    driver = drive(small_data(), epochs=1)
    told = [event for event in driver.run(lambda fitting: 0.0) if isinstance(event, Trained)]
    assert [event.step for event in told] == list(range(1, driver.fitting.total + 1))
    assert all(event.total_steps == driver.fitting.total for event in told)


@pytest.mark.parametrize("name", ["gmf", "neumf"])
@pytest.mark.parametrize("strategy", [KeepAll(), Reweighted(0.2)])  # R-CE gives exploding losses no weight
def test_a_training_that_diverges_stops_and_keeps_the_best_weights_before_it(small_data, name, strategy):
    driver, seen = drive(small_data(), name=name, strategy=strategy, epochs=50, learning_rate=1e-3), {}

    def validate(fitting):
        seen[fitting.step] = fitting.scorer().user.weight.detach().clone()
        fitting.optimizer.param_groups[0]["lr"] = 1000.0  # from the first validation on
        return 1.0

    with pytest.raises(DivergedError, match=r"smaller learning rate.*weights of step \d+ are kept") as error:
        list(driver.run(validate))
    best = driver.stopping.best_step
    assert best < error.value.step < driver.fitting.total
    assert torch.equal(driver.scorer().user.weight, seen[best])


def test_a_loss_that_is_no_number_is_told_with_its_step_before_anything_is_saved(small_data):
    driver = drive(small_data(), epochs=3)
    steps = driver.fitting._steps
    run = steps.run

    def broken(chunk):
        return run(chunk)._replace(means=[float("nan")])

    steps.run = broken
    with pytest.raises(DivergedError, match="no weights were kept") as error:
        list(driver.run(lambda fitting: 0.0, lambda state: pytest.fail("a diverged state was saved")))
    assert error.value.step == driver.fitting.step


def test_weights_that_are_no_numbers_are_never_selected(small_data):
    driver = drive(small_data(), epochs=3)
    events = driver.run(lambda fitting: 1.0)
    next(event for event in events if event.step == driver.fitting.steps_per_epoch)  # the last before a validation
    driver.fitting.model.item.weight.data[0] = float("nan")
    with pytest.raises(DivergedError):
        list(events)
    assert not driver.stopping.best_step


def test_a_validation_score_that_is_no_number_is_not_selected(small_data):
    driver, scores = drive(small_data(), epochs=4), iter([float("nan"), 0.5, float("nan"), 0.1])
    told = [event.best for event in driver.run(lambda fitting: next(scores)) if isinstance(event, Validated)]
    assert told == [False, True, False, False]
    assert driver.stopping.best_score == 0.5


@pytest.mark.parametrize("step", ["2", None, 2.0, True, -1, 10**9])
def test_a_state_whose_step_is_none_of_the_fitting_is_refused(small_data, step):
    driver = drive(small_data(), epochs=2)
    state = driver.state_dict()
    state["fitting"]["step"] = step
    with pytest.raises(RunError, match="the checkpoint is at step"):
        driver.load_state_dict(state)
