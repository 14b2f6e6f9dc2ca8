import math

import pytest
import torch

from recsieve.denoisers import Context, LeastPopularDrop, LossBatch, RandomDrop, Truncated
from recsieve.denoisers.schedule import DropSchedule
from recsieve.errors import ConfigError

CONTEXT = Context(9, 1000, 499_500, torch.arange(1000), steps_per_epoch=1, losses_per_positive=2)


@pytest.mark.parametrize("fidelity", ["paper", "authors"])
def test_truncated_and_its_controls_drop_equally_many_at_every_step(fidelity):
    labels = (torch.arange(200) % 3 == 0).float()
    losses = torch.rand(200, generator=torch.Generator().manual_seed(0))
    options = {"max_drop_rate": 0.2, "ramp_steps": 20, "fidelity": fidelity}
    strategies = [Truncated(**options), RandomDrop(**options), LeastPopularDrop(**options, context=CONTEXT)]
    for step in (1, 7, 19, 20, 21, 500):
        batch = LossBatch(losses, labels, step, items=torch.arange(200))
        kept = [strategy.weights(batch).sum().item() for strategy in strategies]
        assert len(set(kept)) == 1


def test_a_strategy_shows_the_options_that_it_was_given():
    assert repr(Truncated(0.1, 7)) == "Truncated(max_drop_rate=0.1, ramp_steps=7, fidelity='paper', exponent=1.0)"
    shown = repr(LeastPopularDrop(0.1, 7, context=CONTEXT))
    assert shown == "LeastPopularDrop(max_drop_rate=0.1, ramp_steps=7, fidelity='paper', exponent=1.0)"


def test_by_default_it_is_the_papers_schedule():
    assert DropSchedule() == DropSchedule(0.2, 30_000, "paper", 1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"max_drop_rate": -0.01},
        {"max_drop_rate": 1.0},
        {"max_drop_rate": math.nan},
        {"ramp_steps": 0},
        {"fidelity": "letter"},
        {"exponent": 0.5},
        {"exponent": 0.0, "fidelity": "authors"},
        {"exponent": math.inf, "fidelity": "authors"},
    ],
)
def test_what_is_no_schedule_is_refused(options):
    with pytest.raises(ConfigError, match="give"):
        DropSchedule(**options)


def test_the_ends_of_the_ranges_are_allowed():
    assert DropSchedule(0.0, 1).n_drop(5, 100, 100) == 0
    assert DropSchedule(0.99, 1).n_drop(1, 100, 100) == 99
    assert DropSchedule(0.5, 3, "authors", 2.0).exponent == 2


@pytest.mark.parametrize(("step", "rate"), [(1, 0.05), (2, 0.1), (4, 0.2), (5, 0.2), (1000, 0.2)])
def test_the_papers_rate_grows_evenly_from_the_first_step_on(step, rate):
    assert DropSchedule(0.2, 4).drop_rate(step) == pytest.approx(rate, abs=1e-15)


@pytest.mark.parametrize(("step", "rate"), [(1, 0.0), (2, 0.1), (3, 0.2), (4, 0.2), (1000, 0.2)])
def test_the_authors_rate_grows_over_points_that_begin_with_0(step, rate):
    assert DropSchedule(0.2, 3, "authors").drop_rate(step) == pytest.approx(rate, abs=1e-15)


def test_the_authors_shortest_ramp_ends_with_the_second_step():
    assert [DropSchedule(0.2, 2, "authors").drop_rate(step) for step in (1, 2, 3)] == [0.0, 0.2, 0.2]


def test_the_authors_exponent_is_of_the_ramp_alone():
    schedule = DropSchedule(0.25, 3, "authors", 0.5)
    assert [schedule.drop_rate(step) for step in (1, 2, 3, 4)] == [0.0, 0.25, 0.5, 0.25]


def test_a_ramp_of_one_step_drops_nothing_in_the_authors_first():
    assert [DropSchedule(0.2, 1, "authors").drop_rate(step) for step in (1, 2)] == [0.0, 0.2]
    assert [DropSchedule(0.2, 1).drop_rate(step) for step in (1, 2)] == [0.2, 0.2]


def test_the_paper_rounds_down_and_the_authors_up():
    assert DropSchedule(0.1, 1).n_drop(1, 1024, 512) == 102
    assert DropSchedule(0.1, 1, "authors").n_drop(2, 1024, 512) == 103


def test_no_negative_goes_however_many_are_due():
    assert DropSchedule(0.5, 1).n_drop(1, 100, 7) == 7
    labels = torch.tensor([1.0, 0.0, 0.0, 0.0])
    weights = DropSchedule(0.75, 1).drop_highest(
        torch.tensor([0.0, 3.0, 2.0, 1.0]), LossBatch(torch.ones(4), labels, 1)
    )
    assert weights.tolist() == [0.0, 1.0, 1.0, 1.0]


def test_of_equally_high_ones_the_first_goes():
    batch = LossBatch(torch.ones(4), torch.ones(4), 1)
    assert DropSchedule(0.5, 1).drop_highest(torch.zeros(4), batch).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_controls_that_differ_only_in_what_they_know_are_equal():
    other = Context(1, 2, 3, torch.zeros(2), steps_per_epoch=1, losses_per_positive=2)
    assert LeastPopularDrop(context=CONTEXT) == LeastPopularDrop(context=other)
