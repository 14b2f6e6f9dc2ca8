import torch

from recsieve.data.interactions import CSR
from recsieve.models import GMF
from recsieve.models.offset import NOISE, Offset, OffsetScorer

USERS, ITEMS = 3, 4


def parts() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = {"users": (USERS,), "items": (ITEMS,), "user_factors": (USERS, 2), "item_factors": (ITEMS, 2)}
    return {name: torch.randn(*shapes[name], generator=generator) for name in NOISE}


def model() -> GMF:
    pairs = torch.zeros(0, dtype=torch.int32).numpy()
    return GMF(CSR.from_pairs(pairs, pairs, USERS, ITEMS), torch.Generator().manual_seed(0))


def test_the_offset_is_the_items_number_and_the_log_of_the_probability_of_no_noise():
    noise, item = parts(), torch.arange(4.0)
    probability = torch.sigmoid(
        noise["users"][2] + noise["items"][1] + noise["user_factors"][2] @ noise["item_factors"][1]
    )
    offset = Offset(item, noise)(torch.tensor([2]), torch.tensor([1]))
    assert torch.allclose(offset, 1.0 + torch.log(1 - probability))


def test_pairs_and_whole_rows_are_shifted_alike():
    for noise in (None, parts()):
        offset = Offset(torch.arange(4.0), noise)
        shifted = OffsetScorer(model(), offset)
        users, items = torch.arange(USERS).repeat_interleave(ITEMS), torch.arange(ITEMS).repeat(USERS)
        with torch.no_grad():
            by_pair = (model()(users, items) + offset(users, items)).view(USERS, ITEMS)
        assert torch.allclose(shifted.score(torch.arange(USERS)), by_pair, atol=1e-6)


def test_an_offset_comes_back_from_its_state():
    for noise in (None, parts()):
        offset = Offset(torch.arange(4.0), noise)
        back = Offset.from_state(offset.state_dict())
        assert torch.equal(back.of_all_items(torch.arange(USERS)), offset.of_all_items(torch.arange(USERS)))
