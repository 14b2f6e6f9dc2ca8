import pytest
import torch

from recsieve.denoisers import Context, LeastPopularDrop, LossBatch
from recsieve.errors import ConfigError

CONTEXT = Context(9, 4, 62, torch.tensor([50, 2, 9, 1]), steps_per_epoch=1, losses_per_positive=2)


def test_the_observed_interactions_with_the_rarest_items_go_whatever_their_losses():
    items = torch.tensor([0, 1, 2, 3, 0, 1])
    labels = torch.tensor([1.0, 1.0, 1.0, 0.0, 1.0, 0.0])  # the rarest item is a negative here
    losses = torch.tensor([9.0, 0.1, 0.2, 5.0, 9.0, 9.0])
    strategy = LeastPopularDrop(0.4, 1, context=CONTEXT)
    assert strategy.weights(LossBatch(losses, labels, 1, items=items)).tolist() == [1, 0, 0, 1, 1, 1]


def test_of_equally_popular_items_the_first_in_the_batch_goes():
    batch = LossBatch(torch.tensor([1.0, 2.0, 3.0]), torch.ones(3), 1, items=torch.tensor([0, 1, 1]))
    assert LeastPopularDrop(0.4, 1, context=CONTEXT).weights(batch).tolist() == [1, 0, 1]


def test_a_batch_without_items_is_one_clear_error():
    with pytest.raises(ConfigError, match="give `items`"):
        LeastPopularDrop(context=CONTEXT).weights(LossBatch(torch.ones(2), torch.ones(2), 1))
