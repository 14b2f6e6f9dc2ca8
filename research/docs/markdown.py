"""What the generated pages share: result files in, tables of Markdown out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from recsieve.errors import DataError


def read_results(folder: Path, command: str = "") -> dict[str, dict[str, Any]]:
    """The results in a folder by the names of their files; where there must be some, `command` writes them."""
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    if command and not results:
        raise DataError(f"{folder} holds no results: write some with `{command}`.")
    return results


def table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Cells as a table."""
    names = list(header)
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in [names, ["---"] * len(names), *rows])


def _cell(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell).replace("|", "\\|")


def size(facts: Mapping[str, int]) -> str:
    """How large a data set is."""
    return f"{facts['users']:,} × {facts['items']:,}, {facts['interactions']:,}"
