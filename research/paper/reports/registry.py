"""How each result is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from research.paper.catalogue import TITLES
from research.paper.reports.report import Report

REPORTS: dict[str, Callable[[Mapping[str, Any]], Report]] = {
    name: import_module(f"research.paper.reports.{name}").report for name in TITLES
}
