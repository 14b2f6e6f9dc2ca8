import numpy as np
import pytest
import torch

from recsieve.errors import ConfigError
from recsieve.models.itemknn import ItemKNN


def plain_neighbours(columns, k):
    """The k largest of each column of the cosines of columns."""
    columns = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
    cosines = columns.T @ columns
    np.fill_diagonal(cosines, 0)
    floors = np.sort(cosines, axis=0)[-k]
    return np.where(cosines >= floors, cosines, 0)


def plain_bm25(weights):
    n_users = len(weights)
    rarity = np.log(n_users / (1 + weights.sum(0)))
    length = 0.25 + 0.75 * weights.sum(1) / weights.sum(1).mean()
    return weights * 2.2 / (1.2 * length[:, None] + weights) * rarity.clip(0)


@pytest.mark.parametrize("k", [1, 5, 19])
def test_a_score_is_the_sum_of_cosines_with_the_nearest(fit, weighted, dense, k):
    train = weighted()
    weights = dense(train)
    scores = fit(ItemKNN("cosine", k), train).score(torch.arange(30))
    np.testing.assert_allclose(scores.numpy(), weights @ plain_neighbours(weights, k), rtol=1e-5, atol=1e-5)


def test_bm25_weighs_items_as_words_of_the_documents_that_users_are(fit, weighted, dense):
    train = weighted()
    weights = dense(train)
    scores = fit(ItemKNN("bm25", 5), train).score(torch.arange(30))
    np.testing.assert_allclose(scores.numpy(), weights @ plain_neighbours(plain_bm25(weights), 5), rtol=1e-4, atol=1e-5)


def test_no_neighbours_are_all(fit, weighted):
    users = torch.arange(30)
    assert torch.equal(fit(ItemKNN(neighbours=0), weighted()).score(users),
                       fit(ItemKNN(neighbours=100), weighted()).score(users))  # fmt: skip


def test_each_item_has_its_nearest_and_not_itself(fit, weighted):
    similar = fit(ItemKNN("cosine", 4), weighted()).similar(torch.arange(20))
    assert ((similar > 0).sum(1) == 4).all()
    assert not similar.diagonal().any()


def test_of_equally_near_items_the_first_are_kept(fit, small_data):
    everything = small_data(6, 8, share=1.1)  # everybody has every item
    similar = fit(ItemKNN("cosine", 3), everything).similar(torch.tensor([0, 5]))
    assert [row.nonzero().flatten().tolist() for row in similar] == [[1, 2, 3], [0, 1, 2]]


@pytest.mark.parametrize(("options", "said"), [({"neighbours": -1}, "0 \\(all\\)"), ({"similarity": "bm"}, "'bm25'")])
def test_an_impossible_option_says_what_to_give(options, said):
    with pytest.raises(ConfigError, match=said):
        ItemKNN(**options)
