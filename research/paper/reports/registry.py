"""How each result is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from research.paper.reports import (
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
from research.paper.reports.report import Report

_MODULES: list[ModuleType] = [
    table1, table2, table3, table4, figure3, figure4, figure5, figure6, figure7, figure8, figure9, phenomenon,
]  # fmt: skip
REPORTS: dict[str, Callable[[Mapping[str, Any]], Report]] = {
    module.__name__.rpartition(".")[2]: module.report for module in _MODULES
}
