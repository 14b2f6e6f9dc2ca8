import json
import tomllib

from research.docs.findings import read_results
from research.docs.leaderboard import write_leaderboard
from research.docs.other_losses import beside_best_plain

BOARD = tomllib.loads("""
[data.shop]
[data.other]
[models.gmf]
[models.gmf-square.settings]
objective = "square"
[models.mf-bpr.settings]
objective = "bpr"
""")


def test_the_page_has_every_strategy_and_says_what_is_missing(compare, tmp_path):
    compare("shop")
    compare("square", objective="square")
    results = tmp_path / "results"
    results.mkdir()
    for name, model in (("shop", "gmf"), ("square", "gmf-square")):
        result = json.loads((tmp_path / name / "comparison.json").read_text())
        result |= {"cell": {"data": "shop", "model": model}, "trials": 3}
        (results / f"shop-{model}.json").write_text(json.dumps(result))
    (tmp_path / "docs").mkdir()
    write_leaderboard(read_results(results), BOARD, tmp_path / "docs" / "leaderboard.md")
    text = (tmp_path / "docs" / "leaderboard.md").read_text()
    assert "- **T-CE** (1 cell, " in text
    assert "were not run: shop, mf-bpr; other, gmf; other, gmf-square; other, mf-bpr." in text
    other = (tmp_path / "docs" / "other-losses.md").read_text()
    assert "**Truncation was not found to help with square loss: no difference found in 1 of 1 cell" in other
    assert "**Reweighting: not measured yet" in other
    assert "- **Hinge loss**: not measured yet." in other
    assert "| square loss | shop | gmf | truncation |" in other
    assert "were not run: shop, mf-bpr; other, gmf-square; other, mf-bpr." in other
    assert (tmp_path / "docs" / "images" / "leaderboard.svg").exists()


def test_results_are_told_beside_the_best_plain_model_where_they_were_compared_with_it():
    rows = [{"against_best_plain": {"verdict": verdict}} for verdict in ("better", "worse", "no difference found")]
    assert beside_best_plain([*rows, {}]) == [
        "Compared with the plain model that is best on validation data, 1 of 3 are better."
    ]
    assert beside_best_plain([{}]) == []
