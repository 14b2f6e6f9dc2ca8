"""Each result's two halves: which runs it needs, and what it makes of them."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Protocol, cast

from research.paper import (
    figure3,
    figure4,
    figure5,
    figure6,
    figure7,
    figure8,
    figure9,
    phenomenon,
    table1,
    table2,
    table3,
    table4,
)
from research.paper.data_sets import DataSet
from research.paper.runs import Options, Records, RunSpec


class Result(Protocol):
    """What the module of a result offers."""

    def runs(self, data: DataSet, options: Options, records: Records) -> list[RunSpec]:
        """The runs that it needs on a data set; those that depend on others once these have ended."""

    def collect(self, data: DataSet, options: Options, records: Records) -> dict[str, Any]:
        """What it shows of a data set, in a form that JSON can hold."""


_MODULES: list[ModuleType] = [
    table1, table2, table3, table4, figure3, figure4, figure5, figure6, figure7, figure8, figure9, phenomenon,
]  # fmt: skip
RESULTS: dict[str, Result] = {module.__name__.rpartition(".")[2]: cast(Result, module) for module in _MODULES}
