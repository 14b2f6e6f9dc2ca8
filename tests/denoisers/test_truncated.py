import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recsieve.denoisers import LossBatch, Truncated
from recsieve.errors import ConfigError


def test_truncated_drops_the_hardest_observed_interaction_and_no_negative():
    losses = torch.tensor([0.1, 5.0, 9.0, 0.2])
    labels = torch.tensor([1.0, 1.0, 0.0, 0.0])
    weights = Truncated(max_drop_rate=0.25, ramp_steps=1).weights(LossBatch(losses, labels, step=1))
    assert weights.tolist() == [1.0, 0.0, 1.0, 1.0]


@given(
    losses=st.lists(st.floats(0, 50, width=32), min_size=1, max_size=60, unique=True),
    share=st.floats(0, 0.99),
    rate=st.floats(0, 0.99),
    step=st.integers(1, 40_000),
)
def test_exactly_the_floor_of_the_rate_times_the_batch_goes_and_it_is_the_hardest_positives(losses, share, rate, step):
    labels = torch.zeros(len(losses))
    labels[: math.ceil(share * len(losses))] = 1
    strategy = Truncated(rate, 30_000)
    weights = strategy.weights(LossBatch(torch.tensor(losses), labels, step))
    n_drop = min(math.floor(rate * min(1, step / 30_000) * len(losses)), int(labels.sum()))
    dropped = (weights == 0).nonzero().flatten().tolist()
    positives = [i for i in range(len(losses)) if labels[i] > 0]
    assert sorted(dropped) == sorted(sorted(positives, key=lambda i: -losses[i])[:n_drop])
    assert set(weights.tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("fidelity", "rate", "count"),
    [("paper", 0.1, 102), ("authors", 0.1, 103), ("paper", 0.2, 204), ("authors", 0.2, 205)],
)
def test_a_batch_of_1024_loses_the_golden_number_of_interactions(fidelity, rate, count):
    assert Truncated(rate, 1, fidelity).n_drop(step=5, batch_size=1024, n_observed=512) == count


def test_the_papers_schedule_begins_at_zero_and_reaches_its_maximum_at_the_last_step_of_the_ramp():
    strategy = Truncated(0.2, 1000)
    assert [strategy.drop_rate(t) for t in (0, 1, 500, 1000, 5000)] == [0, 0.2 / 1000, 0.1, 0.2, 0.2]


def test_the_authors_schedule_counts_from_zero_over_one_step_less():
    strategy = Truncated(0.2, 1001, "authors")
    assert [strategy.drop_rate(t) for t in (1, 2, 501, 1001, 1002)] == pytest.approx([0, 0.2 / 1000, 0.1, 0.2, 0.2])


def test_the_authors_schedule_of_one_step_drops_nothing_in_the_first():
    assert [Truncated(0.2, 1, "authors").drop_rate(t) for t in (1, 2, 3)] == [0.0, 0.2, 0.2]


@pytest.mark.parametrize(("rate", "steps", "exponent"), [(0.2, 1, 1.0), (0.2, 7, 2.0), (0.1, 30_000, 1.0)])
def test_the_authors_schedule_is_so_many_even_points_and_then_the_largest_rate(rate, steps, exponent):
    points = np.linspace(0, rate**exponent, steps)
    strategy = Truncated(rate, steps, "authors", exponent)
    some = range(0, steps, max(1, steps // 100))
    assert [strategy.drop_rate(t + 1) for t in some] == [points[t] for t in some]
    assert strategy.drop_rate(steps + 1) == rate
    if steps > 1:
        assert strategy.drop_rate(steps) == rate**exponent


def test_a_batch_without_positives_loses_nothing():
    batch = LossBatch(torch.rand(8), torch.zeros(8), step=9)
    assert Truncated(0.5, 1).weights(batch).tolist() == [1.0] * 8


def test_as_many_as_all_positives_may_go_but_no_negative():
    batch = LossBatch(torch.rand(10), torch.tensor([1.0] * 3 + [0.0] * 7), step=9)
    assert Truncated(0.9, 1).weights(batch).tolist() == [0.0] * 3 + [1.0] * 7


@pytest.mark.parametrize(
    "options",
    [
        {"max_drop_rate": 1.0},
        {"max_drop_rate": -0.1},
        {"ramp_steps": 0},
        {"fidelity": "x"},
        {"exponent": 2.0},
        {"exponent": 0.0, "fidelity": "authors"},
    ],
)
def test_an_option_out_of_range_says_what_it_means(options):
    with pytest.raises(ConfigError, match="give"):
        Truncated(**options)
