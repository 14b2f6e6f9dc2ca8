import numpy as np
import pytest
import torch

from recsieve.errors import ConfigError
from recsieve.models.rp3beta import RP3Beta


def test_a_score_is_where_walks_end_divided_by_popularity(fit, weighted, dense):
    train = weighted()
    weights = dense(train)
    to_users = (weights / weights.sum(0).clip(1e-12)).T ** 0.8  # (items, users)
    to_items = (weights / weights.sum(1, keepdims=True).clip(1e-12)) ** 0.8
    walks = to_users @ to_items / weights.sum(0).clip(1e-12) ** 0.4
    np.fill_diagonal(walks, 0)
    everything = fit(RP3Beta(0.8, 0.4, neighbours=0), train).score(torch.arange(30))
    np.testing.assert_allclose(everything.numpy(), weights @ walks, rtol=1e-4, atol=1e-6)
    walks[walks < np.sort(walks, axis=0)[-5]] = 0
    nearest = fit(RP3Beta(0.8, 0.4, neighbours=5), train).score(torch.arange(30))
    np.testing.assert_allclose(nearest.numpy(), weights @ walks, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{"alpha": 0.0}, {"beta": -0.1}, {"neighbours": -1}])
def test_an_impossible_option_says_what_to_give(options):
    with pytest.raises(ConfigError, match="give "):
        RP3Beta(**options)
