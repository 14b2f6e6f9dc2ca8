from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recsieve.errors import DataError
from recsieve.sampling import Sampler


def epoch(data, **options):
    sampler = Sampler(data, seed=options.pop("seed", 0), **options)
    return sampler.draw(0, 0, sampler.rows_per_epoch)


@settings(deadline=None, max_examples=40)
@given(n_users=st.integers(1, 20), n_items=st.integers(1, 20), share=st.floats(0, 1), negatives=st.integers(1, 3),
       seed=st.integers(0, 99), user_grouped=st.booleans())  # fmt: skip
def test_an_epoch_has_each_interaction_once_and_no_observed_negative(
    small_data, n_users, n_items, share, negatives, seed, user_grouped
):
    data = small_data(n_users, n_items, share, seed)
    drawn = epoch(data, negatives=negatives, seed=seed, user_grouped=user_grouped)
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
    places = np.zeros((len(data), len(data)))
    for e in range(4000):
        ids = sampler.draw(e, 0, sampler.rows_per_epoch).ids.numpy()
        places[np.arange(len(data)), ids[ids >= 0]] += 1
    assert stats.chisquare(places.ravel()).pvalue > 1e-4


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
    sampler = Sampler(small_data(), seed=0, user_grouped=True)
    orders = []
    for number in range(2):
        users = sampler.draw(number, 0, sampler.rows_per_epoch).users.numpy()
        changes = users[np.flatnonzero(np.diff(users, prepend=-1))]
        assert len(set(changes)) == len(changes)
        orders.append(changes.tolist())
    assert orders[0] != orders[1]


def test_user_grouped_chunks_agree_with_the_whole_epoch(small_data):
    sampler = Sampler(small_data(), seed=0, user_grouped=True)
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
