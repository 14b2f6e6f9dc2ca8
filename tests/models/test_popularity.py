import pytest
import torch

from recsieve.errors import ConfigError
from recsieve.models.popularity import Popularity


def test_a_score_is_the_sum_of_an_items_weights_for_everybody(fit, weighted, dense):
    train = weighted()
    scores = fit(Popularity(), train).score(torch.tensor([4, 0]))
    torch.testing.assert_close(scores, torch.from_numpy(dense(train).sum(0)).float().expand(2, -1))


def test_items_are_not_similar_by_popularity(fit, weighted):
    with pytest.raises(ConfigError, match="popularity cannot find similar items"):
        fit(Popularity(), weighted()).similar(torch.tensor([0]))
