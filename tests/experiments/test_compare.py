import json

import polars as pl
import pytest

from recsieve.errors import ConfigError, DataError, RunError
from recsieve.experiments.compare import run_comparison
from recsieve.experiments.config import make_config


def test_every_strategy_and_control_gets_a_row_and_a_verdict(compare, tmp_path):
    result = compare()
    rows = {row["strategy"]: row for row in result["rows"]}
    assert list(rows) == [
        "CE", "T-CE", "random drop as T-CE", "least popular drop as T-CE", "clean training (oracle)"
    ]  # fmt: skip
    assert "against_baseline" not in rows["CE"]
    assert all("verdict" in row["against_baseline"] for name, row in rows.items() if name != "CE")
    assert rows["T-CE"]["against_popularity"]["against"] == "least popular drop as T-CE"
    assert result["comparisons"] == 5
    assert len(result["conclusions"]) == 5
    assert json.loads((tmp_path / "out" / "comparison.json").read_text())["rows"][0]["strategy"] == "CE"


def test_p_values_are_corrected_over_all_comparisons(compare):
    judged = [
        row[kind] for row in compare()["rows"] for kind in ("against_baseline", "against_popularity") if kind in row
    ]
    smallest = min(judged, key=lambda entry: entry["p_value"])
    assert smallest["adjusted_p"] == pytest.approx(min(1.0, len(judged) * smallest["p_value"]))


def test_a_strategy_that_is_plain_training_makes_no_difference(compare):
    same = {"CE": {"denoiser": "keep-all"}, "the same": {"denoiser": "keep-all"}}
    row = compare(strategies=same)["rows"][1]
    assert row["against_baseline"]["difference"] == 0
    assert row["against_baseline"]["verdict"] == "no difference found"


def test_finished_runs_are_not_repeated_and_more_can_be_added(compare, in_this_process):
    first = compare()
    trained = len(in_this_process)
    assert compare()["rows"] == first["rows"]
    assert len(in_this_process) == trained
    compare(seeds=3)
    assert len(in_this_process) == trained * 3 // 2


def test_a_run_that_was_stopped_is_made_anew(compare, in_this_process, tmp_path):
    first = compare()
    (tmp_path / "out" / "runs" / "natural-gmf-T_CE-0" / "manifest.json").unlink()
    assert compare()["rows"][1]["metrics"] == first["rows"][1]["metrics"]
    assert in_this_process[-1] == "GMF, T-CE, seed 0"


def test_other_settings_in_the_same_folder_are_refused(compare):
    compare()
    with pytest.raises(RunError, match="started with epochs = 3"):
        compare(epochs=4)
    with pytest.raises(RunError, match="started with validation_users = None, and now it is 7"):
        compare(validation_users=7)


def test_other_data_in_the_same_folder_is_refused(compare, small_data, tiny, tmp_path):
    from recsieve.data.splitting import split_interactions

    compare()
    other = split_interactions(small_data(40, 25, 0.4, seed=1))
    with pytest.raises(RunError, match="the data has changed"):
        run_comparison(make_config(tiny), tmp_path / "out", split=other)


def test_a_foreign_folder_is_left_alone(compare, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="not a comparison"):
        compare()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]


def test_noise_rates_have_rows_of_their_own(compare):
    rates = [{"mechanism": "uniform", "rate": rate} for rate in (0.0, 0.3)]
    rows = compare(noise=rates, strategies={"R-CE": {"denoiser": "reweighted"}})["rows"]
    roles = ("baseline", "strategy", "popularity control", "oracle")
    assert [(row["noise"], row["role"]) for row in rows] == [
        (name, role) for name in ("uniform 0 %", "uniform 30 %") for role in roles
    ]


def test_tables_are_written_for_other_programs(compare, tmp_path):
    compare()
    tables = tmp_path / "out" / "tables"
    runs = pl.read_parquet(tables / "runs.parquet")
    assert runs.height == 10
    assert pl.read_csv(tables / "runs.csv").columns == runs.columns
    summary = pl.read_csv(tables / "summary.csv")
    assert summary["metrics ndcg@5 mean"][0] == pytest.approx(runs.filter(strategy="CE")["ndcg@5"].mean())
    validations = pl.read_parquet(tables / "validations.parquet")
    assert validations.filter(strategy="T-CE").height == 3


def test_what_cannot_be_compared_is_told(compare, split, tiny, tmp_path):
    with pytest.raises(ConfigError, match="no data"):
        run_comparison(make_config(tiny), tmp_path / "none")
    from dataclasses import replace

    empty = replace(split, test=split.test.take(slice(0)))
    with pytest.raises(DataError, match="the test part is empty"):
        run_comparison(make_config(tiny), tmp_path / "none", split=empty)
    unflagged = replace(split, validation=replace(split.validation, false_positive=None))
    with pytest.raises(ConfigError, match="known to be noise"):
        run_comparison(make_config({**tiny, "select_by": "clean-ndcg@20"}), tmp_path / "none", split=unflagged)


def test_the_best_plain_model_is_chosen_on_validation_and_strategies_are_held_against_it(compare):
    result = compare(plain_models=["popularity", "ease"])
    rows = {(row["model"], row["strategy"]): row for row in result["rows"]}
    plain = {key: row for key, row in rows.items() if row["role"] in ("baseline", "plain model")}
    (best,) = [key for key, row in plain.items() if row["best_plain"]]
    assert [row["seeds"] for row in result["rows"] if row["role"] == "plain model"] == [1, 1]
    if best != ("gmf", "CE"):
        assert rows["gmf", "T-CE"]["against_best_plain"]["against"] == best[0]
        assert f"The best plain model is {best[0]}" in result["answer"]
        assert any("the best plain model on validation" in line for line in result["conclusions"])


def test_strategies_are_compared_on_a_model_that_is_solved(compare, caplog):
    rows = compare(models=["ease"], plain_models=["popularity"])["rows"]
    assert [(row["model"], row["strategy"]) for row in rows] == [
        ("ease", "CE"), ("ease", "clean training (oracle)"), ("popularity", "plain"),
    ]  # fmt: skip
    assert "the strategy T-CE does not work with ease" in caplog.text
