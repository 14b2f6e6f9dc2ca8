"""The results as JSON, with the machine they come from, and as a table."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.catalogue import COMPARISONS, SHAPES, required_at

PACKAGES = ("torch", "numpy", "numba", "polars", "pandas", "scipy")
UNITS = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))


def describe_machine(threads: int) -> dict[str, Any]:
    """What a time depends on beside the code."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _output("git", "rev-parse", "--short", "HEAD"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": threads,
        "load_at_start": [round(load, 1) for load in os.getloadavg()],
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()


def row_of(shape: str, name: str, sides: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One comparison with all that was measured; `problem` says why there is no ratio."""
    about = COMPARISONS[name]
    row: dict[str, Any] = {"name": name, "title": about.title, "unit": about.unit, "required": required_at(shape, name)}
    row["aim"] = about.aim if row["required"] else None
    for side, result in sides.items():
        if problem := result.get("skipped") or result.get("failed"):
            return {**row, "problem": f"{side}: {problem}", "failed": "failed" in result}
    plain, ours = sides["plain"], sides["ours"]
    row |= {f"plain_{key}": plain[key] for key in ("seconds", "extrapolated", "parts", "peak_mb")}
    row |= {f"ours_{key}": ours[key] for key in ("seconds", "extrapolated", "repeats", "parts", "peak_mb")}
    row["ratio"] = plain["seconds"] / ours["seconds"]
    row["agreement"] = {key: sides["agree"][key] for key in ("what", "difference", "limit")}
    if row["required"]:
        row["reached"] = row["ratio"] >= row["required"]
    if limit := SHAPES[shape].most_memory_mb:
        row |= {"required_peak_mb": limit, "reached_memory": ours["peak_mb"] <= limit}
    return row


def write_json(folder: Path, shape: str, size: dict[str, int], machine: dict[str, Any], rows: list[dict]) -> None:
    """Write the results of a shape, whole or not at all; comparisons that were not made again stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{shape}.json"
    known = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    by_name = {row["name"]: row for row in known}
    by_name |= {row["name"]: _stamped(row, by_name.get(row["name"]), machine) for row in rows}
    rows = [by_name[name] for name in COMPARISONS if name in by_name]
    content = {"shape": shape, **size, "machine": machine, "rows": rows}
    partial = folder / f".{shape}.json"
    partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.rename(path)


def _stamped(row: dict[str, Any], before: dict[str, Any] | None, machine: dict[str, Any]) -> dict[str, Any]:
    """A row with its date and commit, and the ratios found before: a repeated run shall not hide them."""
    earlier = [] if before is None else [*before.get("earlier", []), *([_brief(before)] if "ratio" in before else [])]
    return {**row, "date": machine["date"], "commit": machine["commit"], "earlier": earlier}


def _brief(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("date", "commit", "ratio")}


def table_of(shape: str, size: dict[str, int], rows: Iterable[dict[str, Any]]) -> Table:
    """What was required and what was reached."""
    counts = ", ".join(f"{count:,} {what}" for what, count in size.items())
    table = Table(title=f"{shape}: {counts}", title_justify="left")
    for column in ("", "plain", "ours", "ratio", "at least", "reached", "memory plain → ours", "differ by", "from"):
        table.add_column(column, justify="left" if column in ("", "from") else "right")
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: dict[str, Any]) -> list[str]:
    if "problem" in row:
        return [row["title"], *[""] * 7, row["problem"]]
    required, limit = row["required"], row.get("required_peak_mb")
    verdicts = [row[key] for key in ("reached", "reached_memory") if key in row]
    at_least = [f"{required:g}×"] if required else []
    at_least += [f"≤ {limit:,.0f} MB"] if limit else []
    extrapolated = (("plain", row["plain_extrapolated"]), ("ours", row["ours_extrapolated"]))
    return [
        row["title"],
        _time(row["plain_seconds"], row["unit"]),
        _time(row["ours_seconds"], row["unit"]),
        f"{row['ratio']:.1f}×",
        " ".join(at_least),
        ("yes" if all(verdicts) else "NO") if verdicts else "",
        f"{row['plain_peak_mb']:,.0f} → {row['ours_peak_mb']:,.0f} MB",
        f"{row['agreement']['difference']:.1e}" if row["agreement"]["difference"] else "0",
        "; ".join(f"{side}: {what}" for side, what in extrapolated if what),
    ]


def _time(seconds: float, unit: str) -> str:
    size, name = next((each for each in reversed(UNITS) if seconds >= each[0]), UNITS[0])
    return f"{seconds / size:.3g} {name}{unit.removeprefix('s')}"
