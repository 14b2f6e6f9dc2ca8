import numpy as np
import pytest
from scipy.special import expit

from recsieve.audit.mixed_model import Design, fit_mixed_model


@pytest.fixture
def world():
    """Labels drawn from known effects of users and items and a known slope of the item's first column."""
    rng = np.random.default_rng(0)
    n_users, n_items, n = 200, 100, 20_000
    design = Design(*(rng.normal(size=shape).astype(np.float32) for shape in [(200, 3), (100, 3), (200, 2), (100, 2)]))
    users, items = rng.integers(0, n_users, n).astype(np.int32), rng.integers(0, n_items, n).astype(np.int32)
    logits = rng.normal(size=(n, 1)).astype(np.float32)
    of_users, of_items = rng.normal(0, 0.8, n_users), rng.normal(0, 0.4, n_items)
    product = design.user_factors[users, 0] * design.item_factors[items, 0]
    truth = -1 + 0.5 * logits[:, 0] - 0.7 * design.items[items, 0] + 0.6 * product + of_users[users] + of_items[items]
    noise = rng.random(n) < expit(truth)
    return design, users, items, logits, noise, truth, of_users


def test_known_effects_and_variances_are_found_again(world):
    design, users, items, logits, noise, truth, of_users = world
    model = fit_mixed_model(design, users, items, logits, noise)
    assert model.slopes[0] == pytest.approx(0.5, abs=0.07)
    assert np.corrcoef(model.user_effects, of_users)[0, 1] > 0.9
    assert np.sqrt(model.variances["user"]) == pytest.approx(0.8, abs=0.15)
    assert np.sqrt(model.variances["item"]) == pytest.approx(0.4, abs=0.15)
    assert np.corrcoef(model.predict(users, items, logits), truth)[0, 1] > 0.95


def test_few_labels_say_little(world):
    design, users, items, logits, noise, *_ = world
    few = slice(0, 60)
    model = fit_mixed_model(design, users[few], items[few], logits[few], noise[few])
    unseen = np.setdiff1d(np.arange(200), users[few])
    assert (model.user_effects[unseen] == 0).all()
    assert np.abs(model.user_effects).max() < 2


def test_labels_of_one_kind_give_finite_logits(world):
    design, users, items, logits, noise, *_ = world
    for kind in (np.zeros(len(noise), bool), np.ones(len(noise), bool)):
        model = fit_mixed_model(design, users, items, logits, kind)
        assert np.isfinite(model.predict(users, items, logits)).all()
