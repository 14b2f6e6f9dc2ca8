"""Users who were not fitted, items that are alike, and what speaks for an item: for every model that knows."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from recsieve.denoisers import KeepAll
from recsieve.errors import ConfigError, DataError
from recsieve.models import MODELS, NMTR, Model, Run
from recsieve.models.blend import NOISE, Blend, Offset
from recsieve.models.ease import EASE
from recsieve.models.ials import IALS
from recsieve.models.itemknn import ItemKNN
from recsieve.objectives import BCE
from recsieve.training import TrainingPlan
from recsieve.training.learner import GradientLearner

GRADIENT = [name for name, model in MODELS.items() if issubclass(model, Model) and model is not NMTR]
SMALL = {"lightgcn": {"factors": 8}, "mf": {"factors": 8}, "gmf": {"factors": 8}, "cdae": {"factors": 8}}


@pytest.fixture(scope="module")
def two_kinds(split):
    """A split of users who have the even items and users who have the odd ones, most of them."""
    rng = np.random.default_rng(0)
    users, items = np.meshgrid(np.arange(40, dtype=np.int32), np.arange(24, dtype=np.int32), indexing="ij")
    there = ((users + items) % 2 == 0) & (rng.random(users.shape) < 0.6)
    made = replace(split.train, users=users[there], items=items[there], false_positive=None)
    return replace(split, train=made)


def fitted(name, split):
    plan = TrainingPlan(epochs=10, batch_size=64, learning_rate=0.05)
    learner = GradientLearner(MODELS[name], SMALL.get(name, {"factors": 4}), plan, BCE())
    return learner.begin(split, Run(0, lambda context: KeepAll())).finish()


@pytest.fixture(scope="module")
def models(two_kinds):
    return {name: fitted(name, two_kinds) for name in GRADIENT}


def profiles(n_items, *rows):
    matrix = np.zeros((len(rows), n_items), np.float32)
    for row, items in enumerate(rows):
        matrix[row, items] = 1
    return csr_array(matrix)


@pytest.mark.parametrize("name", GRADIENT)
def test_a_new_user_is_offered_what_users_with_the_same_items_have(models, name):
    model = models[name]
    scores = model.fold_in(profiles(model.n_items, [0, 2, 4, 6], [1, 3, 5, 7])).score(torch.arange(2))
    even, odd = scores[:, 8:24:2].mean(1), scores[:, 9:24:2].mean(1)
    assert even[0] > odd[0]
    assert odd[1] > even[1]


@pytest.mark.parametrize("name", GRADIENT)
def test_a_new_user_does_not_depend_on_who_is_asked_with(models, name):
    model = models[name]
    together = model.fold_in(profiles(model.n_items, [0, 2], [1, 3, 5], [])).score(torch.arange(3))
    for row, items in enumerate([[0, 2], [1, 3, 5], []]):
        alone = model.fold_in(profiles(model.n_items, items)).score(torch.arange(1))
        torch.testing.assert_close(alone[0], together[row], atol=1e-4, rtol=1e-4)
    assert together.isfinite().all()


@pytest.mark.parametrize("name", GRADIENT)
def test_logits_of_new_users_stay_logits(models, name):
    folded = models[name].fold_in(profiles(models[name].n_items, [0, 2]))
    assert torch.equal(folded.log_score(torch.arange(1)), folded.score(torch.arange(1)))


@pytest.mark.parametrize("name", GRADIENT)
def test_profiles_of_other_items_are_refused(models, name):
    with pytest.raises(DataError, match="profiles"):
        models[name].fold_in(csr_array((1, 99)))


@pytest.mark.parametrize("name", [name for name in GRADIENT if name != "neumf"])
def test_items_that_the_same_users_have_are_alike_and_speak_for_each_other(models, name):
    model = models[name]
    alike = model.similar(torch.tensor([0]))[0]
    assert alike[2:24:2].mean() > alike[1:24:2].mean()
    speaking = model.contributions(profiles(model.n_items, [0, 2, 3]), torch.tensor([8, 10, 9]))
    assert speaking.shape == (3, 3)
    assert speaking[:2, :2].mean() > speaking[:2, 2].mean()
    assert speaking[2, 2] > speaking[2, :2].mean()


def test_a_model_that_knows_nothing_of_it_says_so(models):
    with pytest.raises(ConfigError, match=r"NeuMF cannot find similar items"):
        models["neumf"].similar(torch.tensor([0]))
    with pytest.raises(ConfigError, match=r"NeuMF cannot explain recommendations"):
        models["neumf"].contributions(profiles(models["neumf"].n_items, [0]), torch.tensor([0]))


@pytest.mark.parametrize("learner", [EASE(), EASE(l2=5.0, weights="targets"), ItemKNN("cosine", 5), IALS(4, sweeps=3)])
def test_contributions_sum_to_the_score_of_the_folded_in_user(learner, fit, weighted):
    train = weighted()
    scorer = fit(learner, train)
    profile = csr_array(
        (train.weight, (train.users, train.items)), shape=(train.n_users, train.n_items)
    )[[3]]  # fmt: skip
    parts = scorer.contributions(profile, torch.arange(scorer.n_items))
    scores = scorer.fold_in(profile).score(torch.arange(1))[0]
    torch.testing.assert_close(parts.sum(1), scores, atol=1e-5, rtol=1e-4)


def test_a_solved_vector_is_where_no_direction_is_better(models):
    """The gradient of the loss in new_users.py vanishes at the vector of a folded-in user."""
    from recsieve.models.new_users import Priors, solve_users

    model = models["mf"]
    items, priors = model.item.weight.detach().double(), Priors(model.user.weight, model.profile_sizes)
    prior = priors.of(3)
    (vector,) = solve_users(profiles(model.n_items, [0, 2, 4]), priors, model.item.weight.detach())
    vector = vector.double().requires_grad_()
    chances, away = (items @ vector).log_softmax(0), vector - prior.mean
    loss = -chances[[0, 2, 4]].sum() + away @ prior.precision @ away / 2
    (gradient,) = torch.autograd.grad(loss, vector)
    assert (prior.covariance @ gradient).abs().max() < 1e-3


def test_the_prior_of_a_new_user_is_of_fitted_users_with_about_as_many_items():
    from recsieve.models.new_users import Priors

    sizes = np.repeat([0, 2, 50], [100, 3000, 3000])
    vectors = torch.from_numpy(np.random.default_rng(0).normal(sizes, 1.0, (4, len(sizes))).T)
    priors = Priors(vectors, sizes)
    for size, near in ((1, 2), (2, 2), (50, 50), (900, 50)):
        assert (priors.of(size).mean - near).abs().max() < 0.5


@pytest.mark.parametrize("name", ["mf", "gmf"])
def test_contributions_to_a_product_sum_to_what_the_score_is_above_the_mean_users(models, name):
    model, profile = models[name], profiles(models[name].n_items, [0, 2, 4, 9])
    parts = model.contributions(profile, torch.arange(model.n_items))
    new, mean = model.fold_in(profiles(model.n_items, [0, 2, 4, 9], [])).score(torch.arange(2))
    torch.testing.assert_close(parts.sum(1), new - mean, atol=2e-3, rtol=2e-3)


def test_a_blend_folds_in_its_parts_and_takes_the_mean_user_for_the_offset(fit, weighted):
    train = weighted()
    parts, n = [fit(EASE(), train), fit(ItemKNN("cosine", 5), train)], train.n_items
    shapes = {"users": (train.n_users,), "items": (n,), "user_factors": (train.n_users, 2), "item_factors": (n, 2)}
    noise = {name: torch.randn(shapes[name]) for name in NOISE}
    blend = Blend(parts, (0.7, 0.3), Offset(torch.randn(n), noise, 0.5))
    new = profiles(n, [0, 2], [1])
    folded = blend.fold_in(new)
    logits = noise["users"].mean() + noise["items"] + noise["item_factors"] @ noise["user_factors"].mean(0)
    expected = blend.offset.item - 0.5 * torch.nn.functional.softplus(logits)
    torch.testing.assert_close(folded.offset(torch.arange(2)), expected.expand(2, -1))
    alone = Blend(parts, (0.7, 0.3)).fold_in(new).score(torch.arange(2))
    assert not torch.equal(folded.score(torch.arange(2)), alone)
    torch.testing.assert_close(alone, Blend([p.fold_in(new) for p in parts], (0.7, 0.3)).score(torch.arange(2)))


def test_contributions_to_a_blend_sum_to_its_score_up_to_a_constant_for_the_user(fit, weighted):
    train = weighted()
    blend = Blend([fit(EASE(), train), fit(ItemKNN("cosine", 5), train)], (0.7, 0.3))
    profile = profiles(train.n_items, [0, 2, 5])
    rest = blend.fold_in(profile).score(torch.arange(1))[0] - blend.contributions(
        profile, torch.arange(train.n_items)
    ).sum(1)
    torch.testing.assert_close(rest, rest.mean().expand_as(rest), atol=1e-4, rtol=1e-4)
