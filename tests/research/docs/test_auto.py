from pathlib import Path

import pytest

from recsieve.errors import DataError
from research.docs.auto import auto_page, read_results

ROOT = Path(__file__).parents[3]


def test_the_documentation_says_what_the_results_say():
    written = (ROOT / "docs" / "auto.md").read_text(encoding="utf-8")
    assert written == auto_page(read_results(ROOT / "findings" / "auto"))


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
    assert page.count("\n") < 100


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(DataError, match="no results"):
        read_results(tmp_path)
