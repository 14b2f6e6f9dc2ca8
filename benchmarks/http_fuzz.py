"""Requests that nobody would send: most are valid in form and strange in content, some are nearly right or anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

PATHS = ("/recommend", "/similar", "/explain", "/reload")
STRANGE = ["", "u1", "0", "-1", "1.0", " 1", "\0", "\ud800", "💥", "е́", "a" * 1000, 0, -1, 2**31, 2**63, -(10**30)]


def requests(users: Sequence[Any], items: Sequence[Any]) -> SearchStrategy[tuple[str, Any]]:
    """Path and body; of ten, about seven are valid in form, with ids that the run knows among others."""
    some_users, some_items = _ids(users), _ids(items)
    fields = _fields(some_users, some_items, list(map(str, users)))
    nearly = st.fixed_dictionaries({}, optional={name: value | _anything() for name, value in fields.items()})
    broken = st.tuples(st.sampled_from(PATHS), nearly | _anything())
    valid = _valid(fields, some_users, some_items, st.sampled_from(list(items)))
    return st.integers(0, 9).flatmap(lambda die: broken if die == 0 else valid)


def _ids(known: Sequence[Any]) -> SearchStrategy[Any]:
    """Ids of the run, as they are and as text, and others."""
    of_run = st.sampled_from(list(known))
    return of_run | of_run | of_run | of_run.map(str) | st.sampled_from(STRANGE) | st.text(st.characters(), max_size=20)


def _fields(users: SearchStrategy[Any], items: SearchStrategy[Any], names: list[str]) -> dict[str, SearchStrategy[Any]]:
    """What each field may hold by its type, now and then many or the same again and again."""
    lists = st.lists(items, max_size=5) | st.tuples(items, st.integers(0, 300)).map(lambda one: [one[0]] * one[1])
    name = st.sampled_from(names) | st.text(st.characters(), max_size=20)
    by_name = st.dictionaries(name, lists, min_size=1, max_size=3)
    return {
        "users": st.lists(users, min_size=1, max_size=5) | users.map(lambda one: [one] * 50),
        "profiles": st.lists(lists, min_size=1, max_size=3) | by_name,
        "items": st.lists(items, min_size=1, max_size=5), "user": users, "profile": lists,
        "k": st.sampled_from([1, 2, 10, 999, 1000]) | st.integers(1, 1000), "exclude_seen": st.booleans(),
        "allow": lists | by_name, "deny": lists | by_name,
        "min_popularity": st.sampled_from([0, 1, 100, 10**6, 1 << 60]),
        "explain": st.integers(0, 20), "most": st.integers(1, 100), "per_category": st.integers(1, 3),
        "categories": st.dictionaries(name, st.text(max_size=3), max_size=5),
        "run": st.sampled_from(["", ".", "\0", "/", "no-such-run", "a" * 5000]), "back": st.booleans(),
    }  # fmt: skip


def _valid(fields: Any, users: Any, items: Any, known: SearchStrategy[Any]) -> SearchStrategy[tuple[str, Any]]:
    """Bodies that are as they are described: what is wrong with them, if anything, is found behind the validation."""

    def body(required: dict[str, Any], *optional: str) -> SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries(required, optional={name: fields[name] for name in optional})

    filters = ("k", "exclude_seen", "allow", "deny", "min_popularity", "explain")
    of_users, of_profiles = {"users": fields["users"]}, {"profiles": fields["profiles"]}
    limit = {name: fields[name] for name in ("categories", "per_category")}
    known_items = {"items": st.lists(known, min_size=1, max_size=5)}
    bodies = [
        ("/recommend", body(of_users, *filters)), ("/recommend", body(of_users | limit, *filters)),
        ("/recommend", body(of_profiles, *filters)), ("/recommend", body(of_profiles | limit, *filters)),
        ("/similar", body(known_items, "k")), ("/similar", body({"items": fields["items"]}, "k")),
        ("/explain", body(known_items | {"user": users}, "most")),
        ("/explain", body(known_items | {"profile": fields["profile"]}, "most")),
        ("/explain", body({"items": fields["items"], "profile": fields["profile"]}, "most")),
    ]  # fmt: skip
    return st.one_of([st.tuples(st.just(path), of_path) for path, of_path in bodies])


def _anything() -> SearchStrategy[Any]:
    simple = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.sampled_from(STRANGE)
    )
    return st.recursive(
        simple | st.sampled_from(STRANGE),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )
