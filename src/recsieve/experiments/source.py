"""Where the data of a training or a study comes from."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict

if TYPE_CHECKING:
    from recsieve.communicator import Communicator
    from recsieve.data.splitting import Split

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DataSource:
    """Where interactions come from, and what their columns mean."""

    source: Path
    validation: Path | None = None
    test: Path | None = None
    user: str | None = None
    item: str | None = None
    false_positive: str | None = None
    time: str | None = None
    weight: str | None = None
    positive: str | None = None
    header: bool | None = None
    encoding: str | None = None
    query: str | None = None
    repeats: str | None = None
    split: str = "random"
    k_core: int = 0

    __pydantic_config__ = ConfigDict(extra="forbid")  # for where it is a table of a configuration file

    def load(self, group: Communicator | None = None, *, check: bool = True) -> Split:
        """Read and split the data, or a rank's share of it; problems of a given split are logged if checked."""
        from recsieve.communicator import SINGLE_PROCESS
        from recsieve.data.loading import load_split  # not needed for the help of a command, which shows defaults

        split = load_split(**asdict(self), check=check, group=group or SINGLE_PROCESS)
        for line in split.report.lines() if split.report else ():
            log.warning("%s", line)
        return split

    def describe(self) -> dict[str, Any]:
        """What is recorded in a run; paths as they were given."""
        return {name: str(value) for name, value in asdict(self).items() if value is not None}
