from pathlib import Path

import pytest

from recsieve.errors import DataError
from research.docs.auto import STUDY, auto_page
from research.docs.budget import read_budgets
from research.docs.markdown import read_results

ROOT = Path(__file__).parents[3]


def test_the_documentation_says_what_the_results_say():
    written = (ROOT / "docs" / "auto.md").read_text(encoding="utf-8")
    budgets = read_budgets(ROOT / "findings" / "budget" / "ml-1m.json")
    assert written == auto_page(read_results(ROOT / "findings" / "auto"), budgets)


def test_the_page_says_which_goals_were_missed_and_which_budgets_were_not_kept():
    result = read_results(ROOT / "findings" / "auto")["ml-100k"]
    result["settings"]["5 % labels"]["levels"]["auto"] = 0.3549
    run = read_budgets(ROOT / "findings" / "budget" / "ml-1m.json")[0]
    runs = [run | {"budget": 10, "taken": 13.4}, run | {"budget": 60, "taken": 70}]
    page = auto_page({"ml-100k": result}, runs)
    assert "| ml-100k | 0.355 | 0.365 | 0.3549 | **missed** |" in page
    assert "The budget was exceeded by more than a third for 10 s." in page


def test_the_page_says_where_it_was_worse_and_which_sets_are_missing():
    result = read_results(ROOT / "findings" / "auto")["ml-100k"]
    changed = {"change": -0.02, "interval": [-0.03, -0.01], "p_value": 0.001, "verdict": "worse"}
    settings = result["settings"]
    settings["5 % labels"] |= {"against_reference": changed}
    settings["no labels"] |= {"against_reference": changed | {"verdict": "no difference found"}}
    settings["no labels"]["seeds"][1]["test_change"] = -0.04
    page = auto_page({"ml-100k": result})
    assert "Significantly worse than the reference** in 1 of 2 cases: ml-100k, 5 % labels (−2.0\u00a0%)." in page
    assert "largest loss with a single seed is −4.0\u00a0% (ml-100k, no labels, seed 1)" in page
    assert "Significantly better than the reference** in 0 of 2 cases." in page
    assert "Not measured with this version: goodbooks-10k-v1, ml-1m, modcloth" in page
    assert page.count("\n") < 110


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(DataError, match="no results"):
        read_results(tmp_path, STUDY)
