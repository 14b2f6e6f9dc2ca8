"""What the page of a result is made of, and how its parts are put together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from recsieve.reporting.charts import write_chart
from recsieve.reporting.page import Section, write_page

NAMES = {"gmf": "GMF", "neumf": "NeuMF", "cdae": "CDAE", "clean": "clean training", "CE": "CE"}
SELECTIONS = {"own-loss": "lowest validation loss", "ndcg@20": "best validation NDCG@20"}


@dataclass(frozen=True)
class Table:
    """A table of a result; the first of a report is also shown in the terminal."""

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    paragraphs: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """Charts of a result, by the names of their files."""

    heading: str
    charts: Mapping[str, Any]  # of altair
    paragraphs: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """What was found in sentences, and the tables and figures that show it."""

    found: Sequence[str] = ()
    parts: Sequence[Table | Figure] = field(default_factory=list)

    @property
    def tables(self) -> list[Table]:
        return [part for part in self.parts if isinstance(part, Table)]

    @property
    def figures(self) -> list[Figure]:
        return [part for part in self.parts if isinstance(part, Figure)]


def report_on(result: Mapping[str, Any]) -> Report:
    """What the module with the name of a result makes of it."""
    report: Report = import_module(f"research.paper.reports.{result['result']}").report(result)
    return report


def write_report(result: Mapping[str, Any], report: Report, folder: Path) -> Path:
    """Write NAME.html into a folder, and each chart as PNG and SVG into charts/."""
    name = result["result"]
    for figure in report.figures:
        for chart_name, chart in figure.charts.items():
            write_chart(chart, folder / "charts" / f"{name}-{file_name(chart_name)}.png")
    sections = [*([Section("Results", points=report.found)] if report.found else [])]
    sections += [_section(part) for part in report.parts]
    sections += [Section("How this was run", points=provenance(result))]
    options = result["options"]
    subtitle = (
        f"{options['seeds']} seeds, {options['epochs']} epochs, fidelity to the {options['fidelity']}; "
        f"{result['date'][:10]}"
    )
    write_page(folder / f"{name}.html", result["title"].rstrip("."), subtitle, sections)
    return folder / f"{name}.html"


def file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text)


def _section(part: Table | Figure) -> Section:
    if isinstance(part, Table):
        return Section(part.heading, part.paragraphs, part.header, part.rows)
    return Section(part.heading, part.paragraphs, panels=[chart.to_dict() for chart in part.charts.values()])


def provenance(result: Mapping[str, Any]) -> list[str]:
    """Data, command, machine and versions, a sentence each."""
    data = [
        f"{entry['data']['name']}: {entry['data']['about']}; {entry['data']['interactions']:,} training interactions, "
        f"settings of the paper for {entry['data']['preset']}."
        for entry in result["data_sets"]
    ]
    machine, options = result["machine"], result["options"]
    users = (
        [f"Lists are ranked for {options['users']:,} test users, the same in every run."] if options["users"] else []
    )
    return [
        *data,
        *users,
        f"Command: {result['command']}",
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB.",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in result["versions"].items()) + ".",
    ]


def selections_of(result: Mapping[str, Any]) -> list[str]:
    """The ways to select, that which was asked for first."""
    return sorted(SELECTIONS, key=lambda select_by: select_by != result["options"]["select_by"])


def model_name(model: str) -> str:
    return NAMES.get(model, model)


def cell_name(model: str, method: str) -> str:
    """GMF, GMF+T-CE and so on, as the paper has it."""
    return model_name(model) if method == "CE" else f"{model_name(model)}+{method}"


def metric_name(metric: str) -> str:
    """R@50 for recall@50."""
    return metric.replace("recall", "R").replace("ndcg", "N")


def plus_minus(value: Mapping[str, float]) -> str:
    """Mean ± standard deviation over the seeds."""
    return f"{value['mean']:.4f} ± {value['sd']:.4f}"


def percent(value: float | None, sign: bool = True) -> str:
    """A change in percent; a dash where it is not known."""
    if value is None:
        return "–"
    return f"{round(value, 2) + 0.0:{'+' if sign else ''}.2f}\u00a0%".replace("-", "−")  # no −0.00
