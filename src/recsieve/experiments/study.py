"""What comparisons and tuning share: a folder, a split, and a result that says how it was made."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from recsieve.communicator import Communicator
from recsieve.data.splitting import Split
from recsieve.data.statistics import fingerprint
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.experiments.machine import machine, versions
from recsieve.experiments.source import DataSource
from recsieve.files import write_text
from recsieve.lock import HOLDER, is_begun, locked
from recsieve.storage.run_folder import RunFolder

FORMAT = 1


def check_folder(out: Path, what: str) -> None:
    """Refuse a folder that contains something other than a study of this kind."""
    if out.is_file():
        raise RunError(f"{out} is a file, but a {what} is a folder: give another name.")
    if is_begun(out) and not (out / "data").exists():
        raise RunError(f"{out} holds files that are not a {what} of recsieve: give another folder.")


@contextmanager
def writing(out: Path, check: Callable[[Path], None], group: Communicator) -> Iterator[None]:
    """Let the first rank be the only one who writes a folder, if the check refuses nothing that is there."""
    if not group.is_first:
        yield
        return
    check(out)
    with locked(out):
        yield


def require_shared(out: Path, group: Communicator) -> None:
    """Refuse ranks that do not see the folder in which the first has begun."""
    holder = out / HOLDER
    said = group.broadcast_bytes(holder.read_bytes() if group.is_first else b"")  # the others look after it has
    if not group.all(holder.exists() and holder.read_bytes() == said):
        raise RunError(f"{out} is not the same folder on all hosts: give one on a disk that they share, with --out.")


def require_split(data: DataSource | None, split: Split | None, needed: Sequence[str], use: str) -> Split:
    """The given split, or that of the data, with something in each part that is needed."""
    if split is None:
        if data is None:
            raise ConfigError("there is no data: give a file, a folder or a split.")
        split = data.load()
    for name in needed:
        if not len(getattr(split, name)):
            raise DataError(f"the {name} part is empty, but {use} on it: give more interactions.")
    return split


def keep_split(folder: Path, split: Split, *, begun: bool = True) -> str:
    """Save a split for the training processes, and refuse another one later; returns its fingerprint."""
    run, mark = RunFolder(folder), fingerprint(split.train)
    if not (begun and run.interactions.exists()):
        run.write_split(split)
    elif fingerprint(run.read_split().train) != mark:
        raise RunError(f"the data has changed since {folder} was written: start again in another folder with --out.")
    return mark


def how_made(config: BaseModel, command: str, started: float) -> dict[str, Any]:
    """What is needed to reproduce the result; `started` is a time of `time.perf_counter`."""
    return {
        "format": FORMAT,
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - started, 1),
        "machine": machine(),
        "versions": versions(),
        "config": config.model_dump(mode="json"),
    }


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write a result as JSON, with numbers rounded to six digits."""
    write_text(path, json.dumps(rounded(result), indent=1, ensure_ascii=False) + "\n")


def rounded(value: Any) -> Any:
    """Numbers rounded to six digits; undefined ones are null."""
    if isinstance(value, Mapping):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
