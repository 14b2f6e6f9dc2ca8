"""Table 2: statistics of the data, which `store.data_facts` counts for every result."""

from __future__ import annotations

from typing import Any

from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.runs import Options, Records, RunSpec


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    return []


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """The published counts of one of the paper's data sets, or of the one that a simulated one has the shape of."""
    alike = data.is_papers or data.name.startswith("simulated")
    return {"published": published.TABLE2[data.preset]} if alike else {}
