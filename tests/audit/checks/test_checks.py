from dataclasses import replace

import numpy as np
import polars as pl

from recsieve.audit.checks import CHECKS, run_checks
from recsieve.data.interactions import Interactions, concatenated


def joined(data: Interactions, name: str, items, times) -> Interactions:
    """The data and one user more."""
    ids = pl.concat([data.user_ids, pl.Series([name])])
    users = np.full(len(items), data.n_users, np.int32)
    more = Interactions(users, np.asarray(items, np.int32), ids, data.item_ids, time=np.asarray(times, np.int64))
    return concatenated([replace(data, user_ids=ids), more])


def flagged(data: Interactions, name: str) -> list:
    table = CHECKS[name]().find(data)
    return table.filter("flagged")[CHECKS[name].subject].to_list()


def test_people_are_no_bots_and_nobody_buys_in_bulk_or_has_two_accounts(people):
    for name in ("bots", "bulk-buyers", "duplicates"):
        assert flagged(people(), name) == []


def test_a_steady_pace_is_a_bots(people):
    data = joined(people(), "bot", range(0, 80, 2), 1000 + 30 * np.arange(40))
    assert flagged(data, "bots") == ["bot"]
    assert "regular timing" in CHECKS["bots"]().find(data)["hint"][0]


def test_items_as_though_drawn_at_random_are_a_bots(people):
    rng = np.random.default_rng(0)
    data = people(n_users=200)
    data = joined(data, "bot", np.arange(40), np.cumsum(rng.lognormal(4, 2, 40)))
    table = CHECKS["bots"]().find(data)
    assert table["user"][0] == "bot"


def test_far_more_items_than_others_are_bought_in_bulk(people):
    data = people(n_users=60, n_items=4_000).take(slice(None))
    few = data.take(np.flatnonzero(data.items < 40))
    assert flagged(joined(few, "shop", range(4_000), np.arange(4_000)), "bulk-buyers") == ["shop"]


def test_nearly_the_same_items_are_two_accounts_of_one_person(people):
    data = people()
    mine = data.csr.row(5)
    twin = joined(data, "twin", mine[:-1], np.arange(len(mine) - 1))
    assert set(flagged(twin, "duplicates")) == {"u5", "twin"}
    assert flagged(joined(data, "half", mine[: len(mine) // 2], np.arange(len(mine) // 2)), "duplicates") == []


def test_other_items_from_some_day_on_are_drift(people):
    data = people()
    assert flagged(data, "drift") == []
    halves = np.where(data.items < 60, 0, 10**7)  # one half of the items first, then the other
    assert len(flagged(replace(data, time=data.time + halves), "drift")) > 6


def test_an_item_that_goes_over_to_people_of_another_taste_has_changed(people):
    data = people(n_users=300, n_items=60)
    taken = (data.items == 0) | ((data.items == 1) & (data.users % 2 == 1))
    one = np.where((data.items == 1), np.int32(0), data.items).astype(np.int32)
    time = np.where(data.items == 1, data.time + 10**8, data.time)
    changed = replace(data, items=np.where(taken, one, data.items).astype(np.int32), time=time)
    table = CHECKS["changed-items"]().find(changed)
    assert table["item"][0] == "i0"
    assert flagged(changed, "changed-items") == ["i0"]


def test_a_check_that_needs_time_says_so_where_there_is_none(people):
    findings = run_checks(replace(people(), time=None), CHECKS)
    for name, finding in findings.items():
        assert (finding.table is None) == CHECKS[name].needs_time
        assert ("no time" in finding.sentence) == CHECKS[name].needs_time
