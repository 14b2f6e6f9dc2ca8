"""What a mean or broken program might make of bytes, text and plain values."""

from __future__ import annotations

from random import Random
from typing import Any

STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, -(2**63), 2**64, 10**30, 0.5, -0.0, float("nan"), float("inf"), 1e308, "", " ",
    "a", "-1", "nan", "ndcg@²", "ndcg@0", "ndcg@99999999999", "auto", "gmf", "ease", "truncated", "custom", "../../etc",
    "x\x00y", "\ud83d\ude00", "[1]", "{}", "'; drop", "9" * 400, [], [[]], [None], {}, {"": {}},
    {"a": [1, {"b": None}]},
]  # fmt: skip
PIECES = [b"", b"\x00", b"\xff", b"\n", b"\r\n", b",", b"\t", b'"', b"\xef\xbb\xbf", b"null", b"NaN", b"-1", b"1e999",
          b"[", b"]", b"{", b"}", b"=", b"\x1f\x8b", b"(\xb5/\xfd", b"PAR1", b"9" * 40, "ä漢".encode()]  # fmt: skip


def mutate_bytes(data: bytes, rng: Random) -> bytes:
    """Cut off, flip, insert, repeat or swap, a few times."""
    mutated = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(mutated) + 1)
        end = min(len(mutated), at + rng.choice([1, 2, 8, 64]))
        kind = rng.randrange(6)
        if kind == 0:
            del mutated[at:]
        elif kind == 1 and mutated:
            mutated[at % len(mutated)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            mutated[at:at] = rng.choice(PIECES)
        elif kind == 3:
            del mutated[at:end]
        elif kind == 4:
            mutated[at:at] = mutated[at:end] * rng.choice([1, 2, 20])
        else:
            mutated[at:end] = rng.randbytes(end - at)
    return bytes(mutated)


def mutate_text(text: str, rng: Random) -> str:
    return mutate_bytes(text.encode(errors="replace"), rng).decode(errors="replace")


def mutate_value(value: Any, rng: Random) -> Any:
    """A plain value with one place in it changed: replaced, removed, or nested deeper."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice(list(value))
        if rng.random() < 0.15:
            return {other: entry for other, entry in value.items() if other != name}
        if rng.random() < 0.1:
            return {**value, rng.choice(["", "a", "settings", "seed", "model"]): rng.choice(STRANGE)}
        return {**value, name: mutate_value(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:at]
        return [*value[:at], mutate_value(value[at], rng), *value[at + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.4:
        return rng.choice([-value, value + 1, value * 10**6, float(value), str(value), [value], {"a": value}])
    return rng.choice(STRANGE)
