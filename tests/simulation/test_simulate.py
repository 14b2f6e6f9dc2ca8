from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from recsieve.errors import ConfigError
from recsieve.simulation.simulate import World, WorldConfig, demo_world, like, simulate


@pytest.fixture(scope="module")
def demo() -> World:
    return simulate(demo_world(), seed=1)


def codes(log: pl.DataFrame, column: str) -> np.ndarray:
    return log[column].str.slice(1).cast(pl.Int64).to_numpy()


def part(world: World, name: str) -> pl.DataFrame:
    return world.log.filter(pl.col("part") == name)


def is_false(world: World, log: pl.DataFrame) -> np.ndarray:
    return log.select(pl.sql_expr(world.config.rule)).to_series().to_numpy()


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """The probability that a positive scores above a negative."""
    ranks, n = rankdata(scores), positive.sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n))


def assert_counts_are_exact(world: World) -> None:
    config, train = world.config, part(world, "train")
    counts = (train["user"].n_unique(), train["item"].n_unique(), len(train), int(is_false(world, train).sum()))
    assert counts == (config.n_users, config.n_items, config.n_interactions, config.n_false_positives)
    assert len(part(world, "validation")) == len(part(world, "test")) == config.n_interactions // 8
    assert not world.log.select("user", "item").is_duplicated().any()


worlds = st.builds(
    WorldConfig,
    n_users=st.integers(40, 120),
    n_items=st.integers(40, 90),
    n_interactions=st.integers(210, 320),
    n_false_positives=st.integers(0, 209),
    signal=st.sampled_from(["rating", "dwell_seconds"]),
    mechanism=st.sampled_from(["clickbait", "position", "random"]),
    n_topics=st.integers(2, 40),
    topics_per_user=st.integers(1, 2),
    popularity_skew=st.floats(0, 3),
    activity_skew=st.floats(0, 3),
)


@settings(max_examples=40)
@given(worlds, st.integers(0, 2**32))
def test_any_world_has_exactly_its_counts_and_distinct_pairs(config, seed):
    assert_counts_are_exact(simulate(config, seed))


def test_a_crowded_world_has_exactly_its_counts():
    assert_counts_are_exact(simulate(WorldConfig(60, 60, 720, 100, n_topics=30, topics_per_user=1, popularity_skew=3)))


@pytest.mark.parametrize(("name", "scale"), [("adressa", 1.0), ("amazon-book", 0.02), ("yelp", 0.02)])
def test_worlds_like_the_papers_have_its_counts_exactly(name, scale):
    assert_counts_are_exact(simulate(like(name, scale), seed=3))


def test_the_same_seed_gives_the_same_world_and_another_seed_another(demo):
    assert simulate(demo_world(), seed=1).log.equals(demo.log)
    assert not simulate(demo_world(), seed=2).log.equals(demo.log)


def test_a_negative_seed_is_refused():
    with pytest.raises(ConfigError, match="the seed is -1"):
        simulate(demo_world(), seed=-1)


def test_the_log_is_in_order_of_time_with_own_ids_stars_and_positions(demo):
    assert demo.log.columns == ["user", "item", "rating", "time", "shown_position", "part"]
    assert demo.log["time"].is_sorted()
    assert set(demo.log["user"]) == {f"u{code}" for code in range(1_200)}
    assert sorted(demo.log["rating"].unique()) == [1, 2, 3, 4, 5]
    assert sorted(demo.log["shown_position"].unique()) == list(range(1, 11))


def test_dwell_seconds_are_whole_and_from_1():
    seconds = simulate(like("adressa", 0.02)).log["dwell_seconds"]
    assert seconds.dtype.is_integer()
    assert seconds.min() == 1
    assert 600 < seconds.max() <= 3_600


def test_a_world_without_noise_has_none_in_any_part():
    world = simulate(demo_world().with_noise_share(0))
    assert not is_false(world, world.log).any()


def test_the_held_out_parts_are_as_noisy_as_training(demo):
    for name in ("validation", "test"):
        assert is_false(demo, part(demo, name)).mean() == pytest.approx(0.25, abs=0.02)


def test_the_stated_preference_is_the_share_of_clicks_that_satisfy(demo):
    stated = demo.preference(codes(demo.log, "user"), codes(demo.log, "item"))
    satisfied = ~is_false(demo, demo.log)
    for low in np.arange(0, 1, 0.2):
        there = (stated >= low) & (stated < low + 0.2)
        assert satisfied[there].mean() == pytest.approx(stated[there].mean(), abs=0.03)


def test_popularity_and_activity_have_heavy_tails():
    train = part(simulate(like("yelp", 0.05)), "train")
    for column in ("user", "item"):
        counts = train[column].value_counts(sort=True)["count"].to_numpy()
        assert counts[: len(counts) // 10].sum() > 0.3 * counts.sum()
        assert counts.mean() > 1.3 * np.median(counts)


@pytest.mark.parametrize("mechanism", ["clickbait", "position", "random"])
def test_noise_is_neither_random_nor_merely_unpopular_items(mechanism):
    world = simulate(replace(demo_world(), mechanism=mechanism), seed=5)
    train = part(world, "train")
    false, users, items = is_false(world, train), codes(train, "user"), codes(train, "item")
    assert 0.35 < auc(-np.bincount(items)[items], false) < 0.6
    assert auc(-world.preference(users, items), false) > 0.85


def test_each_mechanism_is_the_cause_that_it_names():
    traces = {}
    for mechanism in ("clickbait", "position", "random"):
        world = simulate(replace(demo_world(), mechanism=mechanism), seed=5)
        false = is_false(world, world.log)
        gap = auc(world.truth.appeal_gap[codes(world.log, "item")], false)
        top = auc(-world.log["shown_position"].to_numpy(), false)
        traces[mechanism] = (gap > 0.6, top > 0.57)
    assert traces == {"clickbait": (True, False), "position": (False, True), "random": (False, False)}


def test_items_that_promise_too_much_are_clicked_in_vain(demo):
    train = part(demo, "train")
    gap = demo.truth.appeal_gap[codes(train, "item")]
    false = is_false(demo, train)
    assert false[gap > 2].mean() > 2 * false[gap < 0.5].mean()


def test_taste_can_be_learnt_from_the_log(demo):
    train, test = part(demo, "train"), part(demo, "test")
    clicked = np.zeros((demo.config.n_users, demo.config.n_items))
    clicked[codes(train, "user"), codes(train, "item")] = 1
    popularity = clicked.sum(axis=0)
    normed = clicked / np.sqrt(popularity)
    wanted = np.zeros(clicked.shape, dtype=bool)
    clean = test.filter(~is_false(demo, test))
    wanted[codes(clean, "user"), codes(clean, "item")] = True

    def recall(scores: np.ndarray) -> float:
        best = np.argsort(np.where(clicked > 0, -np.inf, scores), axis=1)[:, -20:]
        return np.take_along_axis(wanted, best, axis=1).sum() / wanted.sum()

    similar = normed.T @ normed
    assert recall(normed @ similar) > 2 * recall(np.broadcast_to(popularity, clicked.shape))
