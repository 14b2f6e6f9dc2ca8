import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recsieve.data.interactions import CLEAN, NOISY, Interactions
from recsieve.errors import ConfigError, DataError
from recsieve.simulation.injection import inject


def make(pairs, n_users: int = 4, n_items: int = 5, **columns) -> Interactions:
    users, items = np.array(list(pairs), dtype=np.int32).reshape(-1, 2).T
    ids = pl.Series(range(n_users)), pl.Series(range(n_items))
    return Interactions(users.copy(), items.copy(), *ids, **columns)


def pairs_of(data: Interactions) -> list[tuple[int, int]]:
    return list(zip(data.users.tolist(), data.items.tolist(), strict=True))


def added_to(data: Interactions, noisy: Interactions) -> list[tuple[int, int]]:
    return pairs_of(noisy)[len(data) :]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def large(small_data) -> Interactions:
    """Some 6,000 interactions, half of them with a fifth of the items."""
    data = small_data(n_users=200, n_items=100, share=0.3)
    rare = (data.items >= 20) & (np.random.default_rng(0).random(len(data)) < 0.75)
    clean = data.take(~rare)
    return Interactions(clean.users, clean.items, clean.user_ids, clean.item_ids)


def free_pairs(observed: set, held_out: set, disliked: set, mechanism: str) -> set:
    """What may be added, written out."""
    items = {item for _, item in observed} if mechanism == "popular" else range(5)
    possible = disliked if mechanism == "disliked" else {(user, item) for user, _ in observed for item in items}
    return possible - observed - held_out


pairs = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4)))
mechanisms = st.sampled_from(["uniform", "popular", "disliked"])


@settings(max_examples=300)
@given(pairs, pairs, pairs, st.floats(0, 0.9), mechanisms, st.integers(0, 1_000))
def test_noise_is_new_distinct_never_held_out_and_as_much_as_asked(observed, held_out, disliked, rate, mechanism, seed):
    data, n_added = make(observed), round(len(observed) * rate / (1 - rate))
    free = free_pairs(observed, held_out, disliked, mechanism)
    arguments = data, rate, mechanism, np.random.default_rng(seed), [make(held_out)], make(disliked)
    if n_added > len(free):
        with pytest.raises(DataError, match=f"asks for {n_added} false .*, but there are only {len(free)} possible"):
            inject(*arguments)
        return
    noisy = inject(*arguments)
    added = added_to(data, noisy)
    assert len(added) == len(set(added)) == n_added
    assert set(added) <= free
    assert pairs_of(noisy)[: len(data)] == pairs_of(data)
    assert noisy.false_positive.tolist() == [CLEAN] * len(data) + [NOISY] * n_added


@given(pairs.filter(len), pairs, pairs, mechanisms)
def test_all_the_room_there_is_can_be_filled(observed, held_out, disliked, mechanism):
    data, free = make(observed), free_pairs(observed, held_out, disliked, mechanism)
    rate = len(free) / (len(free) + len(observed))
    noisy = inject(data, rate, mechanism, np.random.default_rng(0), [make(held_out)], make(disliked))
    assert set(added_to(data, noisy)) == free


def test_the_rate_is_the_share_of_the_result(large, rng):
    for rate in (0.0, 0.1, 0.5):
        assert inject(large, rate, "uniform", rng).is_false_positive.mean() == pytest.approx(rate, abs=1e-3)


def test_a_user_who_has_every_item_gets_none(rng):
    data = make([(0, item) for item in range(5)] + [(1, 0)])
    assert {user for user, _ in added_to(data, inject(data, 0.4, "uniform", rng))} == {1}


def test_popular_noise_meets_popular_items_and_uniform_noise_any(large, rng):
    popularity = large.item_counts()
    mean = {}
    for mechanism in ("uniform", "popular"):
        noisy = inject(large, 0.1, mechanism, rng)
        mean[mechanism] = popularity[noisy.items[len(large) :]].mean()
    assert mean["popular"] > 1.2 * mean["uniform"]


def test_active_users_get_more_noise(large, rng):
    noise = inject(large, 0.3, "uniform", rng).take(slice(len(large), None)).user_counts()
    activity = large.user_counts()
    assert noise[activity > np.median(activity)].sum() > 1.2 * noise[activity < np.median(activity)].sum()


def test_weights_are_1_and_times_are_of_the_same_user(rng):
    data = make(
        [(0, 0), (0, 1), (1, 0), (1, 1)],
        weight=np.array([2, 3, 4, 5], dtype=np.float32),
        time=np.array([10, 11, 20, 21]),
    )
    noisy = inject(data, 0.5, "uniform", rng)
    assert noisy.weight.tolist() == [2, 3, 4, 5, 1, 1, 1, 1]
    assert noisy.time[:4].tolist() == [10, 11, 20, 21]
    assert (noisy.time[4:] // 10 == noisy.users[4:] + 1).all()


def test_a_user_known_by_dislikes_alone_gets_a_time_of_anybody(rng):
    data = make([(0, 0)], time=np.array([10]))
    noisy = inject(data, 0.5, "disliked", rng, dislikes=make([(3, 3)]))
    assert added_to(data, noisy) == [(3, 3)]
    assert noisy.time.tolist() == [10, 10]


def test_the_same_generator_gives_the_same_noise(large):
    first, second = (inject(large, 0.2, "popular", np.random.default_rng(3)) for _ in range(2))
    assert pairs_of(first) == pairs_of(second)


def test_what_cannot_be_meant_is_refused(large, rng):
    with pytest.raises(ConfigError, match="did you mean 'uniform'"):
        inject(large, 0.1, "uniforn", rng)
    with pytest.raises(ConfigError, match="needs the disliked pairs"):
        inject(large, 0.1, "disliked", rng)
    for rate in (-0.1, 1.0, float("nan")):
        with pytest.raises(ConfigError, match="the noise rate is"):
            inject(large, rate, "uniform", rng)
    with pytest.raises(DataError, match="other users or items"):
        inject(large, 0.1, "uniform", rng, [make([(0, 0)])])


def test_data_with_known_false_positives_is_not_clean(rng):
    data = make([(0, 0), (0, 1)], false_positive=np.array([CLEAN, NOISY], dtype=np.int8))
    with pytest.raises(DataError, match="1 known false positives"):
        inject(data, 0.1, "uniform", rng)
