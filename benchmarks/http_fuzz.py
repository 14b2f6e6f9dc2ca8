"""Requests that nobody would send: bodies that are nearly right, and bodies that are anything."""

from __future__ import annotations

from hypothesis import strategies as st

PATHS = ("/recommend", "/similar", "/explain", "/reload")
_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.sampled_from(["u1", "i1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_ids = st.lists(st.sampled_from(["u1", "i1", "i2", "\ud800", "\0", 1, 3]) | st.text(st.characters()), max_size=4)
_fields = {
    "users": _ids, "profiles": st.lists(_ids, max_size=3), "items": _ids, "k": st.integers(-1, 1001), "user": _ids,
    "profile": _ids, "allow": _ids, "deny": st.dictionaries(st.sampled_from(["u1", "0"]), _ids, max_size=2),
    "explain": st.integers(0, 3), "most": st.integers(0, 3), "min_popularity": st.integers(-1, 9),
    "exclude_seen": st.booleans(),
}  # fmt: skip
_nearly = st.fixed_dictionaries({}, optional={name: value | _anything for name, value in _fields.items()})
requests = st.tuples(st.sampled_from(PATHS), _nearly | _anything)
