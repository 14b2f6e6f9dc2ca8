"""A cell has one value wherever it stands, and a sentence no number that the results contradict."""

import json
import re

import pytest

from research.docs.findings import outcome, read_results
from research.docs.paper_results import ROOT
from research.paper.published import IMPROVEMENT, TABLE1
from tests.research.docs.cells import cells

WORDS = ("no", "one", "two", "three", "four", "five", "six")


def test_a_cell_has_the_same_value_in_every_file_and_so_on_every_page():
    known = {}
    for cell in cells():
        first = known.setdefault(cell.key, cell)
        assert cell.value == pytest.approx(first.value, rel=1e-4), (cell.key, first.source, cell.source)
    assert len({cell.source for cell in known.values()}) > 20


def test_a_cell_that_two_files_contradict_each_other_about_is_found(tmp_path):
    row = {"noise": "natural", "model": "gmf", "strategy": "CE", "seeds": 5}
    config = {"data": {"source": "shop"}, "epochs": 9, "patience": 3, "select_by": "ndcg@20", "validation_users": None}
    folder = tmp_path / "findings" / "results"
    folder.mkdir(parents=True)
    (tmp_path / "paper" / "results").mkdir(parents=True)
    for name, value in (("a", 0.0721), ("b", 0.0765)):
        result = {"config": config, "rows": [row | {"metrics": {"ndcg@20": {"mean": value}}}]}
        (folder / f"{name}.json").write_text(json.dumps(result))
    one, other = cells(tmp_path)
    assert one.key == other.key
    assert one.value != other.value
    changed = one.key._replace(validation_users=5000)
    assert changed != other.key


def beaten():
    """In how many cases a strategy beats CE and the control, and of how many."""
    results = read_results(ROOT / "findings" / "results").values()
    rows = [row for result in results for row in result["rows"]]
    judged = [outcome(row) for row in rows if row["noise"] == "natural" and row["role"] == "strategy"]
    return WORDS[sum("and better than" in one for one in judged)], str(len(judged))


def published_drops():
    """What normal training loses of clean training's NDCG@20 in the paper."""
    return tuple(f"{100 * (t['clean'][1] - t['CE'][1]) / t['clean'][1]:.1f}" for t in TABLE1.values())


def published_gains():
    gains = [gain for methods in IMPROVEMENT.values() for gain in methods.values()]
    return f"{min(gains):.0f}", f"{max(gains):.0f}"


@pytest.mark.parametrize(
    ("page", "sentence", "numbers"),
    [
        ("README.md", r"beats both plain CE and the popularity control in (\w+) case out of (\d+)", beaten),
        ("docs/paper.md", r"is worse than clean training by ([\d.]+) and ([\d.]+) % in NDCG@20", published_drops),
        ("docs/paper.md", r"T-CE and R-CE improve on CE by (\d+) to (\d+) %", published_gains),
    ],
)
def test_a_sentence_written_by_hand_has_the_numbers_of_the_results(page, sentence, numbers):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    found = re.findall(sentence, text)
    assert found, f"{page} no longer says it: change this test too"
    assert all(one == numbers() for one in found)


def test_the_page_of_findings_shows_the_values_that_its_cells_have():
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    for cell in cells():
        if cell.source.startswith("findings") and cell.key.metric == "ndcg@20":
            data = cell.source.split("/")[-1].removesuffix(".json")
            shown = re.search(
                rf"^\| {re.escape(data)} \| {cell.key.model} \| {re.escape(cell.key.strategy)} \| ([\d.]+)", text, re.M
            )
            assert shown, cell.key
            assert float(shown[1]) == pytest.approx(cell.value, abs=6e-5)
