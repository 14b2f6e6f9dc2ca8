import copy
import json

import pytest

from recsieve.errors import DataError
from recsieve.reporting.leaderboard import read_cells, write_leaderboard_page

EVIL = "<script>console.error('got in')</script>"
CHOOSE = """
  const choose = (name, value) => {
    const select = document.querySelector(`[data-by=${name}]`);
    select.value = value;
    select.dispatchEvent(new Event("input"));
  };
  const look = () => ({
    verdict: document.getElementById("verdict").textContent,
    strategies: [...document.querySelectorAll("#verdicts li")].map(line => line.textContent),
    rows: [...document.querySelectorAll("section table")[0].tBodies[0].rows].filter(row => !row.hidden).length,
    panels: [...document.querySelectorAll("#effects .chart")].length,
  });
  seen.all = look();
  choose("strategy", "T-CE");
  seen.strategy = look();
  choose("noise", "injected");
  seen.injected = look();
  await new Promise(later => setTimeout(later, 3000));
  seen.charts = document.querySelectorAll(".chart").length;
  seen.drawn = [...document.querySelectorAll(".chart .vega")].filter(box => box.querySelector("svg.marks")).length;
  choose("model", "other");
  seen.none = look();
"""


@pytest.fixture
def cells(compare, tmp_path):
    """Three cells: one on data as it is, one of a model that has T-CE alone, one with injected noise."""
    compare()
    made = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    made |= {"cell": {"data": "shop", "model": "gmf"}, "trials": 2}
    other, noisy = copy.deepcopy(made), copy.deepcopy(made)
    other["cell"] = {"data": EVIL, "model": "other"}
    noisy["cell"] = {"data": "noisy shop", "model": "gmf"}
    for row in noisy["rows"]:
        row["noise"] = "uniform 20 %"
    noisy["rows"][1]["against_baseline"]["verdict"] = "better"
    return [made, other, noisy]


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("width", [1200, 400])
def test_filters_choose_what_is_told_drawn_and_listed(cells, tmp_path, browse, width):
    seen = browse(write_leaderboard_page(cells, tmp_path / "page.html"), CHOOSE, width)
    assert seen["trouble"] == []
    assert seen["requests"] == []
    assert not seen["overflow"]
    controls = sum("against_baseline" in row for row in cells[0]["rows"]) - 1
    assert seen["all"]["rows"] == 3 * (1 + controls)
    assert seen["all"]["panels"] == 3
    assert seen["all"]["verdict"].startswith("Of 3 results, 1 is better than the same model without denoising")
    assert (seen["strategy"]["rows"], seen["strategy"]["panels"]) == (3, 3)  # a panel for each data set
    assert (seen["injected"]["rows"], seen["injected"]["panels"]) == (1, 1)
    assert len(seen["injected"]["strategies"]) == 1
    assert "better, but not shown to beat dropping unpopular items, in 1 cell" in seen["injected"]["strategies"][0]
    assert seen["charts"] == seen["drawn"] == 4
    assert seen["none"] == {"verdict": "No result fits these filters.", "strategies": [], "rows": 0, "panels": 0}


def test_cells_are_read_from_a_folder_and_nothing_else_is(cells, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "shop-gmf.json").write_text(json.dumps(cells[0]), encoding="utf-8")
    (folder / "checks.json").write_text("{}", encoding="utf-8")
    assert [result["cell"]["data"] for result in read_cells(folder)] == ["shop"]


def test_a_folder_without_results_is_an_error(tmp_path):
    with pytest.raises(DataError, match="holds no result of a leaderboard"):
        read_cells(tmp_path)
