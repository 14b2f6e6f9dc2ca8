import json
import re
from pathlib import Path

import pytest

from recsieve.errors import ConfigError
from recsieve.experiments.leaderboard import BoardCell, cells, read_board, run_cell

BOARD = """
strategies = ["keep-all", "truncated", "eard"]
trials = 2
seeds = 2
settings = { epochs = 2, batch_size = 64, metric = "ndcg@5" }

[models.gmf]
model_options = { factors = 4 }
strategies = { "CE, trimmed" = { denoiser = "keep-all", select_by = "trimmed-loss" } }

[models.gmf-square]
model = "gmf"
only = ["keep-all", "truncated"]
model_options = { factors = 4 }
settings = { objective = "square" }

[models.ials]
model_options = { factors = 4, alpha0 = 0.1, l2 = 0.01 }

[data.shop]
source = "shop.csv"

[data.noisy]
source = "shop.csv"

[noise.noisy]
mechanism = "uniform"
rate = 0.2
"""


@pytest.fixture
def board(tmp_path):
    (tmp_path / "board.toml").write_text(BOARD)
    return read_board(tmp_path / "board.toml")


@pytest.fixture
def run(board, split, tmp_path, in_this_process):
    def run(data="shop", model="gmf", strategies=None):
        wanted = strategies or board.strategies
        return run_cell(board, BoardCell(data, model), split, tmp_path / "out", tmp_path / "results", strategies=wanted)

    return run


def test_a_cell_has_every_strategy_with_equal_trials_and_one_learning_rate(run, tmp_path):
    result = run()
    by_name = {row["strategy"]: row for row in result["rows"] if row["model"] == "gmf"}
    assert {"CE", "T-CE", "eard", "CE, trimmed", "least popular drop as T-CE"} <= set(by_name)
    tuned = json.loads((tmp_path / "out" / "shop-gmf" / "tuned" / "tuning.json").read_text())
    assert {entry["denoiser"]: entry["trials"] for entry in tuned["strategies"]} == {"truncated": 2, "eard": 2}
    plain = json.loads((tmp_path / "out" / "shop-gmf" / "plain" / "tuning.json").read_text())["strategies"][0]
    assert plain["trials"] == 2
    assert result["config"]["learning_rate"] == plain["learning_rate"]
    assert all(strategy["learning_rate"] is None for strategy in result["config"]["strategies"].values())
    best = {entry["denoiser"]: entry["options"] for entry in tuned["strategies"]}
    assert by_name["eard"]["options"] == best["eard"]
    assert by_name["eard"]["cpu_seconds_per_epoch"]["mean"] > 0
    assert json.loads((tmp_path / "results" / "shop-gmf.json").read_text())["cell"] == {"data": "shop", "model": "gmf"}


def test_a_newcomer_gets_its_row_and_nothing_else_is_run_again(run, tmp_path):
    run()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("metrics.json")}
    result = run(strategies=["keep-all", "truncated", "eard", "reweighted"])
    assert "R-CE" in {row["strategy"] for row in result["rows"]}
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("metrics.json")}
    assert {path: after[path] for path in before} == before
    assert len(after) > len(before)


def test_a_model_takes_only_the_strategies_that_make_sense_for_it(run):
    assert {row["strategy"] for row in run(model="ials")["rows"] if row["model"] == "ials"} >= {"keep-all", "truncated"}
    assert "eard" not in {row["strategy"] for row in run(model="ials")["rows"]}


def test_a_model_may_come_twice_with_other_settings_and_only_some_strategies(run):
    result = run(model="gmf-square")
    assert result["config"]["objective"] == "square"
    assert {row["strategy"] for row in result["rows"] if row["role"] in ("baseline", "strategy")} == {"CE", "T-CE"}


def test_noise_is_put_into_a_data_set_that_asks_for_it(run):
    result = run("noisy", strategies=["keep-all"])
    assert {row["noise"] for row in result["rows"]} == {"uniform 20 %"}


def test_cells_are_those_asked_for_and_an_unknown_name_is_an_error(board):
    assert [cell.name for cell in cells(board, [], ["gmf"])] == ["shop-gmf", "noisy-gmf"]
    with pytest.raises(ConfigError, match="the leaderboard has no 'gmg'"):
        cells(board, [], ["gmg"])


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("trials = 2", "trails = 2", "there is no setting 'trails'"),
        ("trials = 2", "trials = ", "cannot be read"),
        ("[noise.noisy]", "[noise.nosy]", "there is noise for the data 'nosy'"),
    ],
)
def test_a_wrong_board_is_told_in_one_line(tmp_path, old, new, told):
    (tmp_path / "board.toml").write_text(BOARD.replace(old, new))
    with pytest.raises(ConfigError, match=told):
        read_board(tmp_path / "board.toml")


def test_the_board_in_the_guide_can_be_used(tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
    _, block = re.findall(r"^```toml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)  # the first is a comparison's
    (tmp_path / "board.toml").write_text(block)
    board = read_board(tmp_path / "board.toml")
    assert {cell.name for cell in cells(board, [], [])} == {"shop-gmf", "shop-mf", "noisy-shop-gmf", "noisy-shop-mf"}
