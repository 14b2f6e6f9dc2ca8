"""The numbers of a comparison as tables for other programs, and for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from recsieve.experiments.conclusions import SeedRuns
from recsieve.experiments.trial import DETECTION, VALIDATIONS
from recsieve.storage.frame_file import write_frame


def write_tables(folder: Path, compared: Sequence[SeedRuns], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write each table as CSV and Parquet."""
    tables = {
        "summary": pl.DataFrame([_flat(row) for row in rows], infer_schema_length=None),
        "runs": pl.DataFrame([_run_row(one, run) for one in compared for run in one.runs]),
        "validations": _course(compared, VALIDATIONS),
        "losses": _course(compared, "history.parquet"),
        "detection": _course(compared, DETECTION, "score", "group"),
    }
    for name, table in tables.items():
        if not table.is_empty():
            write_table(table, folder / name)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV and Parquet."""
    for ending in (".parquet", ".csv"):
        write_frame(table, path.with_suffix(ending))


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as columns with compound names."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name == "options":
            flat[name] = ", ".join(f"{option} = {setting}" for option, setting in value.items())
        elif isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name} ")
        elif isinstance(value, list):
            flat |= {f"{prefix}{name} {place}": entry for place, entry in zip(("low", "high"), value, strict=True)}
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _about(one: SeedRuns) -> dict[str, str]:
    return {"noise": one.noise, "model": one.model, "strategy": one.contender.name, "role": one.contender.role}


def _run_row(one: SeedRuns, run: Any) -> dict[str, Any]:
    metrics = run.read_metrics()
    seed = run.read_config()["settings"]["seed"]
    selected = {"epoch_selected": metrics["selected"]["epoch"], "seconds": metrics["seconds"]}
    return _about(one) | {"seed": seed} | selected | metrics["test"]


def _course(compared: Sequence[SeedRuns], file: str, *by: str) -> pl.DataFrame:
    """The means over the seeds of a record that runs have, at each epoch."""
    frames = []
    for one in compared:
        read = [run.read_frame(run.path / file) for run in one.runs if (run.path / file).exists()]
        found = [frame for frame in read if len(frame)]
        if not found:  # a closed form has no course
            continue
        records = pl.concat(found).with_columns(pl.selectors.float().fill_nan(None))
        means = records.group_by("epoch", *by, maintain_order=True).mean().sort("epoch", maintain_order=True)
        frames.append(means.select(*(pl.lit(value).alias(name) for name, value in _about(one).items()), pl.all()))
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()  # models may record different things
