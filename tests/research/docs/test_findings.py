import re
from pathlib import Path

import pytest

from recsieve.errors import DataError
from research.docs import findings
from research.docs.findings import outcome, read_results, write_findings
from research.docs.markdown import table

ROOT = Path(__file__).parents[3]


@pytest.fixture
def results(compare, tmp_path):
    """Results of two comparisons, the one in its folder and the other renamed."""
    compare("shop")
    compare("noisy", noise=[{"mechanism": "uniform", "rate": rate} for rate in (0.0, 0.3)], strategies={
        "R-CE": {"denoiser": "reweighted"}})  # fmt: skip
    folder = tmp_path / "results"
    for name, target in (("shop", "shop/comparison.json"), ("noisy", "injected.json")):
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / target).write_bytes((tmp_path / name / "comparison.json").read_bytes())
    return folder


def test_findings_are_written_from_results_alone(results, tmp_path):
    found = read_results(results)
    assert list(found) == ["injected", "shop"]
    write_findings(found, tmp_path / "docs" / "findings.md")
    text = (tmp_path / "docs" / "findings.md").read_text(encoding="utf-8")
    for heading in ("Where denoising helps", "What popularity explains", "Injected noise", "Commands"):
        assert f"## {heading}" in text
    for path in ("findings-effects.svg", "findings-noise-injected-0.svg"):
        assert (tmp_path / "docs" / "images" / path).exists()
    assert "images/findings-effects.svg" in text
    assert text.count("| shop | gmf |") >= len(found["shop"]["rows"])


@pytest.mark.parametrize(
    ("baseline", "popularity", "heading"),
    [
        ("better", "better", "and better than dropping"),
        ("better", "no difference found", "but not shown"),
        ("better", None, "but not shown"),
        ("worse", "better", "Worse"),
        ("no difference found", "better", "No difference"),
    ],
)
def test_a_result_counts_as_help_only_if_popularity_does_not_explain_it(baseline, popularity, heading):
    row = {"against_baseline": {"verdict": baseline}}
    if popularity:
        row["against_popularity"] = {"verdict": popularity}
    assert heading in outcome(row)


def test_a_folder_without_results_is_told(tmp_path):
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(DataError, match="holds no comparison"):
        read_results(tmp_path)


def test_a_name_with_a_bar_does_not_break_a_table():
    assert table(["a"], [["x|y"]]).splitlines()[-1] == "| x\\|y |"


def test_the_page_in_the_repository_says_what_its_results_say(tmp_path, monkeypatch):
    monkeypatch.setattr(findings, "write_chart", lambda chart, path, formats: None)
    write_findings(read_results(ROOT / "findings" / "results"), tmp_path / "findings.md")
    written = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert (tmp_path / "findings.md").read_text(encoding="utf-8") == written


def test_results_name_no_place_of_the_machine_that_made_them():
    for path in (ROOT / "findings" / "results").iterdir():
        assert not re.search(r"[\s\"=]/\w+/", path.read_text(encoding="utf-8")), path.name


def cautions(epoch_sd=1.0, gain=0.05, of_clean=0.1, verdict="better", best_plain="better", strong=True):
    """What is cautioned of where a strategy has some gain and clean training another."""
    rows = [
        {"strategy": "CE", "role": "baseline", "epoch_selected": {"mean": 10, "sd": epoch_sd}},
        {"strategy": "T-CE", "role": "strategy", "epoch_selected": {"mean": 30, "sd": 2},
         "against_baseline": {"relative": gain, "verdict": verdict},
         "against_best_plain": {"relative": -0.5, "verdict": best_plain, "against": "ease"}},
        {"strategy": "clean training (oracle)", "role": "oracle", "epoch_selected": {"mean": 10, "sd": 2},
         "against_baseline": {"relative": of_clean}},
    ]  # fmt: skip
    if strong:
        rows.append({"strategy": "plain", "role": "plain model", "epoch_selected": {"mean": 1, "sd": 0}})
    result = {"config": {"metric": "ndcg@20"}, "rows": [{"noise": "natural", "model": "gmf", **row} for row in rows]}
    return "\n".join(findings._cautions({"shop": result}))


def test_a_gain_beyond_that_of_clean_training_is_told_to_be_something_else_than_denoising():
    assert "T-CE, gmf on shop (+20.0\xa0%, clean training +10.0\xa0%)" in cautions(gain=0.2)
    assert cautions(gain=0.2, verdict="no difference found") == ""


def test_seeds_that_end_at_very_different_epochs_are_told():
    assert "CE, gmf on shop (10 ± 11)" in cautions(epoch_sd=11.0)


def test_where_there_is_nothing_to_be_cautious_of_nothing_is_said():
    assert cautions() == ""


@pytest.mark.parametrize(("best_plain", "told"), [("worse", True), ("no difference found", True), ("better", False)])
def test_a_gain_that_leaves_a_model_behind_the_best_plain_one_is_told(best_plain, told):
    sentence = f"T-CE, gmf on shop (−50.0\xa0% compared with ease, {best_plain})"
    assert (sentence in cautions(best_plain=best_plain)) == told
    assert cautions(best_plain=best_plain, verdict="no difference found") == ""


def test_a_gain_that_no_strong_model_was_compared_with_is_told():
    assert "Not compared with strong plain models" in cautions(strong=False)
    assert cautions(strong=False, verdict="worse") == ""
