import numpy as np
import pytest
import torch

from recsieve.training.history import History


def test_losses_of_true_and_false_positives_and_negatives_are_kept_apart(small_data):
    data = small_data()
    true, false = np.flatnonzero(~data.is_false_positive)[0], np.flatnonzero(data.is_false_positive)[0]
    history = History(data)
    history.add([0.5], torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 0.0, 1.0]), torch.tensor([true, false, -1]))
    history.add([1.5], torch.tensor([3.0]), torch.tensor([1.0]), torch.tensor([true]))
    assert history.close_row(step=2, epoch=0) == 1.0
    row = history.frame().row(0, named=True)
    assert row["true_positive_loss"] == 2.0
    assert row["false_positive_loss"] == 2.0
    assert row["negative_loss"] == 4.0
    assert row["positive_loss"] == pytest.approx(2.0)
    assert (row["positives"], row["dropped"], row["false_positives"], row["dropped_false_positives"]) == (3, 1, 1, 1)


def test_a_row_begins_anew_after_it_is_closed(small_data):
    history = History(small_data())
    history.add([5.0], torch.tensor([1.0]), torch.tensor([1.0]), torch.tensor([0]))
    history.close_row(1, 0)
    history.add([1.0], torch.tensor([1.0]), torch.tensor([1.0]), torch.tensor([0]))
    assert history.close_row(2, 0) == 1.0


def test_without_flags_what_cannot_be_known_is_nan(small_data):
    from dataclasses import replace

    history = History(replace(small_data(), false_positive=None))
    history.add([1.0], torch.tensor([1.0]), torch.tensor([1.0]), torch.tensor([0]))
    history.close_row(1, 0)
    assert np.isnan(history.frame()["true_positive_loss"][0])
    assert history.frame()["positive_loss"][0] == 1.0


def test_steps_in_which_nobody_has_a_pair_have_no_loss_and_are_no_divergence(small_data):
    history = History(small_data())
    none = torch.zeros(0)
    history.add([0.0], none, none, none.long())
    history.close_row(1, 0)
    assert history.mean_loss == 0.0


@pytest.mark.parametrize("count", [-1.0, 1e30, float("nan"), float("inf")])
def test_a_history_with_counts_that_are_none_is_refused(small_data, count):
    history = History(small_data(5, 5, 0.5))
    rows = torch.zeros(2, 11, dtype=torch.float64)
    history.load_state_dict({"rows": rows})
    rows[0, 8] = count  # dropped
    with pytest.raises(ValueError, match="invalid counts"):
        history.load_state_dict({"rows": rows})
