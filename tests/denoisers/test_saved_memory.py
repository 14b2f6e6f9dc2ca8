import pytest
import torch

from recsieve.denoisers.saved_memory import checked_memory
from recsieve.errors import RunError

OWN = {"epochs": 1, "owners": torch.zeros(4, dtype=torch.int64), "grown": torch.zeros(0)}


def test_a_memory_of_the_same_training_is_taken_as_it_is():
    given = {"epochs": 3, "owners": torch.tensor([-1, 0, 1, 2]), "grown": torch.ones(7)}
    assert checked_memory(OWN, given, {"owners": 3}) is given


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": "3"},
        {"epochs": -1},
        {"epochs": True},
        {"owners": 3},
        {"owners": torch.zeros(5, dtype=torch.int64)},
        {"owners": torch.zeros(4)},
        {"owners": torch.tensor([0, 1, 2, 3])},
        {"owners": torch.tensor([0, 1, 2, -2])},
        {"grown": torch.ones(7, 1)},
        {"more": 1},
    ],
)
def test_a_memory_that_does_not_fit_is_refused_in_one_line(change):
    with pytest.raises(RunError) as told:
        checked_memory(OWN, OWN | change, {"owners": 3})
    assert "\n" not in str(told.value)


def test_a_memory_that_lacks_something_is_refused():
    with pytest.raises(RunError, match="epochs"):
        checked_memory(OWN, {"owners": OWN["owners"], "grown": OWN["grown"]}, {})
