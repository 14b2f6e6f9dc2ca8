"""The page of an audit, from the files in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from recsieve.reporting.audit_charts import dialog_charts, group_chart, place_charts, reliability_chart
from recsieve.reporting.audit_list import list_data
from recsieve.reporting.charts import fluid
from recsieve.reporting.page import Section, write_page

FEWEST = 10  # interactions from which the mean score of a user or an item says something
LONGEST = 10  # rows of a table of users or items

WHERE = (
    "Each group has about the same number of interactions; periods of time have the same length. Bars show the mean "
    "score. If there are labels, points show the share of noise among labelled interactions. Bars of equal height "
    "mean that noise is spread evenly."
)
SURE = (
    "How well each method finds noise among held-out labels (cross-validation). Precision is the share of noise among "
    "the tenth with the highest scores. If the probabilities are well calibrated, the points are on the line."
)


def write_audit_page(folder: Path) -> Path:
    """Write report.html next to the results of an audit."""
    summary = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    groups = {name: pl.read_parquet(folder / f"{name}s.parquet", glob=False) for name in ("item", "user")}
    made = [name for name, check in summary.get("checks", {}).items() if check["made"]]
    tables = {name: pl.read_parquet(folder / "checks" / f"{name}.parquet", glob=False) for name in made}
    data = {**list_data(folder, summary), "charts": dialog_charts()}
    size = f"{summary['interactions']:,} interactions of {summary['users']:,} users with {summary['items']:,} items"
    write_page(
        folder / "report.html", "Which interactions are probably noise?", f"{size}; {folder.resolve().name}",
        sections(summary, groups, tables), template="audit.html", data=data,
    )  # fmt: skip
    return folder / "report.html"


def sections(
    summary: Mapping[str, Any], groups: Mapping[str, pl.DataFrame], tables: Mapping[str, pl.DataFrame]
) -> list[Section]:
    """The summary, how reliable it is, and where the noise is; the list follows."""
    first, *rest = summary["notes"]
    score = score_name(summary)
    places = [fluid(chart) for chart in place_charts(summary["where"], score)]
    dots = [fluid(group_chart(group, name, score)) for name, group in groups.items()]
    return [
        Section("Overview", lead=first, points=rest, facts=overview(summary)),
        *_how_sure(summary),
        Section("Where the noise is", [WHERE], panels=places),
        Section("Items and users", [_about_dots(groups)], panels=dots),
        *(_most_suspicious(name, group, score) for name, group in groups.items()),
        *(_check(check, tables.get(name)) for name, check in summary.get("checks", {}).items()),
    ]


def score_name(summary: Mapping[str, Any]) -> str:
    """The name of the score: a probability only if there were labels to learn from."""
    return "noise score" if summary["method"] == "no labels" else "probability of noise"


def overview(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The numbers of the overview."""
    share, correlation = summary["noise_share"], summary["popularity_correlation"]
    facts = [
        ("interactions", f"{summary['interactions']:,}"),
        ("users", f"{summary['users']:,}"),
        ("items", f"{summary['items']:,}"),
        ("labelled", f"{summary['labelled']:,} ({_percent(summary['labelled'] / summary['interactions'])})"),
        ("estimated noise", "unknown: no labels" if share is None else _percent(share["estimate"])),
    ]
    if share is not None and share["low"] < share["high"]:  # else every label is known
        interval = f"{_percent(share['low'])} to {_percent(share['high'])}"
        facts.append((f"{100 * share['level']:.0f} % interval", interval))
    facts.append(("correlation with unpopularity", f"{correlation:.2f} of 1"))
    return [*facts, ("confidence", _confidence(summary))]


def _confidence(summary: Mapping[str, Any]) -> str:
    """How far the scores can be trusted, in a few words."""
    if summary["method"] == "no labels":
        return "not measurable without labels"
    return f"ROC AUC {summary['cross_validation'][summary['method']]['roc_auc']:.2f} on held-out labels"


def _how_sure(summary: Mapping[str, Any]) -> list[Section]:
    """How well the scores did on labels that they had not seen."""
    if summary["cross_validation"] is None:
        return []
    measures = {"roc_auc": "ROC AUC", "average_precision": "average precision", "precision": "precision"}
    rows = [
        [method, *(found[name] for name in measures), "yes" if method == summary["method"] else ""]
        for method, found in summary["cross_validation"].items()
    ]
    calibration = summary["calibration"]
    about = (
        f"Expected calibration error {calibration['ece']:.3f}; Brier score {calibration['brier']:.3f}, and "
        f"{calibration['brier_of_base_rate']:.3f} for a constant probability."
    )
    header = ["method", *measures.values(), "in use"]
    panels = [fluid(reliability_chart(calibration["reliability"]))]
    return [Section("How reliable this is", [SURE, about], header, rows, panels=panels)]


def _about_dots(groups: Mapping[str, pl.DataFrame]) -> str:
    return (
        "Each point is an item or a user, with its number of interactions and their mean score. The chart shows those "
        f"with the most interactions; all {len(groups['item']):,} items and {len(groups['user']):,} users are in "
        "items.parquet and users.parquet."
    )


def _most_suspicious(name: str, group: pl.DataFrame, score: str) -> Section:
    """The users or items with the highest mean score, of those that have some interactions."""
    fewest = min(FEWEST, int(group["interactions"].max() or 0))  # type: ignore[arg-type]
    top = group.filter(pl.col("interactions") >= fewest).sort("mean_score", descending=True).head(LONGEST)
    header = [name, "interactions", f"mean {score}"]
    rows: list[Sequence[Any]] = [[str(row[name]), row["interactions"], row["mean_score"]] for row in top.to_dicts()]
    if group["labelled"].sum():
        header += ["labelled", "of them noise"]
        rows = [[*row, *labels] for row, labels in zip(rows, top.select("labelled", "regretted").rows(), strict=True)]
    about = f"With at least {fewest} interactions. Click a column to sort."
    return Section(f"The most suspicious {name}s", [about], header, rows)


def _check(check: Mapping[str, Any], table: pl.DataFrame | None) -> Section:
    """What a check flags; it is a hint to look, not a verdict."""
    told = [check["sentence"], check["about"]]
    rows = (
        [] if table is None else table.filter("flagged").head(LONGEST).select(check["subject"], "score", "hint").rows()
    )
    shown = [[str(name), score, hint] for name, score, hint in rows]
    return Section(
        f"Other checks: {check['title'].lower()}", told, [check["subject"], "score", "hint"] if rows else [], shown
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
