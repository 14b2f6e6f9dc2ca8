"""That the two sides of each benchmark agree, and that the runner keeps to its order. No time is looked at."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from benchmarks import plain, run
from benchmarks.catalogue import COMPARISONS, SHAPES, Effort
from benchmarks.child import MEASURES
from benchmarks.inputs import AUTHORS_FILE, load, prepare
from benchmarks.measure import Agreement, Case, Disagreement, Skipped
from benchmarks.ranking import largest_gap
from benchmarks.reading import same_rows
from benchmarks.training import batches_of, new_model, same_losses
from recsieve.data.reading.formats import read_interactions
from recsieve.denoisers import Truncated

TINY = Effort(agree_steps=12, plain_steps=2, cdae_steps=1, plain_users=3, our_users=3, repeats=1)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return Case(prepare("small", tmp_path_factory.mktemp("bench")), TINY)


@pytest.mark.parametrize("name", COMPARISONS)
def test_both_sides_of_a_comparison_agree_and_can_be_timed(name, case):
    measure = MEASURES[name]
    try:
        agreement = measure.agree(case)
    except Skipped as reason:
        pytest.skip(str(reason))
    assert agreement.difference <= agreement.limit
    assert measure.plain(case).seconds > 0
    assert measure.ours(case).seconds > 0


def test_every_shape_compares_what_can_be_measured():
    assert set(COMPARISONS) == set(MEASURES)
    assert all(set(shape.comparisons) <= set(COMPARISONS) for shape in SHAPES.values())


def test_the_files_of_a_shape_hold_the_same_interactions(case):
    ours, columns = read_interactions(case.folder / AUTHORS_FILE), load(case.folder)
    assert (ours.users == columns.users).all()
    assert (ours.items == columns.items).all()
    assert (ours.is_false_positive == columns.is_false_positive).all()


def test_more_than_the_limit_is_a_disagreement():
    with pytest.raises(Disagreement, match=r"loss: 2e-06, which is more than 1e-06"):
        Agreement("loss", 2e-6, 1e-6)
    with pytest.raises(Disagreement):
        Agreement("loss", float("nan"), 1e-6)


def test_a_wrong_loss_a_wrong_row_and_a_wrong_list_are_found(case):
    model = new_model("gmf", case.data)
    with pytest.raises(Disagreement, match="loss"):
        same_losses("gmf", model, Truncated(), batches_of(model, case.data, 2), [0.6931, 0.6])
    ratings = plain.read_ratings(case.folder / AUTHORS_FILE)
    ratings.pairs[3][1] += 1
    with pytest.raises(Disagreement, match="rows that differ"):
        same_rows(case.data, ratings)
    torch.manual_seed(0)
    lists = np.arange(100)[None]
    assert largest_gap(plain.GMF(5, 200), np.array([2]), lists, lists + 1) > 1e-3


def test_plain_truncation_drops_the_hardest_positives_only():
    logits, labels = torch.tensor([3.0, -2.0, 5.0, 1.0]), torch.tensor([1.0, 1.0, 0.0, 0.0])
    kept = torch.nn.functional.binary_cross_entropy_with_logits(logits[[0, 2, 3]], labels[[0, 2, 3]])
    assert plain.truncated_loss(logits, labels, rate=0.25) == pytest.approx(kept.item())


def answers(shape, comparison, side, *, cache, threads):
    """What a process might answer: RecBole is missing, and reading disagrees."""
    if comparison == "prepare":
        return {"skipped": "not here"} if shape == "ml-1m" else {"users": 3, "items": 4, "interactions": 5}
    if comparison.startswith("recbole"):
        return {"skipped": "RecBole is not installed"}
    if comparison == "reading":
        return {"failed": "rows that differ: 7"}
    if side == "agree":
        return {"what": "loss", "difference": 2e-7, "limit": 1e-6, "peak_mb": 100}
    seconds = 8.0 if side == "plain" else 0.1
    return {"seconds": seconds, "extrapolated": "", "repeats": [], "parts": {}, "peak_mb": 2_000}


def test_results_are_written_with_what_was_required_and_what_could_not_be_measured(tmp_path, capsys):
    failed = run.main(["yelp", "ml-1m", "10M", "--results", str(tmp_path)], measure=answers)
    assert failed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10M.json", "tables.txt", "yelp.json"]
    results = json.loads((tmp_path / "yelp.json").read_text())
    assert results["machine"]["threads"] == 2
    rows = {row["name"]: row for row in results["rows"]}
    assert rows["gmf-epoch"]["ratio"] == pytest.approx(80)
    assert rows["gmf-epoch"]["reached"]
    assert not rows["gmf-ranking"]["reached"]
    assert rows["recbole-cdae"]["problem"] == "agree: RecBole is not installed"
    assert "ratio" not in rows["reading"]
    (growth,) = json.loads((tmp_path / "10M.json").read_text())["rows"]
    assert not growth["reached_memory"]
    assert "RecBole is not installed" in (tmp_path / "tables.txt").read_text()
    assert "GMF full ranking" in capsys.readouterr().out


def test_no_time_is_taken_where_results_disagree(tmp_path):
    asked = []

    def disagreeing(shape, comparison, side, **options):
        asked.append(side)
        return {"failed": "loss"} if comparison != "prepare" else {"users": 1}

    run.main(["yelp", "--only", "gmf-epoch", "--results", str(tmp_path)], measure=disagreeing)
    assert asked == ["agree", "agree"]  # the first prepares the data


def test_a_measurement_runs_in_a_process_of_its_own(case):
    answer = run.measure_in_child("small", "sampling", "ours", cache=case.folder.parent, threads=1)
    assert answer["seconds"] > 0
    assert answer["peak_mb"] > 0


def test_the_runner_stays_small_so_that_its_children_do_not_inherit_its_memory():
    code = "import sys, benchmarks.run; sys.exit('torch' in sys.modules or 'polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=run.ROOT, check=False).returncode == 0
