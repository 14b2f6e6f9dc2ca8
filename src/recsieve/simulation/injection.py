"""Adds noise to clean data at a known rate, to measure its effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recsieve.data.interactions import CLEAN, CSR, NOISY, Interactions
from recsieve.errors import ConfigError, DataError, did_you_mean
from recsieve.simulation.drawing import outside, spread, unique_pairs

MECHANISMS = ("uniform", "popular", "disliked")
# After so many rounds of drawing blindly, the few users who have met almost everything are served one by one.
ROUNDS = 10


def inject(
    data: Interactions,
    rate: float,
    mechanism: str,
    rng: np.random.Generator,
    forbidden: Sequence[Interactions] = (),
    dislikes: Interactions | None = None,
) -> Interactions:
    """Add false positives to clean data up to a given share of the result.

    Active users get more of them. Their items are sampled uniformly ("uniform") or mostly from popular ones
    ("popular"), or the pairs come only from given dislikes ("disliked"). No pair is already observed, forbidden or
    added twice.
    """
    _check(data, rate, mechanism, [*forbidden, *([] if dislikes is None else [dislikes])])
    blocked = data.csr
    for held_out in forbidden:
        blocked = blocked.union(held_out.csr)
    n_added = round(len(data) * rate / (1 - rate))
    if mechanism == "disliked":
        pairs = _draw_disliked(dislikes, n_added, blocked, rng)
    else:
        weights = data.item_counts() if mechanism == "popular" else np.ones(data.n_items, dtype=np.int64)
        pairs = _draw_new(data.user_counts(), weights, n_added, blocked, rng)
    return _append(data, pairs, rng)


def _check(data: Interactions, rate: float, mechanism: str, others: list[Interactions]) -> None:
    if mechanism not in MECHANISMS:
        raise ConfigError(f"there is no noise mechanism '{mechanism}': {did_you_mean(mechanism, MECHANISMS)}")
    if not 0 <= rate < 1:
        raise ConfigError(f"the noise rate is {rate}: give the share of the result, from 0 to below 1, e.g. 0.2.")
    if n_false := int(data.is_false_positive.sum()):
        raise DataError(f"the data has {n_false} known false positives: remove them before adding noise.")
    if any((other.n_users, other.n_items) != (data.n_users, data.n_items) for other in others):
        raise DataError(
            "the forbidden or disliked pairs have other users or items than the data: give parts of the same split."
        )


def _draw_disliked(
    dislikes: Interactions | None, n_added: int, blocked: CSR, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw from the pairs that are known as disliked."""
    if dislikes is None:
        raise ConfigError("the noise mechanism 'disliked' needs the disliked pairs: give them as dislikes.")
    pairs = outside(_pairs(dislikes.csr), _pairs(blocked))
    _check_room(n_added, len(pairs))
    return rng.choice(pairs, size=n_added, replace=False)


def _draw_new(
    activity: NDArray[np.int64], weights: NDArray[np.int64], n_added: int, blocked: CSR, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw distinct pairs that are not blocked: the users by activity, their items by weight."""
    met = np.bincount(blocked.users(), weights=weights[blocked.items] > 0, minlength=blocked.n_users)
    room = np.where(activity > 0, np.count_nonzero(weights) - met.astype(np.int64), 0)
    _check_room(n_added, int(room.sum()))
    if n_added == 0:
        return np.empty(0, dtype=np.int64)
    quota = spread(n_added, activity, room, rng)
    taken = _pairs(blocked)
    added = np.empty(0, dtype=np.int64)
    missing = quota
    for _ in range(ROUNDS):
        drawn = outside(_draw_blindly(missing, weights, rng), taken)
        added = unique_pairs(np.concatenate([added, drawn]))
        missing = quota - np.bincount(added // len(weights), minlength=len(quota))
    taken = unique_pairs(np.concatenate([taken, added]))
    rest = [_draw_from_the_rest(int(user), missing[user], weights, taken, rng) for user in np.flatnonzero(missing)]
    return np.concatenate([added, *rest])


def _draw_blindly(
    missing: NDArray[np.int64], weights: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw as many pairs of each user as are missing, whatever they are."""
    users = np.repeat(np.arange(len(missing)), missing)
    cumulated = np.cumsum(weights)
    items = np.searchsorted(cumulated, rng.integers(cumulated[-1], size=len(users)), side="right")
    return users * len(weights) + items


def _draw_from_the_rest(
    user: int, missing: int, weights: NDArray[np.int64], taken: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw pairs of one user from all that are left."""
    first, last = np.searchsorted(taken, [user * len(weights), (user + 1) * len(weights)])
    left = weights.astype(np.float64)
    left[taken[first:last] - user * len(weights)] = 0
    return user * len(weights) + rng.choice(len(weights), size=missing, replace=False, p=left / left.sum())


def _pairs(csr: CSR) -> NDArray[np.int64]:
    """Pairs as sorted user * n_items + item."""
    return csr.users().astype(np.int64) * csr.n_items + csr.items


def _check_room(n_added: int, room: int) -> None:
    if n_added > room:
        raise DataError(
            f"the rate asks for {n_added} false positives, but there are only {room} possible pairs: give a lower rate."
        )


def _append(data: Interactions, pairs: NDArray[np.int64], rng: np.random.Generator) -> Interactions:
    """The data, known as true, and after it the pairs, known as false."""
    users, items = np.divmod(pairs, data.n_items)
    flags = np.repeat(np.array([CLEAN, NOISY], dtype=np.int8), [len(data), len(pairs)])
    weight, time = data.weight, data.time
    if weight is not None:
        weight = np.concatenate([weight, np.ones(len(pairs), dtype=np.float32)])
    if time is not None:
        time = np.concatenate([time, time[_row_of_same_user(data, users, rng)]])
    return replace(
        data,
        users=np.concatenate([data.users, users.astype(np.int32)]),
        items=np.concatenate([data.items, items.astype(np.int32)]),
        false_positive=flags,
        weight=weight,
        time=time,
    )


def _row_of_same_user(data: Interactions, users: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A random row of each user, or of anybody for a user who has none."""
    by_user = np.argsort(data.users, kind="stable")
    counts = data.user_counts()
    first = np.cumsum(counts) - counts
    own = first[users] + (rng.random(len(users)) * counts[users]).astype(np.int64)
    anybody = rng.integers(len(data), size=len(users))
    return by_user[np.where(counts[users] > 0, own, anybody)]
