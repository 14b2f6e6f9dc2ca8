"""The recommendations for all users of a run as a folder of Parquet parts, in bounded memory.

A part is complete or missing, and existing parts are kept, so the same call continues after a stop. A file next to the
parts says what they were made from, so that lists of two runs never mix.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.codes import blocks
from recsieve.errors import ConfigError, RunError
from recsieve.files import replacing, write_text
from recsieve.lock import locked
from recsieve.progress import Advanced, Progress, unheard
from recsieve.recommendations.filters import Filters
from recsieve.recommendations.frame import as_frame
from recsieve.recommendations.ranker import UNFILTERED, Ranker
from recsieve.recommender import Recommender
from recsieve.storage.run_folder import RunFolder

PART_ROWS = 1_000_000  # about as many in a part: little to hold in memory, little to lose, and not too many files
BLOCK_USERS = 4096  # ranked between two reports of progress
ABOUT = "_lists.json"  # readers of such folders leave out what begins with an underscore


@dataclass(frozen=True)
class Lists:
    """What determines the lists, and how users are divided into parts."""

    run: str  # a fingerprint of its files
    k: int
    exclude_seen: bool
    users: int
    users_per_part: int
    filters: str = ""  # a fingerprint of what else decides about them

    @property
    def n_parts(self) -> int:
        return -(-self.users // self.users_per_part)

    def users_of(self, part: int) -> range:
        """The codes of the users of a part."""
        first = part * self.users_per_part
        return range(first, min(first + self.users_per_part, self.users))


def write_lists(
    run: Path | str,
    folder: Path | str,
    k: int = 10,
    *,
    filters: Filters = UNFILTERED,
    group: Communicator = SINGLE_PROCESS,
    progress: Progress = unheard,
) -> Lists:
    """Write the k best items of every user, with the columns of `Recommender.recommend`; continues after a stop.

    Each of n ranks writes every n-th part, on all cores that torch may use.
    """
    if k < 1:
        raise ConfigError(f"k is {k}: give the number of items to recommend, 1 or more.")
    filters = filters.prepared()
    recommender = Recommender.load(run)
    n_users = recommender.trained().n_users
    lists = Lists(
        fingerprint(RunFolder(run)), k, filters.exclude_seen, n_users, max(1, PART_ROWS // k), _digest(filters)
    )
    if group.is_first:
        _check(Path(folder), lists)
    with locked(Path(folder)) if group.is_first else nullcontext():
        if group.is_first:
            _prepare(Path(folder), lists)
        group.any(False)  # the others wait, so that they do not take what the first has begun for something else
        lists = _prepare(Path(folder), lists)
        _write_parts(recommender.ranker(), filters, Path(folder), lists, group, progress)
        group.any(False)  # all have ended
    return lists


def _write_parts(
    ranker: Ranker, filters: Filters, folder: Path, lists: Lists, group: Communicator, progress: Progress
) -> None:
    """Write those of a rank's parts that are missing."""
    own = range(group.rank, lists.n_parts, group.size)
    missing = [part for part in own if not part_path(folder, part).exists()]
    total = sum(len(lists.users_of(part)) for part in own)
    done = total - sum(len(lists.users_of(part)) for part in missing)
    progress(Advanced("recommend", done, total, "users"))
    for part in missing:
        users, frames = lists.users_of(part), []
        for block in blocks(len(users), BLOCK_USERS):
            ranked = ranker.for_codes(np.array(users[block], np.int32), lists.k, filters)
            frames.append(as_frame(ranked, ranker.users.ids, ranker.items.ids))
            done += len(users[block])
            progress(Advanced("recommend", done, total, "users"))
        _write(pl.concat(frames), part_path(folder, part))


def part_path(folder: Path | str, part: int) -> Path:
    """The path of a part."""
    return Path(folder) / f"part-{part:05}.parquet"


def _write(frame: pl.DataFrame, path: Path) -> None:
    for left in path.parent.glob(f".{path.name}.*"):  # by a process that was killed
        left.unlink()
    with replacing(path) as temporary:
        frame.write_parquet(temporary)


def _prepare(folder: Path, lists: Lists) -> Lists:
    """Write down what the parts are made from, or take up what is written there."""
    begun = _check(folder, lists)
    if begun is None:
        write_text(folder / ABOUT, json.dumps(asdict(lists), indent=2) + "\n")
    return begun or lists


def _check(folder: Path, lists: Lists) -> Lists | None:
    """What the parts in a folder are made from, if there are any; anything else is refused."""
    about = folder / ABOUT
    if about.exists():
        begun = _read(about)
        decide = ("run", "k", "exclude_seen", "users", "filters")
        differing = [name for name in decide if getattr(begun, name) != getattr(lists, name)]
        if differing:
            raise RunError(
                f"{folder} holds lists with other settings ({', '.join(differing)}): give another folder with --out, "
                "or remove this one."
            )
        return begun
    if folder.is_file() or (folder.exists() and any(not path.name.startswith(".") for path in folder.iterdir())):
        raise RunError(f"{folder} holds files that are not lists of recsieve: give another folder with --out.")
    return None


def _read(about: Path) -> Lists:
    try:
        lists = Lists(**json.loads(about.read_text(encoding="utf-8")))
        if lists.users_per_part >= 1:
            return lists
    except (ValueError, TypeError):
        pass
    raise RunError(f"{about} is damaged or not from recsieve: give another folder with --out.")


def _digest(filters: Filters) -> str:
    """What lists are made with beside the run, "" if nothing."""
    if filters == Filters(filters.exclude_seen):
        return ""
    return hashlib.sha256(json.dumps(asdict(filters), sort_keys=True).encode()).hexdigest()


def fingerprint(run: RunFolder) -> str:
    """The SHA-256 of the files that determine the lists."""
    digest = hashlib.sha256()
    for path in (run.model, run.final, run.offset, run.ids, run.interactions):
        if path.exists():
            with path.open("rb") as file:
                digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
