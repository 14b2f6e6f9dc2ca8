"""Every result file in the repository can be shown."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from research.paper import TITLES
from research.paper.reports.report import Figure, Report, Table, percent, report_on, write_report

RESULTS = Path(__file__).parents[3] / "paper" / "results"
FILES = [path for path in sorted(RESULTS.rglob("*.json")) if not path.name.startswith("ml-100k")]


def name_of(path: Path) -> str:
    return str(path.relative_to(RESULTS))


@pytest.mark.parametrize("name", TITLES)
def test_every_result_has_a_report(name):
    assert callable(import_module(f"research.paper.reports.{name}").report)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_recorded_result_has_tables_that_fit_or_charts(path):
    result = json.loads(path.read_text(encoding="utf-8"))
    report = report_on(result)
    assert report.tables or report.figures
    for table in report.tables:
        assert {len(row) for row in table.rows} == {len(table.header)}
    for figure in report.figures:
        assert all(chart.to_dict() for chart in figure.charts.values())


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_recorded_result_names_no_place_of_the_machine_that_made_it(path):
    text = path.read_text(encoding="utf-8")
    assert "/tmp" not in text
    assert "/work" not in text
    assert "/home" not in text
    assert json.loads(text)["command"].startswith("recsieve paper ")


def test_a_report_is_written_as_a_page_and_each_chart_as_png_and_svg(tmp_path):
    from research.paper.reports.marks import line_chart

    chart = line_chart([{"x": 1, "kind": "a", "value": 2}, {"x": 2, "kind": "a", "value": 3}], title="t", x="x", y="y")
    report = Report(["It was so."], [Table("T", ("a",), [["1"]]), Figure("F", {"one chart": chart})])
    options = {"seeds": 1, "epochs": 1, "fidelity": "paper", "users": None}
    machine = {"processor": "p", "cores": 1, "memory_gb": 1}
    result = {"result": "figure3", "title": "Figure.", "date": "2026-01-01", "command": "c", "options": options,
              "machine": machine, "versions": {"python": "3"}, "data_sets": []}  # fmt: skip
    page = write_report(result, report, tmp_path)
    assert "It was so." in page.read_text(encoding="utf-8")
    assert {path.name for path in (tmp_path / "charts").iterdir()} == {
        "figure3-one-chart.png",
        "figure3-one-chart.svg",
    }


def test_percents_have_a_true_minus():
    assert percent(-1.234) == "−1.23\u00a0%"
    assert percent(None) == "–"
