import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recsieve.data.interactions import CSR
from recsieve.evaluation import ranking
from recsieve.evaluation.ranking import rank_items, rank_scores
from recsieve.models import GMF, MODELS


@settings(deadline=None, max_examples=60)
@given(n_items=st.integers(1, 20_000), k=st.integers(1, 100), seed=st.integers(0, 99), ties=st.booleans())
def test_candidates_in_groups_give_the_same_lists_as_sorting(n_items, k, seed, ties):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n_items).astype(np.float32)
    if ties:
        scores = np.round(scores, 1)
    nothing = CSR(np.zeros(2, np.int64), np.zeros(0, np.int32), n_items)
    expected = np.argsort(-scores, kind="stable")[:k]
    np.testing.assert_array_equal(rank_scores(scores[None], np.zeros(1, np.int32), k, nothing)[0], expected)


@pytest.mark.parametrize("name", ["gmf", "cdae", "neumf"])
def test_tiles_of_items_give_the_lists_of_all_scores_at_once(small_data, monkeypatch, name):
    data, users = small_data(60, 45), np.arange(60, dtype=np.int32)
    model = MODELS[name](data.csr, torch.Generator().manual_seed(0)).eval()
    expected = rank_scores(model.score(torch.arange(60)).numpy(), users, 10, data.csr)
    monkeypatch.setattr(ranking, "_TILE_ITEMS", 7)
    monkeypatch.setattr(ranking, "_TILE_USERS", 11)
    np.testing.assert_array_equal(rank_items(model, users, 10, data.csr)[0], expected)


@pytest.fixture
def model(small_data):
    return GMF(small_data(60, 25).csr, torch.Generator().manual_seed(0))


def test_blocks_of_any_size_give_the_same_lists(model, small_data):
    users, seen = np.arange(60, dtype=np.int32), small_data(60, 25).csr
    whole, _ = rank_items(model, users, 10, seen)
    one_by_one, _ = rank_items(model, users, 10, seen, block_bytes=1)
    np.testing.assert_array_equal(whole, one_by_one)


@pytest.mark.parametrize("together", [1, 2, 3, 5, 7, 9, 11])
def test_scores_are_the_same_to_the_bit_whoever_is_ranked_for_beside(small_data, together):
    data = small_data(60, 500)
    model = MODELS["mf"](data.csr, torch.Generator().manual_seed(0), factors=64).eval()
    users = np.arange(60, dtype=np.int32)
    _, expected = rank_items(model, users, 10, data.csr)
    for first in range(0, 60, together):
        some = users[first : first + together]
        np.testing.assert_array_equal(rank_items(model, some, 10, data.csr, workers=1)[1], expected[some])


def test_lists_hold_no_seen_item_and_are_sorted(model, small_data):
    seen = small_data(60, 25).csr
    top, scores = rank_items(model, np.arange(60, dtype=np.int32), 25, seen)
    for user in range(60):
        shown = top[user][top[user] >= 0]
        assert set(shown) == set(range(25)) - set(seen.row(user))
        assert (np.diff(scores[user][: len(shown)]) <= 0).all()


def test_a_user_who_has_seen_everything_gets_an_empty_list(small_data):
    data = small_data(2, 5, share=1.0)
    model = GMF(data.csr, torch.Generator().manual_seed(0))
    assert (rank_items(model, np.array([1], np.int32), 3, data.csr)[0] == -1).all()


def test_no_users_give_no_lists(model):
    assert rank_items(model, np.zeros(0, np.int32), 3, None)[0].shape == (0, 3)
