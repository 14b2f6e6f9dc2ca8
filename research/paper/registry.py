"""Each result's two halves: which runs it needs, and what it makes of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

from research.paper.catalogue import TITLES
from research.paper.data_sets import DataSet
from research.paper.runs import Options, Records, RunSpec


class Result(Protocol):
    """What the module of a result offers."""

    def runs(self, data: DataSet, options: Options, records: Records) -> list[RunSpec]:
        """The runs that it needs on a data set; those that depend on others once these have ended."""

    def collect(self, data: DataSet, options: Options, records: Records) -> dict[str, Any]:
        """What it shows of a data set, in a form that JSON can hold."""


RESULTS = {name: cast(Result, import_module(f"research.paper.{name}")) for name in TITLES}
