from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recsieve.data.sharing import share_out
from recsieve.errors import ConfigError, DataError
from recsieve.sampling import Batch, Sampler


def epoch(data, **options):
    sampler = Sampler(data, seed=options.pop("seed", 0), **options)
    return sampler.draw(0, 0, sampler.rows_per_epoch)


@settings(deadline=None, max_examples=40)
@given(n_users=st.integers(1, 20), n_items=st.integers(1, 20), share=st.floats(0, 1), negatives=st.integers(1, 3),
       seed=st.integers(0, 99), layout=st.sampled_from(["interactions", "users", "joint"]))  # fmt: skip
def test_an_epoch_has_each_interaction_once_and_no_observed_negative(
    small_data, n_users, n_items, share, negatives, seed, layout
):
    data = small_data(n_users, n_items, share, seed)
    drawn = epoch(data, negatives=negatives, seed=seed, layout=layout)
    ids = drawn.ids.numpy()
    assert sorted(ids[ids >= 0]) == list(range(len(data)))
    np.testing.assert_array_equal(drawn.users.numpy()[ids >= 0], data.users[ids[ids >= 0]])
    np.testing.assert_array_equal(drawn.items.numpy()[ids >= 0], data.items[ids[ids >= 0]])
    observed = set(zip(data.users.tolist(), data.items.tolist(), strict=True))
    sampled = zip(drawn.users[ids < 0].tolist(), drawn.items[ids < 0].tolist(), strict=True)
    assert not observed & set(sampled)
    has_room = (data.csr.counts() < n_items)[data.users]
    assert (ids < 0).sum() == negatives * has_room.sum()
    assert ((drawn.items >= 0) & (drawn.items < n_items)).all()
    np.testing.assert_array_equal(drawn.labels.numpy(), (ids >= 0).astype(np.float32))


def test_a_user_who_has_every_item_gets_no_negatives(small_data):
    assert (epoch(small_data(3, 4, share=1.0)).ids >= 0).all()


def test_negatives_are_uniform_over_the_unobserved_items(small_data):
    data = small_data(1, 12, share=0.4)
    sampler = Sampler(data, seed=3)
    drawn = [sampler.draw(e, 0, sampler.rows_per_epoch) for e in range(3000)]
    items = torch.cat([batch.items[batch.ids < 0] for batch in drawn]).numpy()
    counts = np.bincount(items, minlength=12)
    unobserved = np.setdiff1d(np.arange(12), data.items)
    assert counts.sum() == counts[unobserved].sum()
    assert stats.chisquare(counts[unobserved]).pvalue > 1e-4


def test_each_row_is_as_likely_at_each_place(small_data):
    data = small_data(2, 6, share=0.5)
    sampler = Sampler(data, seed=1)
    positions = np.zeros((len(data), len(data)))
    for e in range(4000):
        ids = sampler.draw(e, 0, sampler.rows_per_epoch).ids.numpy()
        positions[np.arange(len(data)), ids[ids >= 0]] += 1
    assert stats.chisquare(positions.ravel()).pvalue > 1e-4


def test_neighbours_in_a_long_epoch_are_not_related(small_data):
    ids = epoch(small_data(400, 100)).ids.numpy().astype(float)
    ids = ids[ids >= 0]
    assert abs(stats.spearmanr(ids[:-1], ids[1:]).statistic) < 0.03


def test_an_interaction_is_followed_by_its_negatives(small_data):
    data = small_data()
    sampler = Sampler(data, seed=0, negatives=2)
    drawn = sampler.draw(0, 0, sampler.rows_per_epoch)
    ids, users = drawn.ids.numpy().reshape(-1, 3), drawn.users.numpy().reshape(-1, 3)
    assert (ids[:, 0] >= 0).all()
    assert (ids[:, 1:] < 0).all()
    assert (users == users[:, :1]).all()


def test_user_grouped_all_rows_of_a_user_stand_together_and_users_are_shuffled(small_data):
    sampler = Sampler(small_data(), seed=0, layout="users")
    orders = []
    for number in range(2):
        users = sampler.draw(number, 0, sampler.rows_per_epoch).users.numpy()
        changes = users[np.flatnonzero(np.diff(users, prepend=-1))]
        assert len(set(changes)) == len(changes)
        orders.append(changes.tolist())
    assert orders[0] != orders[1]


def test_user_grouped_chunks_agree_with_the_whole_epoch(small_data):
    sampler = Sampler(small_data(), seed=0, layout="users")
    whole = sampler.draw(1, 0, sampler.rows_per_epoch)
    assert torch.equal(torch.cat([b.items for b in sampler.batches(1, 64)]), whole.items)


def test_batches_are_the_epoch_cut_up_and_can_begin_anywhere(small_data):
    sampler = Sampler(small_data(), seed=0)
    whole = sampler.draw(2, 0, sampler.rows_per_epoch)
    batches = list(sampler.batches(2, 50))
    assert len(batches) == sampler.steps_per_epoch(50)
    assert torch.equal(torch.cat([b.items for b in batches]), whole.items)
    later = list(sampler.batches(2, 50, first=3))
    assert torch.equal(later[0].items, batches[3].items)


def test_epochs_and_seeds_differ_and_repeat(small_data):
    data = small_data()
    sampler, n = Sampler(data, seed=5), Sampler(data, seed=5).rows_per_epoch
    assert torch.equal(sampler.draw(1, 0, n).items, Sampler(data, seed=5).draw(1, 0, n).items)
    assert not torch.equal(sampler.draw(1, 0, n).items, sampler.draw(2, 0, n).items)
    assert not torch.equal(sampler.draw(1, 0, n).items, Sampler(data, seed=6).draw(1, 0, n).items)


def test_given_weights_go_with_their_interaction_and_negatives_weigh_one(small_data):
    data = small_data()
    data = replace(data, weight=np.arange(len(data), dtype=np.float32))
    drawn = epoch(data)
    observed = drawn.ids >= 0
    assert torch.equal(drawn.weights[observed], drawn.ids[observed].float())
    assert (drawn.weights[~observed] == 1).all()


def test_no_interactions_at_all_is_an_error(small_data):
    with pytest.raises(DataError, match="at least one"):
        Sampler(small_data().take(np.zeros(0, int)), seed=0)


def with_full_users(data, users):
    """The data, and beside it all items for some users; in any order."""
    matrix = np.zeros((data.n_users, data.n_items), bool)
    matrix[data.users, data.items] = True
    matrix[[user for user in users if user < data.n_users]] = True
    pairs = np.random.default_rng(0).permutation(np.argwhere(matrix)).astype(np.int32)
    return replace(data, users=pairs[:, 0].copy(), items=pairs[:, 1].copy(), false_positive=None)


@settings(deadline=None, max_examples=60)
@given(n_users=st.integers(1, 12), n_items=st.integers(1, 12), share=st.floats(0, 1), full=st.sets(st.integers(0, 11)),
       negatives=st.integers(1, 3), more=st.integers(0, 40), seed=st.integers(0, 99),
       layout=st.sampled_from(["interactions", "users"]),
       n_ranks=st.sampled_from([1, 2]))  # fmt: skip
def test_no_batch_parts_an_interaction_from_its_negatives(
    small_data, in_ranks, n_users, n_items, share, full, negatives, more, seed, layout, n_ranks
):
    data, batch_size = with_full_users(small_data(n_users, n_items, share, seed), full), 1 + negatives + more
    options = {"seed": seed, "negatives": negatives, "layout": layout}
    sampler = Sampler(data, **options)
    batches = list(sampler.batches(1, batch_size))
    assert len(batches) == sampler.steps_per_epoch(batch_size)
    assert sum(map(len, batches)) == sampler.rows_per_epoch
    has_room = data.csr.counts() < n_items
    for batch in batches:
        ids, users = batch.ids.numpy(), batch.users.numpy()
        starts = np.flatnonzero(ids >= 0)
        assert len(batch)
        assert starts[0] == 0
        lengths = np.diff(starts, append=len(ids))
        assert lengths.tolist() == np.where(has_room[users[starts]], 1 + negatives, 1).tolist()
        assert np.array_equal(users, np.repeat(users[starts], lengths))
    assert [len(batch) <= batch_size + negatives for batch in batches[:-1]] == [True] * (len(batches) - 1)
    shares = in_ranks(n_ranks, lambda group: list(Sampler(share_out(data, group), **options).batches(1, batch_size)))
    for whole, *parts in zip(batches, *shares, strict=True):
        if n_ranks > 1:
            order = torch.cat([part.positions for part in parts]).argsort()
            for name in ("users", "items", "labels", "ids"):
                assert torch.equal(torch.cat([getattr(part, name) for part in parts])[order], getattr(whole, name))
            assert all(torch.equal(part.pairs()[0], (part.ids >= 0).nonzero().squeeze(1)[has_negatives(part)])
                       for part in parts)  # fmt: skip


def has_negatives(batch):
    following = torch.cat([batch.ids[1:], torch.zeros(1, dtype=torch.int64)])[: len(batch)]
    return following[batch.ids >= 0] < 0


def test_a_batch_too_small_for_an_interaction_and_its_negatives_is_one_clear_error(small_data):
    with pytest.raises(ConfigError, match="batch_size is 3, but an interaction and its negatives are 4 rows"):
        Sampler(small_data(), seed=0, negatives=3).steps_per_epoch(3)


@pytest.mark.parametrize("layout", ["interactions", "users"])
def test_the_pairs_of_a_batch_are_its_interactions_with_their_negatives(small_data, layout):
    data = with_full_users(small_data(12, 9, 0.4), [3, 8])
    sampler = Sampler(data, seed=0, negatives=2, layout=layout)
    paired = []
    for batch in sampler.batches(0, 16):
        positive, negative = batch.pairs()
        assert negative.shape == (len(positive), 2 if len(positive) else 0)
        assert (batch.ids[positive] >= 0).all()
        assert (batch.ids[negative] == -1).all()
        assert (batch.users[negative] == batch.users[positive][:, None]).all()
        paired += batch.ids[positive].tolist()
    assert sorted(paired) == np.flatnonzero(~np.isin(data.users, [3, 8])).tolist()


def test_a_batch_without_pairs_has_none():
    nothing, no_negatives = (
        Batch(users, users, users.float(), users.long()) for users in (torch.zeros(0).int(), torch.arange(3).int())
    )
    for batch in (nothing, no_negatives):
        positive, negative = batch.pairs()
        assert len(positive) == len(negative) == 0


def drawn_ids(sampler, epoch=0):
    ids = sampler.draw(epoch, 0, sampler.rows_per_epoch).ids
    return ids[ids >= 0]


@pytest.mark.parametrize("layout", ["interactions", "users"])
def test_an_epoch_is_made_of_the_chosen_interactions_and_keeps_its_length(small_data, layout):
    data = small_data()
    sampler = Sampler(data, seed=0, layout=layout)
    steps, chosen = sampler.steps_per_epoch(32), np.array([7, 2, 2, 90])
    sampler.choose(chosen)
    times = np.bincount(drawn_ids(sampler), minlength=len(data))
    expected = np.bincount(np.resize(chosen, len(data)), minlength=len(data))
    np.testing.assert_array_equal(times, expected)
    batches = list(sampler.batches(0, 32))
    assert len(batches) == steps
    rows = torch.cat([batch.ids for batch in batches])
    users, items = (torch.cat([getattr(batch, name) for batch in batches]).numpy() for name in ("users", "items"))
    own = rows.numpy() >= 0
    np.testing.assert_array_equal(users[own], data.users[rows[own]])
    np.testing.assert_array_equal(items[own], data.items[rows[own]])
    observed = set(zip(data.users.tolist(), data.items.tolist(), strict=True))
    assert not observed & set(zip(users[~own].tolist(), items[~own].tolist(), strict=True))


def test_after_choosing_nothing_an_epoch_is_again_each_interaction_once(small_data):
    data = small_data()
    sampler, never = (Sampler(data, seed=0) for _ in range(2))
    sampler.choose(np.array([1, 2]))
    sampler.choose(None)
    assert torch.equal(sampler.draw(3, 0, 60).items, never.draw(3, 0, 60).items)
    assert sorted(drawn_ids(sampler)) == list(range(len(data)))


@pytest.mark.parametrize("layout", ["interactions", "users"])
@pytest.mark.parametrize("chosen_user", [3, 5])
def test_an_epoch_keeps_its_steps_when_only_users_with_or_without_room_are_chosen(small_data, layout, chosen_user):
    data = with_full_users(small_data(12, 9, 0.4), [3, 8])
    sampler = Sampler(data, seed=0, negatives=2, layout=layout)
    steps = sampler.steps_per_epoch(9)
    sampler.choose(np.flatnonzero(data.users == chosen_user))
    batches = list(sampler.batches(0, 9))
    assert len(batches) == steps  # some of them without rows, where nobody has negatives
    assert sum(map(len, batches)) == sampler.rows_per_epoch


def test_other_labels_and_weights_go_with_their_interactions(small_data):
    data = small_data()
    n = np.arange(len(data), dtype=np.float32)
    given = Sampler(replace(data, weight=n + 1), seed=0)
    given.relabel(n / len(data), n % 3)
    drawn = given.draw(0, 0, given.rows_per_epoch)
    observed, ids = drawn.ids >= 0, drawn.ids[drawn.ids >= 0]
    np.testing.assert_array_equal(drawn.labels[observed], (n / len(data))[ids])
    np.testing.assert_array_equal(drawn.weights[observed], ((n + 1) * (n % 3))[ids])
    assert (drawn.labels[~observed] == 0).all()
    assert (drawn.weights[~observed] == 1).all()
    given.relabel(None, None)  # leaves them
    assert torch.equal(given.draw(0, 0, given.rows_per_epoch).labels, drawn.labels)
    given.relabel(None, n)  # beside those of the data, not beside the last
    np.testing.assert_array_equal(given.draw(0, 0, given.rows_per_epoch).weights[observed], ((n + 1) * n)[ids])


def test_on_ranks_a_choice_is_one_clear_error(small_data, in_ranks):
    def choose(group):
        with pytest.raises(ConfigError, match="without torchrun"):
            Sampler(share_out(small_data(), group), seed=0).choose(np.array([1]))

    in_ranks(2, choose)


def test_an_epoch_that_is_left_does_not_wait_for_its_thread(small_data, monkeypatch):
    """It ends wherever it is collected; within the start of a thread, waiting would be for ever."""
    waited = []

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait=True, **options):
            waited.append(wait)
            super().shutdown(wait, **options)

    monkeypatch.setattr("recsieve.sampling.sampler.ThreadPoolExecutor", Pool)
    chunks = Sampler(small_data(), seed=0).chunks(0, 32, 0, [1, 2, 3])
    next(chunks)
    chunks.close()
    assert not any(waited)


def as_rows(batch):
    return sorted(zip(batch.users.tolist(), batch.items.tolist(), batch.ids.tolist(), strict=True))


def test_the_joint_layout_has_the_same_samples_and_a_positive_seldom_shares_a_batch_with_its_negative(small_data):
    data = small_data(40, 50)
    joint, usual = Sampler(data, seed=4, layout="joint"), Sampler(data, seed=4)
    assert as_rows(epoch(data, seed=4, layout="joint")) == as_rows(epoch(data, seed=4))
    sizes = [len(batch) for batch in joint.batches(0, 32)]
    assert sizes == [32] * (joint.rows_per_epoch // 32) + [joint.rows_per_epoch % 32] * (joint.rows_per_epoch % 32 > 0)
    shares = [float(batch.labels.mean()) for batch in joint.batches(0, 32)]
    assert len(set(shares)) > 2  # beside its negative, every batch has half
    assert {float(batch.labels.mean()) for batch in usual.batches(0, 32)} == {0.5}


def test_the_joint_layout_is_the_same_in_chunks_and_another_one_in_each_epoch(small_data):
    sampler = Sampler(small_data(40, 50), seed=4, layout="joint")
    whole = sampler.draw(0, 0, sampler.rows_per_epoch)
    parts = [sampler.draw(0, 0, 101), sampler.draw(0, 101, sampler.rows_per_epoch)]
    assert torch.equal(torch.cat([part.items for part in parts]), whole.items)
    assert not torch.equal(sampler.draw(1, 0, sampler.rows_per_epoch).users, whole.users)


def test_the_ranks_of_a_group_refuse_the_joint_layout_in_one_line(small_data, in_ranks):
    def draw(group):
        with pytest.raises(ConfigError, match="without torchrun"):
            Sampler(share_out(small_data(), group), seed=0, layout="joint")
        return True

    assert all(in_ranks(2, draw))
