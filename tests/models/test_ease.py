from dataclasses import replace

import numpy as np
import pytest
import torch

from recsieve.errors import ConfigError
from recsieve.models import ease
from recsieve.models.ease import EASE


def plain_ease(profiles, l2):
    inverse = np.linalg.inv(profiles.T @ profiles + l2 * np.eye(profiles.shape[1]))
    weights = -inverse / inverse.diagonal()
    np.fill_diagonal(weights, 0)
    return weights


def test_it_is_the_closed_form(fit, small_data, dense):
    train = small_data(60, 30)
    expected = plain_ease(dense(train), 20.0)
    scorer = fit(EASE(20.0), train)
    np.testing.assert_allclose(scorer.weights.numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(scorer.score(torch.arange(60)).numpy(), dense(train) @ expected, atol=1e-5)


def test_weights_enter_by_their_root_in_the_gram_matrix_and_in_the_profiles(fit, weighted, dense):
    train = weighted(60, 30)
    profiles = np.sqrt(dense(train))
    scores = fit(EASE(20.0), train).score(torch.arange(60))
    np.testing.assert_allclose(scores.numpy(), profiles @ plain_ease(profiles, 20.0), atol=1e-5)


def test_weights_on_targets_solve_each_item_for_its_weighted_column_without_itself(fit, weighted, dense):
    train = weighted(60, 30)
    weights, profiles = dense(train), dense(replace(train, weight=None))
    scorer = fit(EASE(20.0, weights="targets"), train)
    for item in range(30):
        # Ridge regression of the item's weights on all other columns.
        others = np.delete(profiles, item, axis=1)
        expected = np.linalg.solve(others.T @ others + 20.0 * np.eye(29), others.T @ weights[:, item])
        np.testing.assert_allclose(np.delete(scorer.weights[:, item].numpy(), item), expected, atol=1e-5)
    np.testing.assert_allclose(scorer.score(torch.arange(60)).numpy(), profiles @ scorer.weights.numpy(), atol=1e-5)


def test_what_predicts_an_item_is_similar_to_it(fit, small_data):
    scorer = fit(EASE(20.0), small_data())
    assert torch.equal(scorer.similar(torch.tensor([3, 1])), scorer.weights.T[[3, 1]])


def test_a_catalogue_that_does_not_fit_names_the_memory_and_ials(fit, weighted, monkeypatch):
    monkeypatch.setattr(ease, "free_memory", lambda: 2**10)
    with pytest.raises(ConfigError, match=r"EASE on 20 items needs 0\.0 GB.*use ials"):
        fit(EASE(), weighted())
    monkeypatch.setattr(ease, "free_memory", lambda: 2 * 4 * 20 * 20)
    fit(EASE(), weighted())
    with pytest.raises(ConfigError, match="use ials"):
        fit(EASE(weights="targets"), weighted())


@pytest.mark.parametrize(("options", "said"), [({"l2": 0.0}, "above 0"), ({"weights": "all"}, "give 'profiles' or")])
def test_an_impossible_option_says_what_to_give(options, said):
    with pytest.raises(ConfigError, match=said):
        EASE(**options)
