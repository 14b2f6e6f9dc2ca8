"""What every registered model promises."""

import pytest
import torch

from recsieve.models import MODELS


@pytest.fixture(params=MODELS)
def model(request, small_data):
    data = small_data()
    made = MODELS[request.param](data.csr, torch.Generator().manual_seed(0))
    with torch.no_grad():  # weights far from zero, so that a mistake in a formula shows
        for weight in made.parameters():
            weight.normal_(0, 0.5, generator=torch.Generator().manual_seed(1))
    return made.eval()


def test_scores_of_all_items_equal_the_logits_of_the_pairs(model):
    users = torch.tensor([3, 0, 7, 3])
    scores = model.score(users)
    assert scores.shape == (4, model.n_items)
    pairs = model(users.repeat_interleave(model.n_items), torch.arange(model.n_items).repeat(4))
    torch.testing.assert_close(scores.flatten(), pairs, atol=1e-5, rtol=1e-4)


def test_a_batch_of_one_gives_one_logit(model):
    assert model(torch.tensor([0]), torch.tensor([0])).shape == (1,)


def test_int32_indices_work_as_well_as_int64(model):
    users, items = torch.tensor([1, 2, 2]), torch.tensor([4, 5, 6])
    torch.testing.assert_close(model(users.int(), items.int()), model(users, items))


def test_scoring_leaves_no_gradient_and_the_training_mode_as_it_was(model):
    model.train()
    assert not model.score(torch.tensor([0])).requires_grad
    assert model.training


def test_embeddings_give_sparse_gradients(model):
    model.train()
    model(torch.tensor([0, 1]), torch.tensor([0, 1])).sum().backward()
    tables = [w for w in model.parameters() if w.shape[0] in (model.n_users, model.n_items) and w.ndim == 2]
    assert tables
    assert all(table.grad.is_sparse for table in tables)


def test_the_same_generator_gives_the_same_weights(small_data):
    for make in MODELS.values():
        one, two = (make(small_data().csr, torch.Generator().manual_seed(7)).state_dict() for _ in range(2))
        assert all(torch.equal(one[name], two[name]) for name in one)


def test_weights_travel_through_state_dict(model, small_data):
    other = type(model)(small_data().csr, torch.Generator().manual_seed(99))
    other.load_state_dict(model.state_dict())
    users = torch.arange(5)
    assert torch.equal(other.eval().score(users), model.score(users))
