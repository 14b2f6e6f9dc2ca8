import numpy as np
import pytest
import torch

from recsieve.denoisers import InteractionMemory
from recsieve.errors import ConfigError, RunError


def add(memory, losses, weights, ids):
    memory.add(torch.tensor(losses), torch.tensor(weights), torch.tensor(ids))


def test_an_epoch_has_the_mean_loss_and_weight_of_each_interaction_and_how_often_it_was_dropped():
    memory = InteractionMemory(3)
    add(memory, [1.0, 9.0, 4.0], [1.0, 1.0, 0.0], [0, -1, 2])
    add(memory, [3.0, 2.0], [0.5, 0.0], [0, 2])
    memory.close_epoch()
    np.testing.assert_array_equal(memory.losses, [[2.0, np.nan, 3.0]])
    np.testing.assert_array_equal(memory.weights, [[0.75, np.nan, 0.0]])
    np.testing.assert_array_equal(memory.dropped, [[0, 0, 2]])
    assert memory.losses.dtype == np.float32


def test_every_epoch_begins_anew():
    memory = InteractionMemory(1)
    for loss in (1.0, 5.0):
        add(memory, [loss], [1.0], [0])
        memory.close_epoch()
    assert memory.losses.tolist() == [[1.0], [5.0]]
    assert memory.epochs == [0, 1]


def test_only_the_epochs_asked_for_are_kept():
    memory = InteractionMemory(1, keep=range(1, 10, 2))
    for loss in (0.0, 1.0, 2.0, 3.0):
        add(memory, [loss], [1.0], [0])
        memory.close_epoch()
    assert memory.losses.tolist() == [[1.0], [3.0]]
    assert memory.epochs == [1, 3]


def test_before_the_first_epoch_has_ended_the_record_is_empty():
    memory = InteractionMemory(4)
    assert memory.losses.shape == memory.weights.shape == memory.dropped.shape == (0, 4)


def test_a_memory_goes_on_where_its_state_was_taken():
    memory, other = InteractionMemory(2), InteractionMemory(2)
    add(memory, [1.0, 2.0], [1.0, 0.0], [0, 1])
    memory.close_epoch()
    add(memory, [3.0], [1.0], [0])
    other.load_state_dict(memory.state_dict())
    for one in (memory, other):
        add(one, [5.0], [1.0], [0])
        one.close_epoch()
    np.testing.assert_array_equal(other.losses, memory.losses)
    assert other.losses[1, 0] == 4.0
    assert other.epochs == memory.epochs == [0, 1]


def test_a_state_of_other_data_and_an_impossible_size_are_refused():
    with pytest.raises(RunError, match="has 2 interactions, but there are 3"):
        InteractionMemory(3).load_state_dict(InteractionMemory(2).state_dict())
    with pytest.raises(ConfigError, match="n_interactions is 0"):
        InteractionMemory(0)
