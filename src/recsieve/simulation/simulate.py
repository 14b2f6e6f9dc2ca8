"""A simulated shop or news site: users are shown items, click on what appeals to them, and are satisfied or not.

What appeals is not what satisfies: a headline may promise too much, items at the top of a page are clicked first, and
some clicks are accidents. So there are false positives that are neither random nor just unpopular, and the true
preference of every pair is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.errors import ConfigError
from recsieve.simulation.config import MECHANISMS, WorldConfig, demo_world, like
from recsieve.simulation.drawing import spread, unique_pairs
from recsieve.simulation.world import PARTS, Truth, World, names, write_world

__all__ = ["Truth", "World", "WorldConfig", "demo_world", "like", "simulate", "write_world"]

FRONT_PAGE = 0.3  # the share of what is shown that is the same for everybody
PAGE = 10  # the positions of a page
SHOWN_PER_CLICK = 3
START = 1_704_067_200  # 2024-01-01, in seconds
SECONDS = 90 * 24 * 60 * 60  # how long the log is kept


class Clicks(NamedTuple):
    """Distinct pairs of user and item, and the position of the item on the page."""

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    positions: NDArray[np.int8]


def simulate(config: WorldConfig, seed: int = 0) -> World:
    """Simulate the clicks of a world, and split the log; the training part has exactly the configured counts."""
    if seed < 0:
        raise ConfigError(f"the seed is {seed}: give a whole number from 0.")
    rng = np.random.default_rng(seed)
    truth = _draw_truth(config, rng)
    activity = _draw_activity(config, rng)
    clicks = _click(config, truth, _show(config, truth, activity, rng), activity, rng)
    clicks = _reach_every_item(config, clicks, rng)
    part = _split(config, clicks, rng)
    # A logistic draw exceeds a threshold with the probability that World.preference gives.
    enjoyed = truth.enjoyment(clicks.users, clicks.items) + rng.logistic(size=config.n_logged)
    threshold = _threshold(config, enjoyed, part)
    return World(config, seed, truth, threshold, _log(config, clicks, part, enjoyed - threshold, rng))


def _draw_truth(config: WorldConfig, rng: np.random.Generator) -> Truth:
    """Draw what people like, and what items hold and promise."""
    liked = rng.random((config.n_users, config.n_topics)).argsort(axis=1)[:, : config.topics_per_user]
    tastes = np.zeros((config.n_users, config.n_topics), dtype=np.float32)
    np.put_along_axis(tastes, liked, rng.uniform(0.6, 1, liked.shape).astype(np.float32), axis=1)
    topics = np.arange(config.n_items) * config.n_topics // config.n_items
    quality = rng.normal(size=config.n_items)
    gap = MECHANISMS[config.mechanism].promise * rng.exponential(size=config.n_items)
    # The site has learnt a little: it shows good items more, and disappointing ones less.
    rank = (0.5 * gap - 0.3 * quality + rng.normal(size=config.n_items)).argsort().argsort() + 1
    popularity = rank.astype(np.float64) ** -config.popularity_skew
    return Truth(tastes, topics.astype(np.int32), quality.astype(np.float32), gap.astype(np.float32), popularity)


def _draw_activity(config: WorldConfig, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many items each user clicks on: at least one, at most half of the catalogue, a few very many."""
    eagerness = rng.lognormal(sigma=config.activity_skew, size=config.n_users)
    room = np.full(config.n_users, config.n_items // 2 - 1)
    return 1 + spread(config.n_logged - config.n_users, eagerness, room, rng)


def _show(
    config: WorldConfig, truth: Truth, activity: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Show people popular items, mostly of topics they like: distinct pairs as sorted user * n_items + item."""
    topic_weight = np.bincount(truth.topics, truth.popularity)
    own = truth.tastes / truth.tastes.sum(axis=1, keepdims=True, dtype=np.float64)
    shares = (1 - FRONT_PAGE) * own + FRONT_PAGE * topic_weight / topic_weight.sum()
    per_topic = rng.multinomial(SHOWN_PER_CLICK * activity, shares)  # (users, topics)
    users = np.repeat(np.arange(config.n_users), per_topic.sum(axis=1))
    topics = np.repeat(np.tile(np.arange(config.n_topics), config.n_users), per_topic.ravel())
    pairs = unique_pairs(users * config.n_items + _draw_items(truth, topics, rng))
    # Who has seen too little browses the catalogue. At least half of it is new to them, so this ends soon.
    while (missing := activity - np.bincount(pairs // config.n_items, minlength=config.n_users)).max() > 0:
        users = np.repeat(np.arange(config.n_users), 4 * missing.clip(min=0))
        browsed = users * config.n_items + rng.integers(config.n_items, size=len(users))
        pairs = unique_pairs(np.concatenate([pairs, browsed]))
    return pairs


def _draw_items(truth: Truth, topics: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw an item of each topic by popularity: a point in the topic's interval of the cumulated popularity."""
    cumulated = np.cumsum(truth.popularity)
    last = np.flatnonzero(np.diff(truth.topics, append=truth.topics[-1] + 1))  # the last item of each topic
    end = cumulated[last]
    start = np.concatenate([[0.0], end[:-1]])
    drawn = np.searchsorted(cumulated, rng.uniform(start[topics], end[topics]), side="right")
    return np.minimum(drawn, last[topics])


def _click(
    config: WorldConfig,
    truth: Truth,
    shown: NDArray[np.int64],
    activity: NDArray[np.int64],
    rng: np.random.Generator,
) -> Clicks:
    """Let each user click on the items that appeal most: of a topic they like or with a promise, and high up."""
    users, items = (codes.astype(np.int32) for codes in np.divmod(shown, config.n_items))
    positions = rng.integers(1, PAGE + 1, size=len(shown), dtype=np.int8)
    lures = MECHANISMS[config.mechanism]
    appeal = np.logaddexp(lures.taste * truth.liking(users, items), truth.appeal_gap[items])
    appeal += (
        0.3 * truth.quality[items] - lures.position * np.log(positions, dtype=np.float32) + rng.gumbel(size=len(shown))
    )
    best_first = np.lexsort((-appeal, users))
    first_of_user = np.searchsorted(users, np.arange(config.n_users))
    rank = np.arange(len(users)) - first_of_user[users]
    clicked = best_first[rank < activity[users]]
    return Clicks(users[clicked], items[clicked], positions[clicked])


def _reach_every_item(config: WorldConfig, clicks: Clicks, rng: np.random.Generator) -> Clicks:
    """Let each item that nobody clicked on replace a click on one that has others."""
    present, first_click = np.unique(clicks.items, return_index=True)
    absent = np.setdiff1d(np.arange(config.n_items, dtype=np.int32), present)
    replaceable = np.delete(np.arange(len(clicks.items)), first_click)
    items = clicks.items.copy()
    items[rng.choice(replaceable, size=len(absent), replace=False)] = absent
    return clicks._replace(items=items)


def _split(config: WorldConfig, clicks: Clicks, rng: np.random.Generator) -> NDArray[np.int8]:
    """Split at random, with a click of every user and of every item in the training part."""
    order = rng.permutation(config.n_logged)
    needed = np.zeros(config.n_logged, dtype=bool)
    for codes in (clicks.users, clicks.items):
        needed[order[np.unique(codes[order], return_index=True)[1]]] = True
    order = np.concatenate([order[needed[order]], order[~needed[order]]])
    part = np.empty(config.n_logged, dtype=np.int8)
    part[order] = np.repeat([0, 1, 2], [config.n_interactions, config.n_held_out, config.n_held_out])
    return part


def _threshold(config: WorldConfig, enjoyed: NDArray[np.float64], part: NDArray[np.int8]) -> float:
    """The enjoyment below which exactly the configured number of training clicks are false positives."""
    if config.n_false_positives == 0:
        return float(enjoyed.min())
    return float(np.partition(enjoyed[part == 0], config.n_false_positives)[config.n_false_positives])


def _log(
    config: WorldConfig,
    clicks: Clicks,
    part: NDArray[np.int8],
    satisfaction: NDArray[np.float64],
    rng: np.random.Generator,
) -> pl.DataFrame:
    """The clicks in order of time, each with the signal that the user left."""
    log = pl.DataFrame(
        {
            "user": names("u", clicks.users),
            "item": names("i", clicks.items),
            config.signal: _rating(satisfaction) if config.signal == "rating" else _dwell_seconds(satisfaction),
            "time": START + rng.integers(SECONDS, size=config.n_logged),
            "shown_position": clicks.positions,
            "part": pl.Series(PARTS).gather(part),
        }
    )
    return log.sort("time", maintain_order=True)


def _rating(satisfaction: NDArray[np.float64]) -> NDArray[np.int8]:
    """One or two stars below 0, three to five from 0."""
    return (1 + np.digitize(satisfaction, [-1.5, 0, 1.5, 3])).astype(np.int8)


def _dwell_seconds(satisfaction: NDArray[np.float64]) -> NDArray[np.int32]:
    """Below 10 seconds below 0, 10 to 3,600 from 0."""
    seconds = 10 * np.exp(0.7 * satisfaction)
    return np.where(satisfaction < 0, seconds.clip(1, 9), seconds.clip(10, 3_600)).astype(np.int32)
