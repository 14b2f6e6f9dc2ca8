import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from recsieve.reporting.choice import choice_terms
from recsieve.reporting.run import summary, write_run_page

EVIL = "<img src=x onerror=alert(1)>"
METRICS = {
    "selected": {"epoch": 6.0, "step": 528, "score": 0.26}, "test_users": 1161, "seconds": 83.0,
    "test": {"recall@20": 0.498, "ndcg@20": 0.33, "false_positives_recommended@20": 0.152},
}  # fmt: skip
CONFIG = """format = 2
[settings]
model = "gmf"
denoiser = "truncated"
epochs = 6
[data]
source = "data/shop/interactions.parquet"
false_positive = "rating < 3"
fingerprint = "abc"
"""


@dataclass(frozen=True)
class Ended:
    folder: Path
    examples: pl.DataFrame | None


@pytest.fixture
def run(tmp_path):
    (tmp_path / "metrics.json").write_text(json.dumps(METRICS), encoding="utf-8")
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    losses = {"true_positive_loss": [0.5, 0.4], "false_positive_loss": [0.6, 0.7], "loss": [0.5, 0.5]}
    history = pl.DataFrame({"step": [1, 2], "positive_loss": [0.5, 0.5], **losses})
    history.write_parquet(tmp_path / "history.parquet")
    examples = pl.DataFrame({"user": ["ann", EVIL], "has": [["tea"], ["cup"]], "recommended": [["pot"], ["jam"]]})
    return Ended(tmp_path, examples)


def test_a_run_says_what_came_out_of_what_by_which_command_and_when(run):
    text = write_run_page(run, "recsieve train shop").read_text(encoding="utf-8")
    for part in (
        "gmf with T-CE on shop", "puts 49.8 % of the items that test users went on to like",
        "15.2 % of the items they regretted",
        "rating &lt; 3", "Command: recsieve train shop", str(date.today()), "ann", "pot", "weights of epoch 6",
        "model gmf, denoiser truncated, epochs 6",
    ):  # fmt: skip
        assert part in text, part
    assert EVIL not in text


def test_false_positives_are_drawn_in_the_colour_of_warnings(run):
    text = write_run_page(run).read_text(encoding="utf-8")
    assert '"range": ["#5b8cb8", "#d55e00", "#8a97a6"]' in text


def test_the_page_of_a_run_that_had_ended_stays(run):
    page = write_run_page(run, "the command")
    write_run_page(Ended(run.folder, None), "train --resume")
    assert "the command" in page.read_text(encoding="utf-8")


def test_without_a_test_part_nothing_is_claimed():
    settings, data = {"model": "ease", "denoiser": "keep-all"}, {"source": "shop"}
    assert summary({**METRICS, "test": {}}, settings, data) == "ease was trained on shop; the test part is empty."


def test_terms_are_explained_where_they_occur():
    def terms(name):
        rated = {"name": name, "score": 0.3, "change": 0.0, "error": 0.0, "p_value": 1.0}
        return " ".join(choice_terms({"plain": {"name": "ease"}, "chosen": {"name": name}, "candidates": [rated]}))

    assert "is γ" not in terms("ease")
    assert "P is the estimated probability" in terms("ease, weights 1−P")
    assert "is γ" in terms("ease +1 log popularity")
