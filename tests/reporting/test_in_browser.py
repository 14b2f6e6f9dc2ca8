"""The page as a browser shows it, from a file, with nothing to ask of any network."""

import json
from pathlib import Path

import pytest

from recsieve.reporting.comparison import write_comparison_page
from recsieve.reporting.page import Section, write_page
from research.paper.reports.report import report_on, write_report

pytestmark = pytest.mark.xdist_group("browser")

# Sorts a column up and down, and counts what is drawn.
LOOK = """
  const column = [...document.querySelectorAll("th")].filter(head => head.textContent === "COLUMN")[0];
  const rows = () => [...column.closest("table").tBodies[0].rows];
  const cells = () => column && rows().map(row => row.cells[column.cellIndex].textContent);
  seen.before = cells();
  if (column) { column.click(); seen.up = cells(); column.click(); seen.down = cells(); }
  seen.charts = document.querySelectorAll(".chart").length;
  seen.drawn = document.querySelectorAll(".chart svg :is(.mark-rule, .mark-line, .mark-symbol)").length;
  seen.pictures = [...document.querySelectorAll(".chart .vega")].filter(box => box.querySelector("svg.marks")).length;
"""


@pytest.fixture
def look(browse):
    """A function that opens a page, sorts a column up and down, and gives what there was to see."""
    return lambda path, column="", width=1200: browse(path, LOOK.replace("COLUMN", column), width)


@pytest.mark.parametrize("width", [1200, 500])
def test_a_comparison_is_drawn_sortable_and_asks_nothing_of_the_network(compare, tmp_path, look, width):
    compare()
    seen = look(write_comparison_page(tmp_path / "out"), "ndcg@5", width)
    assert seen["trouble"] == []
    assert seen["requests"] == []
    assert seen["charts"] == seen["pictures"] == 4 + 4  # losses have one for each strategy
    assert seen["drawn"] > 10
    assert seen["up"] == sorted(seen["before"], key=lambda cell: float(cell.split("\u00a0")[0]))
    assert seen["down"] == seen["up"][::-1]
    assert not seen["overflow"]


@pytest.mark.parametrize("name", ["table3", "figure6", "figure9"])
def test_a_result_of_the_paper_is_drawn_and_asks_nothing_of_the_network(tmp_path, look, name):
    path = next(iter(sorted((Path(__file__).parents[2] / "paper" / "results").rglob(f"{name}*.json"))))
    result = json.loads(path.read_text(encoding="utf-8"))
    report = report_on(result)
    seen = look(write_report(result, report, tmp_path))
    assert seen["trouble"] == []
    assert seen["requests"] == []
    assert seen["charts"] == seen["pictures"] == sum(len(figure.charts) for figure in report.figures)
    assert not seen["overflow"]


def test_numbers_sort_as_numbers_and_what_is_unknown_comes_last(tmp_path, look):
    rows = [["a", "−5.7\u00a0%"], ["b", "+13.1\u00a0%"], ["c", "–"], ["d", "+2.0\u00a0%"]]
    write_page(tmp_path / "page.html", "t", "s", [Section("h", header=["name", "change"], rows=rows)])
    seen = look(tmp_path / "page.html", "change")
    assert [cell.replace("\u00a0", " ") for cell in seen["up"]] == ["−5.7 %", "+2.0 %", "+13.1 %", "–"]
    assert [cell.replace("\u00a0", " ") for cell in seen["down"]] == ["+13.1 %", "+2.0 %", "−5.7 %", "–"]
    assert seen["trouble"] == []


def test_ids_from_data_cannot_become_code(tmp_path, look):
    evil = "<script>console.error('got in')</script><img src=x onerror=alert(1)>"
    write_page(tmp_path / "page.html", evil, evil, [Section(evil, [evil], ["item"], [[evil]], points=[evil])])
    seen = look(tmp_path / "page.html", "item")
    assert seen["trouble"] == []
    assert seen["before"] == [evil]


@pytest.mark.parametrize("columns", [6, 14])
def test_no_table_is_cut_off_on_a_phone(tmp_path, browse, columns):
    header = ["false positives recommended", *(f"@{number}" for number in range(columns - 1))]
    rows = [["ease +2 log(1−P) +1 log popularity", *(["0.1234"] * (columns - 1))]] * 3
    write_page(tmp_path / "page.html", "t", "s", [Section("h", header=header, rows=rows)])
    hidden = '[...document.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth).length'
    seen = browse(tmp_path / "page.html", f"seen.hidden = {hidden}; seen.width = innerWidth;", 400)
    assert seen["trouble"] == []
    assert seen["hidden"] == 0, seen
    assert not seen["overflow"]
