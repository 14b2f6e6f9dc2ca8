import pytest
import torch

from recsieve.training.early_stopping import EarlyStopping

GOOD = {"best_score": 0.5, "best_step": 3, "without_progress": 1, "weights": {"a": torch.ones(2)}}


def test_what_was_kept_is_taken_up():
    stopping = EarlyStopping(patience=2)
    stopping.load_state_dict(GOOD)
    assert stopping.state_dict() == GOOD
    assert stopping.patience == 2


@pytest.mark.parametrize(
    "change",
    [
        {"best_score": "high"},
        {"best_score": float("nan")},
        {"best_step": -1},
        {"without_progress": None},
        {"weights": {"a": torch.tensor(float("inf"))}},
        {"weights": {"a": 3}},
    ],
)
def test_a_state_that_cannot_be_is_refused(change):
    with pytest.raises(ValueError, match="best"):
        EarlyStopping(patience=2).load_state_dict(GOOD | change)


def test_nothing_else_can_be_set():
    stopping = EarlyStopping(patience=2)
    stopping.load_state_dict({**GOOD, "patience": 10**9, "consider": None})
    assert stopping.patience == 2
    assert callable(stopping.consider)
