"""What may be said of a change: tested over users and seeds, corrected for all comparisons on the same data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recsieve.evaluation.significance import LEVEL, holm
from research.paper.reports.report import SELECTIONS, metric_name, percent

ONE_SEED = "one seed: no verdict"
Row = Mapping[str, Any]


def judged(rows: Sequence[Row], select_by: str) -> list[dict[str, Any] | None]:
    """What was tested of each row, with "adjusted" and "verdict" by Holm over all of them; None for one seed."""
    found = [row.get("tested", {}).get(select_by) for row in rows]
    known = [one for one in found if one is not None]
    adjusted = iter(holm([one["p_value"] for one in known]))
    return [None if one is None else _judged(one, float(next(adjusted))) for one in found]


def _judged(tested: Row, adjusted: float) -> dict[str, Any]:
    way = "better" if tested["relative"] > 0 else "worse"
    return {**tested, "adjusted": adjusted, "verdict": way if adjusted < LEVEL else "no difference found"}


def told(found: Mapping[str, Any] | None) -> str:
    """A verdict in a cell of a table."""
    if found is None:
        return ONE_SEED
    return f"{found['verdict']} ({interval(found)}, p {p_value(found['adjusted'])})"


def interval(found: Mapping[str, Any]) -> str:
    """The change of the metric that was tested, and where it may be."""
    low, high = found["interval"]
    return f"{metric_name(found['metric'])} {percent(found['relative'])}, {percent(low)} to {percent(high)}"


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def both_selections(gains: Mapping[str, Mapping[str, float]]) -> str:
    """A gain under either selection, and whether they agree on its sign."""
    parts = [f"{percent(gains[by]['mean'])} ± {gains[by]['sd']:.2f} by {title}" for by, title in SELECTIONS.items()]
    signs = {gains[by]["mean"] > 0 for by in SELECTIONS}
    return " and ".join(parts) + ("" if len(signs) == 1 else " (the selection decides the sign)")
