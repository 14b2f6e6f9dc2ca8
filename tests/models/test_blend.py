import pytest
import torch

from recsieve.data.interactions import CSR
from recsieve.models import GMF
from recsieve.models.blend import NOISE, Blend, Offset, blended
from recsieve.models.popularity import PopularityScorer

USERS, ITEMS = 3, 4
ALL = torch.arange(USERS)


def parts() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = {"users": (USERS,), "items": (ITEMS,), "user_factors": (USERS, 2), "item_factors": (ITEMS, 2)}
    return {name: torch.randn(*shapes[name], generator=generator) for name in NOISE}


def model(seed=0) -> GMF:
    pairs = torch.zeros(0, dtype=torch.int32).numpy()
    return GMF(CSR.from_pairs(pairs, pairs, USERS, ITEMS), torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_the_offset_is_the_items_number_and_c_times_the_log_of_the_probability_of_no_noise(strength):
    noise, item = parts(), torch.arange(4.0)
    probability = torch.sigmoid(
        noise["users"][2] + noise["items"][1] + noise["user_factors"][2] @ noise["item_factors"][1]
    )
    offset = Offset(item, noise, strength)(torch.tensor([2]))[0, 1]
    assert torch.allclose(offset, 1.0 + strength * torch.log(1 - probability))


def test_logits_are_offset_as_they_are_and_other_scores_by_their_logarithm():
    offset = Offset(torch.arange(4.0))
    with_offset = Blend([model()], offset=offset).score(ALL)
    assert torch.allclose(with_offset, model().score(ALL) + torch.arange(4.0))
    counts = PopularityScorer(USERS, torch.tensor([5.0, 1.0, 0.0, 2.0]))
    expected = torch.tensor([5.0, 1.0, 1e-4, 2.0]).log() + torch.arange(4.0)
    assert torch.allclose(Blend([counts], offset=offset).score(ALL), expected.expand(USERS, ITEMS))


def test_a_blend_weighs_scores_of_mean_0_and_deviation_1():
    one, two = model().score(ALL), 100 * model(1).score(ALL) + 7

    def standard(scores):
        return (scores - scores.mean(1, keepdim=True)) / scores.std(1, keepdim=True)

    assert torch.allclose(blended([one, two], (0.7, 0.3)), 0.7 * standard(one) + 0.3 * standard(two), atol=1e-5)


def test_one_model_alone_ranks_by_its_own_product():
    assert Blend([model()]).factors(ALL) is not None
    assert Blend([model()], offset=Offset(torch.zeros(4))).factors(ALL) is None
    assert Blend([model(), model(1)], (0.5, 0.5)).factors(ALL) is None
    assert torch.equal(Blend([model()]).score(ALL), model().score(ALL))


def test_an_offset_comes_back_from_its_state():
    for noise in (None, parts()):
        offset = Offset(torch.arange(4.0), noise, 0.25)
        assert torch.equal(Offset.from_state(offset.state_dict())(ALL), offset(ALL))
