"""iALS on several ranks, beside the same fit in one process."""

import copy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

from recsieve.data.interactions import Interactions
from recsieve.data.sharing import share_out
from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll, RandomDrop, Reweighted, Truncated
from recsieve.denoisers.registry import DENOISERS, make_denoiser
from recsieve.models.ials import IALS
from recsieve.models.ials_shares import share_by_item, share_by_user
from recsieve.models.learner import Run

OPTIONS = IALS(factors=8, sweeps=5, l2=0.02)
STRATEGIES = [KeepAll(), Truncated(0.3, 4), Reweighted(0.5), RandomDrop(0.3, 4)]


def begun(train, denoiser=None, options=OPTIONS):
    run = Run(3, lambda context: denoiser or KeepAll(), train.group)
    return options.begin(Split.of_training(train), run)


def fitted(train, denoiser=None, options=OPTIONS):
    """The losses, the vectors, and the five best items of each user."""
    fitting = begun(train, denoiser, options)
    losses = [fitting.advance() for _ in range(fitting.total)]
    scorer = fitting.scorer()
    scores = scorer.score(torch.arange(train.n_users)).numpy()
    return losses, scores, np.argsort(-scores, kind="stable")[:, :5], scorer.users.clone(), scorer.items.clone()


def assert_close(one, other):
    for values, others in zip(one[:2], other[:2], strict=True):
        np.testing.assert_allclose(others, values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("denoiser", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_sweeps_are_those_of_one_process(weighted, in_ranks, denoiser, n_ranks):
    data = weighted(70, 40)
    (alone,) = in_ranks(1, lambda group: fitted(share_out(data, group), denoiser))
    ranks = in_ranks(n_ranks, lambda group: fitted(share_out(data, group), denoiser))
    for rank in ranks:
        assert_close(alone, rank)
        assert np.array_equal(alone[2], rank[2])
        assert rank[0] == ranks[0][0]  # all have the same, to the bit
        assert torch.equal(rank[3], ranks[0][3])
        assert torch.equal(rank[4], ranks[0][4])


@pytest.mark.parametrize("name", [name for name, strategy in DENOISERS.items() if IALS().accepts(strategy)])
def test_every_strategy_sees_what_it_sees_in_one_process(weighted, in_ranks, name):
    def work(group):
        train = share_out(weighted(40, 30), group)
        run = Run(3, lambda context: make_denoiser(name, {}, context), group)
        fitting = OPTIONS.begin(Split.of_training(train), run)
        return [fitting.advance() for _ in range(4)]

    (alone,) = in_ranks(1, work)
    for losses in in_ranks(2, work):
        assert losses == pytest.approx(alone, rel=1e-5)


def test_two_ranks_give_the_same_bits_again(weighted, in_ranks):
    def work(group):
        return fitted(share_out(weighted(70, 40), group), Truncated(0.3, 4))

    (one, _), (again, _) = in_ranks(2, work), in_ranks(2, work)
    assert one[0] == again[0]
    assert torch.equal(one[3], again[3])


@pytest.mark.parametrize("denoiser", [KeepAll(), Truncated(0.3, 4)], ids=["keep-all", "truncated"])
@pytest.mark.parametrize("n_ranks", [(2, 3), (1, 2), (3, 1)])
def test_a_fit_that_was_stopped_goes_on_with_another_number_of_ranks(weighted, in_ranks, n_ranks, denoiser):
    data = weighted(70, 40)

    def stop(group):
        fitting = begun(share_out(data, group), denoiser)
        fitting.advance()
        fitting.advance()
        return fitting.state_dict()

    state = in_ranks(n_ranks[0], stop)[0]

    def go_on(group):
        fitting = begun(share_out(data, group), denoiser)
        fitting.load_state_dict(state)
        fitting.finish()
        return fitting.history()["loss"].to_list()

    alone = fitted(data, denoiser)[0]
    for losses in in_ranks(n_ranks[1], go_on):
        assert losses == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_a_fit_that_was_stopped_goes_on_to_the_bit_on_as_many_ranks(weighted, in_ranks, n_ranks):
    data = weighted(70, 40)

    def work(group):
        fitting, resumed = (begun(share_out(data, group)) for _ in range(2))
        fitting.advance()
        fitting.advance()
        resumed.load_state_dict({name: copy.deepcopy(value) for name, value in fitting.state_dict().items()})
        losses = [(fitting.advance(), resumed.advance()) for _ in range(2)]
        return losses, fitting.scorer(), resumed.scorer()

    for losses, scorer, of_resumed in in_ranks(n_ranks, work):
        assert all(one == other for one, other in losses)
        assert torch.equal(scorer.users, of_resumed.users)
        assert torch.equal(scorer.items, of_resumed.items)


def test_ranks_without_users_or_items_have_nothing_to_do(in_ranks):
    pairs = [(0, 1), (0, 1), (2, 0), (2, 1)]  # a pair twice, and users without any
    users, items = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    data = Interactions(users, items, pl.Series(range(6)), pl.Series(range(2)))
    (alone,) = in_ranks(1, lambda group: fitted(share_out(data, group), options=IALS(factors=2, sweeps=3)))
    for rank in in_ranks(4, lambda group: fitted(share_out(data, group), options=IALS(factors=2, sweeps=3))):
        assert_close(alone, rank)


def test_every_row_is_solved_by_one_rank_which_has_all_of_its_interactions(small_data, in_ranks):
    data = small_data(50, 30)
    data = replace(data, weight=np.arange(len(data), dtype=np.float32), user_ids=pl.Series(range(60)))

    def work(group):
        train = share_out(data, group)
        return share_by_user(train), share_by_item(train)

    ranks = in_ranks(3, work)
    for number, (own, others, n_rows) in enumerate([(data.users, data.items, 60), (data.items, data.users, 30)]):
        shares = [rank[number] for rank in ranks]
        assert sorted(np.concatenate([share.codes for share in shares])) == list(range(n_rows))
        assert sorted(np.concatenate([share.ids for share in shares])) == list(range(len(data)))
        for share in shares:
            assert (np.diff(share.ids) > 0).all()  # in the order of the data
            assert np.array_equal(share.codes[share.rows], own[share.ids])
            assert np.array_equal(share.weights, share.ids)
            assert np.array_equal(share.side.others, others[share.ids][share.side.order])


def test_items_are_shared_out_by_their_interactions(in_ranks):
    items = np.repeat(np.arange(100, dtype=np.int32), np.arange(2_000, 0, -20))  # the first have most
    users = np.arange(len(items), dtype=np.int32) % 4_000
    data = Interactions(users, items, pl.Series(range(4_000)), pl.Series(range(100)))
    sizes = [len(share.rows) for share in in_ranks(2, lambda group: share_by_item(share_out(data, group)))]
    assert max(sizes) < 1.05 * min(sizes)
