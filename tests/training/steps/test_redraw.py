import math
from collections import Counter

import numpy as np
import pytest
import torch

from recsieve.data.sharing import share_out
from recsieve.denoisers import PLD, Context
from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS
from recsieve.objectives import BCE, BPR
from recsieve.sampling import Sampler
from recsieve.training.steps import make_stepper
from recsieve.training.steps.redraw import Redraw


def make(data, objective, engine="auto", **options):
    context = Context(data.n_users, data.n_items, len(data), torch.ones(data.n_items), 9, 1)
    model = MODELS["mf"](data.csr, torch.Generator().manual_seed(0), factors=4)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 1, generator=torch.Generator().manual_seed(1))
    loss = DenoisedLoss(PLD(plain_epochs=0, context=context, **options), objective)
    inner, _ = make_stepper(model, loss, 1e-3, engine)
    return Redraw(inner, model, loss, data, seed=0), model


@pytest.mark.parametrize("objective", [BPR(), BCE()], ids=["bpr", "bce"])
def test_the_losses_of_candidates_are_those_of_the_model_with_the_negatives_of_the_row(small_data, objective):
    data = small_data()
    redraw, model = make(data, objective)
    batch = next(Sampler(data, seed=0, negatives=2).batches(0, 30))
    heads = (batch.ids >= 0).nonzero().squeeze(1)
    candidates = redraw.draw(batch.users[heads].numpy(), 5, np.random.default_rng(0))
    found = redraw.losses(batch, heads, candidates)
    for place, row in enumerate(heads.tolist()):
        user = int(batch.users[row])
        scores = (model.item.weight @ model.user.weight[user]).tolist()
        for k, i in enumerate(candidates[place].tolist()):
            assert data.users[i] == user
            own, others = scores[data.items[i]], [scores[int(batch.items[row + j])] for j in (1, 2)]
            bpr = sum(math.log1p(math.exp(other - own)) for other in others) / 2
            expected = bpr if objective.pairwise else math.log1p(math.exp(-own))
            assert float(found[place, k]) == pytest.approx(expected, abs=1e-5)


def test_candidates_are_drawn_evenly_and_none_twice_where_a_user_has_enough(small_data):
    data = small_data()
    redraw, _ = make(data, BPR())
    user = int(np.argmax(data.user_counts()))
    n = int(data.user_counts()[user])
    drawn = redraw.draw(np.full(4000, user), 3, np.random.default_rng(0)).numpy()
    assert all(len(set(row)) == 3 for row in drawn)
    counts = Counter(drawn.ravel().tolist())
    assert len(counts) == n
    assert max(abs(count - 12_000 / n) for count in counts.values()) < 5 * math.sqrt(12_000 / n)
    few = int(np.argmin(np.where(data.user_counts() > 0, data.user_counts(), 99)))
    assert redraw.draw(np.array([few]), 50, np.random.default_rng(0)).shape == (1, 50)


def test_the_smallest_loss_is_taken_at_a_low_temperature_and_steps_are_made_on_it(small_data):
    data = small_data()
    redraw, model = make(data, BPR(), choice_temperature=1e-4, pool_size=200)
    batch = next(Sampler(data, seed=0).batches(0, 40))
    scores = (model.user.weight @ model.item.weight.T).detach().numpy()
    users = batch.users[batch.ids >= 0].numpy()
    stepped = redraw(batch)
    best = [max(data.items[data.users == user], key=lambda item, user=user: scores[user, item]) for user in users]
    assert data.items[stepped.ids.numpy()].tolist() == best  # of all of a user's: 200 draws find each
    assert not np.allclose((model.user.weight @ model.item.weight.T).detach().numpy(), scores)


def test_drawing_among_interactions_is_refused_in_a_group_of_ranks(small_data, in_ranks):
    with pytest.raises(ConfigError, match="one process only"):
        in_ranks(2, lambda group: make(share_out(small_data(), group), BPR()))
