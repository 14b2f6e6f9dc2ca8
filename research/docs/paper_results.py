"""The result files of the paper's tables and figures, as the pages about them read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "paper" / "results"
DOCS = ROOT / "docs"
DATA = ("ml-1m", "goodbooks-10k-v1", "yelp-paper-part", "adressa-paper-part")  # others come after


def merged(name: str) -> dict[str, Any] | None:
    """All result files of a result as one: entries of the same data are put together."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.rglob(f"{name}*.json"))]
    if not found:
        return None
    entries: dict[str, dict[str, Any]] = {}
    for result in found:
        for entry in result["data_sets"]:
            known = entries.setdefault(entry["data"]["name"], {"data": entry["data"]})
            for key, value in entry.items():
                rows = isinstance(value, list) and key != "metrics"
                # A row says of how many seeds it is: files that are put together may differ in that.
                noted = [{"seeds": result["options"]["seeds"], **row} for row in value] if rows else []
                known[key] = known.get(key, []) + noted if rows else value
    ordered = sorted(entries.values(), key=lambda entry: place(entry["data"]["name"]))
    return {**found[0], "data_sets": ordered, "commands": [result["command"] for result in found]}


def place(name: str) -> int:
    return DATA.index(name) if name in DATA else len(DATA)


def entries(name: str) -> list[dict[str, Any]]:
    """What there is of a result, by data set."""
    return (merged(name) or {"data_sets": []})["data_sets"]


def models_in(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(entry, model) for entry in entries(name) for model in entry["models"]]
