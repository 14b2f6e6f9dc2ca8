from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from recsieve.data.splitting import Split
from recsieve.denoisers import LeastPopularDrop, RandomDrop, Reweighted, Truncated
from recsieve.denoisers.registry import DENOISERS
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.models import ials
from recsieve.models.ials import IALS
from recsieve.models.learner import Run


def test_what_is_not_given_suits_the_size_of_the_data(weighted):
    train = weighted(zeros=0)
    settled = IALS(alpha0=0.2).settled(train)
    assert settled.factors == 64
    assert settled.l2 * (len(train) / 30 + 0.2 * 20) == pytest.approx(4)
    assert IALS(8, l2=0.5).settled(train) == (8, 0.1, 0.5, 16)


class PlainIALS:
    """In NumPy: each row solved exactly, or by conjugate gradients with the prior as preconditioner."""

    def __init__(self, options, weights, seed, exact):
        n_users, n_items = weights.shape
        random, deviation = torch.Generator().manual_seed(seed), 0.1 / options.factors**0.5
        self.users = torch.empty(n_users, options.factors).normal_(0, deviation, generator=random).double().numpy()
        self.items = torch.empty(n_items, options.factors).normal_(0, deviation, generator=random).double().numpy()
        self.options, self.exact = options, exact

    def sweep(self, weights):
        self.users = self._solve(self.users, self.items, weights)
        self.items = self._solve(self.items, self.users, weights.T)
        return self.users @ self.items.T

    def _solve(self, solved, fixed, weights):
        alpha0, eye = self.options.alpha0, np.eye(fixed.shape[1])
        rows = []
        for start, c in zip(solved, weights, strict=True):
            prior = alpha0 * fixed.T @ fixed + self.options.l2 * (c.sum() + alpha0 * len(fixed)) * eye
            matrix, right = prior + (fixed.T * c) @ fixed, fixed.T @ c
            rows.append(np.linalg.solve(matrix, right) if self.exact else gradients(matrix, right, prior, start))
        return np.array(rows)


def gradients(matrix, right, prior, x):
    residual = right - matrix @ x
    scaled = direction = np.linalg.solve(prior, residual)
    for _ in range(ials.SWEEP_STEPS):
        if residual @ scaled < 1e-20:
            break
        step = residual @ scaled / (direction @ matrix @ direction)
        x = x + step * direction
        new_residual = residual - step * matrix @ direction
        new_scaled = np.linalg.solve(prior, new_residual)
        direction = new_scaled + new_residual @ new_scaled / (residual @ scaled) * direction
        residual, scaled = new_residual, new_scaled
    return x


def all_scores(fitting):
    scorer = fitting.scorer()
    return scorer.score(torch.arange(scorer.n_users)).numpy()


@pytest.mark.parametrize("exact", [False, True])
def test_each_sweep_is_that_of_plain_numpy(exact, begin, weighted, dense, monkeypatch):
    if exact:
        monkeypatch.setattr(ials, "SWEEP_STEPS", 50)
    train, options = weighted(60, 40), IALS(factors=8, alpha0=0.2, l2=0.02, sweeps=4)
    plain, fitting = PlainIALS(options, dense(train), 5, exact), begin(options, train, seed=5)
    for _ in range(4):
        expected = plain.sweep(dense(train))
        fitting.advance()
        np.testing.assert_allclose(all_scores(fitting), expected, atol=1e-4)


def test_few_steps_a_sweep_come_as_far_as_exact_sweeps(begin, weighted, monkeypatch):
    train, options = weighted(60, 40), IALS(factors=8, l2=0.01, sweeps=16)
    few, exact = begin(options, train), begin(options, train)
    few_losses = [few.advance() for _ in range(16)]
    monkeypatch.setattr(ials, "SWEEP_STEPS", 50)
    assert few_losses[-1] == pytest.approx([exact.advance() for _ in range(16)][-1], rel=0.005)


def test_the_loss_is_the_objective_and_falls(begin, weighted, dense):
    train, options = weighted(), IALS(factors=4, alpha0=0.2, l2=0.02, sweeps=4)
    fitting, weights = begin(options, train), dense(train)
    losses = [fitting.advance() for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    assert fitting.history().to_dict(as_series=False) == {"step": [1, 2, 3, 4], "epoch": [1, 2, 3, 4], "loss": losses}
    scores, scorer = all_scores(fitting), fitting.scorer()
    held_back = sum(
        (0.02 * (sums + 0.2 * n_others) * table.double().square().sum(1).numpy()).sum()
        for table, sums, n_others in ((scorer.users, weights.sum(1), 20), (scorer.items, weights.sum(0), 30))
    )
    objective = (weights * (1 - scores) ** 2).sum() + 0.2 * (scores**2).sum() + held_back
    assert losses[-1] == pytest.approx(objective / len(train), rel=1e-5)


@dataclass
class Recorder:
    """Halves all weights, and remembers what it was shown."""

    batches: list = field(default_factory=list)

    def weights(self, batch):
        self.batches.append(batch)
        return torch.full_like(batch.losses, 0.5)


def test_between_sweeps_a_denoiser_sees_the_loss_of_each_interaction_and_its_weights_are_factors_of_the_next(
    begin, weighted, dense
):
    train, options, denoiser = weighted(), IALS(factors=4, l2=0.02, sweeps=2), Recorder()
    plain, fitting = PlainIALS(options, dense(train), 0, exact=False), begin(options, train, denoiser=denoiser)
    fitting.advance()
    assert not denoiser.batches  # there is nothing to judge by yet
    scores = plain.sweep(dense(train))
    fitting.advance()
    [batch] = denoiser.batches
    np.testing.assert_allclose(batch.losses.numpy(), (1 - scores[train.users, train.items]) ** 2, atol=1e-4)
    assert batch.step == 1
    assert (batch.labels == 1).all()
    assert batch.ids.tolist() == list(range(len(train)))
    assert batch.users.tolist() == train.users.tolist()
    assert batch.items.tolist() == train.items.tolist()
    np.testing.assert_allclose(all_scores(fitting), plain.sweep(dense(train) / 2), atol=1e-4)


def test_a_strategy_that_drops_nothing_gives_the_same_bits_as_none(fit, weighted):
    users = torch.arange(30)
    plain = fit(IALS(factors=4, sweeps=3), weighted()).score(users)
    for strategy in (Truncated(max_drop_rate=0), Reweighted(beta=0)):
        assert torch.equal(fit(IALS(factors=4, sweeps=3), weighted(), denoiser=strategy).score(users), plain)
        assert IALS().accepts(type(strategy))


@pytest.mark.parametrize("denoiser", [None, Truncated(0.3, 4), Reweighted(0.5), RandomDrop(0.3, 4)])
def test_a_resumed_fitting_goes_on_to_the_bit(denoiser, begin, weighted):
    train, options = weighted(), IALS(factors=4, sweeps=5)
    straight, stopped, resumed = (begin(options, train, denoiser=denoiser) for _ in range(3))
    losses = [straight.advance() for _ in range(5)]
    for _ in range(2):
        stopped.advance()
    resumed.load_state_dict(stopped.state_dict())
    assert [resumed.advance() for _ in range(3)] == losses[2:]
    assert resumed.step == resumed.total
    assert np.array_equal(all_scores(resumed), all_scores(straight))
    assert resumed.history().equals(straight.history())


def test_a_state_of_other_data_is_refused(begin, weighted):
    state = begin(IALS(factors=4), weighted(31)).state_dict()
    with pytest.raises(RunError, match="users"):
        begin(IALS(factors=4), weighted(30)).load_state_dict(state)


@pytest.mark.parametrize("column", ["users", "items"])
@pytest.mark.parametrize("code", [-1, 30])
def test_a_code_that_no_id_has_is_refused_before_a_kernel_reads_memory_there(begin, weighted, column, code):
    train = weighted()
    codes = getattr(train, column).copy()
    codes[0] = code
    with pytest.raises(DataError, match=f"there are codes from .*{code}"):
        begin(IALS(factors=2), replace(train, **{column: codes}))


def test_the_seed_decides_the_first_vectors(begin, weighted):
    one, same, other = (all_scores(begin(IALS(factors=4), weighted(), seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


def test_a_new_user_is_solved_for_the_items(fit, weighted, dense):
    train, options = weighted(), IALS(factors=6, alpha0=0.2, l2=0.02, sweeps=3)
    scorer, profiles = fit(options, train), dense(weighted(4, 20, seed=7))
    items = scorer.items.double().numpy()
    plain = PlainIALS(options, profiles, 0, exact=True)
    expected = plain._solve(plain.users, items, profiles) @ items.T
    new = scorer.fold_in(csr_array(profiles.astype(np.float32)))
    np.testing.assert_allclose(new.score(torch.arange(4)).numpy(), expected, atol=1e-5)


def test_similar_items_have_vectors_in_the_same_direction(fit, weighted):
    scorer = fit(IALS(factors=6), weighted())
    similar = scorer.similar(torch.tensor([2, 5]))
    expected = torch.nn.functional.cosine_similarity(scorer.items[[2, 5], None], scorer.items[None], dim=-1)
    torch.testing.assert_close(similar, expected)


def test_a_strategy_is_told_of_the_data(weighted):
    train, seen = weighted(), []

    def make(context):
        seen.append(context)
        return LeastPopularDrop(0.2, 1, context=context)

    fitting = IALS(factors=4, sweeps=2).begin(Split.of_training(train), Run(0, make))
    fitting.advance()
    fitting.advance()
    [context] = seen
    assert context.popularity.tolist() == train.item_counts().tolist()
    assert (context.n_interactions, context.steps_per_epoch, context.losses_per_positive) == (len(train), 1, 1)


@pytest.mark.parametrize("option", ["factors", "alpha0", "l2", "sweeps"])
def test_an_impossible_option_says_what_to_give(option):
    with pytest.raises(ConfigError, match=f"{option} is 0.*give"):
        IALS(**{option: 0})


@pytest.mark.parametrize("name", DENOISERS)
def test_a_strategy_that_does_more_than_weigh_is_refused_and_none_is_left_without_effect(name):
    strategy = DENOISERS[name]
    only_weighs = not any(hasattr(strategy, more) for more in ("end_epoch", "first_epoch", "choose"))
    assert IALS().accepts(strategy) == (only_weighs and not getattr(strategy, "uses_noise_labels", False))
