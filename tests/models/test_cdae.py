import pytest
import torch

from recsieve.errors import ConfigError
from recsieve.models import CDAE


def make(small_data, **options):
    return CDAE(small_data(50, 40).csr, torch.Generator().manual_seed(0), **options)


def test_corruption_leaves_out_its_share_and_scales_up_the_rest(small_data):
    model = make(small_data, corruption=0.25)
    users, items = torch.arange(50).repeat_interleave(40), torch.arange(40).repeat(50)
    drawn = torch.stack([model._corrupt(users, items) for _ in range(20)])
    assert (drawn == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert drawn.max().item() == pytest.approx(1 / 0.75)
    assert not torch.equal(drawn[0], drawn[1])


def test_corruption_goes_on_from_a_state_dict_with_the_same_draws(small_data):
    one, two = make(small_data), make(small_data)
    users, items = torch.arange(6), torch.arange(6)
    one(users, items)
    two.load_state_dict(one.state_dict())
    assert torch.equal(one(users, items), two(users, items))


def test_a_user_with_an_empty_profile_is_encoded_from_their_own_vector(small_data):
    data = small_data(50, 40)
    model = CDAE(data.take(data.users != 4).csr, torch.Generator().manual_seed(0)).eval()
    expected = torch.sigmoid(model.user.weight[4] + model.hidden_bias)
    torch.testing.assert_close(model.encode(torch.tensor([3, 4]))[1], expected)


def test_an_impossible_option_says_what_to_give(small_data):
    with pytest.raises(ConfigError, match="from 0 to below 1"):
        make(small_data, corruption=1.0)
    with pytest.raises(ConfigError, match="did you mean 'sigmoid'"):
        make(small_data, activation="sigmod")
