"""A cell has one value wherever it stands, and a sentence no number that the results contradict."""

import json
import math
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


def read(path):
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def hundred_millions():
    """An epoch's seconds, and gigabytes."""
    (largest,) = [one for one in read("benchmarks/results/growth.json")["sizes"] if one["millions"] == 100]
    return f"{largest['epoch_seconds']:.0f}", f"{largest['peak_mb'] / 1000:.1f}"


def minutes_of_ml_1m():
    return f"{read('findings/results/ml-1m.json')['seconds'] / 60:.1f}"


def apart(file):
    """How far losses and metrics of runs are apart, for each side."""
    (sides,) = [value for value in read(f"benchmarks/results/{file}.json").values() if isinstance(value, dict)]
    return sides


def fused_ranks():
    """The largest difference of a loss on two and three ranks: of GMF and CDAE, and of NeuMF."""
    found = {"neumf": [], "others": []}
    for name, run in (run for side in apart("ranks-fused").values() for run in side.items()):
        found["neumf" if name.startswith("neumf") else "others"].append(run["loss"])
    (visible,) = [loss for loss in found["neumf"] if loss > 1e-3]
    return f"{math.ceil(1e8 * max(found['others']))}e-8", f"{visible:.2f}"


def exact_rows(side, of):
    """A row of the table of exact steps."""
    runs = apart({"": "ranks", ", NeuMF at 0.005": "ranks-large-rate"}[of])[side].values()
    losses, metrics = [run["loss"] for run in runs], [run["metric"] for run in runs]
    same, close = sum(loss == 0 for loss in losses), sum(loss <= 1e-6 for loss in losses)
    return str(same), str(len(losses)), str(close), f"{max(losses):.2g}", f"{max(metrics):.2g}"


def kills():
    known = read("benchmarks/results/killed-ranks.json")
    same = known["same as undisturbed, to the bit"]
    assert all(run["weights"] and run["metrics"] for run in same)
    return str(len(known["kills"])), str(len(same))


def table_megabytes():
    """A table, and by how many gigabytes a rank grows: with its share of the rows, and with all of them."""
    known = read("benchmarks/results/table-memory.json")
    sharded, whole = (
        [f"{(rank['peak'] - rank['before the tables']) / 1000:.1f}" for rank in known[f"megabytes of each rank, {how}"]]
        for how in ("sharded tables", "whole tables")
    )
    (whole,) = set(whole)
    return f"{known['megabytes of the user table']:.0f}", min(sharded), max(sharded), whole


@pytest.mark.parametrize(
    ("page", "sentence", "numbers"),
    [
        ("README.md", r"an epoch of GMF took (\d+) s and ([\d.]+) GB", hundred_millions),
        ("docs/compare.md", r"took ([\d.]+) minutes on two cores", minutes_of_ml_1m),
        ("docs/cluster.md", r"differ from those of one process by (\S+) at most .* twelve runs, by ([\d.]+) in a loss",
         fused_ranks),
        ("docs/cluster.md", r"at (\d+) random moments, spread over (\d+) runs", kills),
        ("docs/cluster.md", r"\((\d+) MB\), each of two ranks grows by ([\d.]+) to ([\d.]+) GB instead of ([\d.]+) GB",
         table_megabytes),
        ("README.md", r"beats both plain CE and the popularity control in (\w+) case out of (\d+)", beaten),
        ("docs/paper.md", r"is worse than clean training by ([\d.]+) and ([\d.]+) % in NDCG@20", published_drops),
        ("docs/paper.md", r"T-CE and R-CE improve on CE by (\d+) to (\d+) %", published_gains),
    ],
)  # fmt: skip
def test_a_sentence_written_by_hand_has_the_numbers_of_the_results(page, sentence, numbers):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    found = re.findall(sentence, text)
    assert found, f"{page} no longer says it: change this test too"
    assert all(one == numbers() for one in found)


@pytest.mark.parametrize(
    ("title", "side"),
    [
        ("2 ranks", "2 ranks"),
        ("3 ranks", "3 ranks"),
        ("one process, default engine", "one process with engine auto"),
    ],
)
@pytest.mark.parametrize("of", ["", ", NeuMF at 0.005"])
def test_the_table_of_exact_steps_has_the_numbers_of_its_files(title, side, of):
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    shown = re.search(rf"^\| {title}{of} \| (\d+) of (\d+) runs \| (\d+) \| (\S+) \| (\S+) \|$", text, re.M)
    assert shown, f"docs/cluster.md has no row {title}{of} any more: change this test too"
    same, runs, close, loss, metric = exact_rows(side, of)
    assert shown.groups()[:3] == (same, runs, close)
    assert [f"{float(number):.2g}" for number in shown.groups()[3:]] == [loss, metric]


def test_the_table_of_larger_batches_has_the_numbers_of_its_file():
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    runs = {}
    for run in read("findings/batches.json")["runs"]:
        runs.setdefault((f"{run['batch_size']:,}", f"{run['learning_rate']:.2g}"), []).append(run)
    for (batch, rate), found in runs.items():
        tests = [run["test"] for run in found]
        epochs = ", ".join(f"{run['epoch']:.0f}" for run in found)
        told = f"| {sum(tests) / len(tests):.4f} | {min(tests):.4f} to {max(tests):.4f} | {epochs} |"
        shown = re.search(rf"^\| {batch} \| {re.escape(rate)} \(.*?\) (.*)$", text, re.M)
        assert shown, (batch, rate)
        assert shown[1] == told


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


def test_ease_scores_higher_than_the_papers_models_on_all_data_as_the_readme_says():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "On each of the six, EASE without any denoising [scores higher]" in text
    quality = read("benchmarks/results/quality.json")["data"]
    results = read_results(ROOT / "findings" / "results")
    assert len(results) == 6
    for name, result in results.items():
        scores = [row["metrics"]["ndcg@20"]["mean"] for row in result["rows"] if row["role"] == "strategy"]
        assert quality[name]["EASE"]["ours"]["mean"] > max(scores), name
