import json
from dataclasses import replace

import polars as pl
import pytest

from recsieve.errors import ConfigError
from research.paper import TITLES, published
from research.paper.curves import found
from research.paper.reproduce import RESULTS, reproduce_result
from research.paper.runs import Options, RunSpec, Study, thinned
from research.paper.table3 import candidates


def test_every_result_has_a_title_and_a_module():
    assert set(RESULTS) == set(TITLES)


def test_results_share_runs_and_finished_ones_are_not_repeated(trained, tiny_data, tiny_options, tmp_path):
    said = []
    for name in ("table3", "figure3", "figure4", "figure6", "figure7", "figure9", "phenomenon"):
        reproduce_result(name, [tiny_data], tiny_options, tmp_path, announce=said.append)
    assert len(trained) == len(set(trained)) == 6  # three methods with two seeds
    assert said[0].startswith("6 runs to train: about ")
    assert said[-1] == "all 2 runs are there already: nothing is left to train."


def test_a_result_is_written_with_its_command_and_data(trained, tiny_data, tiny_options, tmp_path):
    result = reproduce_result("table1", [tiny_data], tiny_options, tmp_path, command="recsieve paper table1")
    assert json.loads((tmp_path / "table1.json").read_text(encoding="utf-8")) == json.loads(json.dumps(result))
    assert result["command"] == "recsieve paper table1"
    assert result["data_sets"][0]["data"]["about"] == "made by hand"
    model = result["data_sets"][0]["models"][0]["ours"]["own-loss"]
    clean, normal = model["clean"]["ndcg@20"]["mean"], model["CE"]["ndcg@20"]["mean"]
    assert model["drop"]["ndcg@20"] == pytest.approx(100 * (clean - normal) / clean, rel=1e-3)


def test_a_sweep_trains_its_grid_and_then_the_best_with_every_seed(trained, tiny_data, tmp_path, monkeypatch):
    for name, values in (("DROP_RATES", (0.05, 0.1)), ("RAMPS", (1_000,)), ("BETAS", (0.1, 0.5))):
        monkeypatch.setattr(published, name, values)
    options = Options(seeds=2, epochs=1, models=("gmf",), sweep=True)
    result = reproduce_result("table3", [tiny_data], options, tmp_path)
    assert len(trained) == len(set(trained)) == (1 + 2 + 2) + 3  # the grids, and the second seed of each cell
    assert [cell["method"] for cell in result["data_sets"][0]["cells"]] == ["CE", "T-CE", "R-CE"]


def test_the_grids_of_a_model_have_23_runs(tiny_data, tmp_path):
    study = Study(tiny_data, Options(models=("gmf",), sweep=True), tmp_path)
    grids = {method: len(candidates(study, "gmf", method)) for method in published.METHODS}
    assert grids == {"CE": 1, "T-CE": 15, "R-CE": 7}


def test_table_2_and_figure_5_train_nothing(trained, tiny_data, tiny_options, tmp_path):
    reproduce_result("table2", [tiny_data], tiny_options, tmp_path)
    curves = reproduce_result("figure5", [], tiny_options, tmp_path)["curves"]
    assert trained == []
    assert {row["weight"] for row in curves if row["beta"] == 0} == {1.0}
    half = next(row for row in curves if row["beta"] == 1 and row["predicted"] == 0.5)
    assert half["weight"] == pytest.approx(0.5)
    assert half["loss"] == pytest.approx(0.346574)


def test_other_data_under_the_same_name_is_refused(trained, tiny_data, tiny_options, tmp_path, small_data):
    from recsieve.data.splitting import split_interactions
    from recsieve.errors import RunError

    reproduce_result("table2", [tiny_data], tiny_options, tmp_path)
    other = replace(tiny_data, split=split_interactions(small_data(20, 20, 0.5)))
    with pytest.raises(RunError, match="the data has changed"):
        reproduce_result("table2", [other], tiny_options, tmp_path)


def test_what_is_about_noise_is_refused_where_none_is_known(tiny_data, tiny_options, tmp_path):
    train = replace(tiny_data.split.train, false_positive=None)
    silent = replace(tiny_data, split=replace(tiny_data.split, train=train))
    with pytest.raises(ConfigError, match="no known false positive"):
        reproduce_result("figure9", [silent], tiny_options, tmp_path)


def test_random_discarding_finds_twice_the_drop_rate():
    """Half of a batch are negatives, which are never dropped: of 512 positives 102 go at a rate of 0.1."""
    history = pl.DataFrame(
        {"step": [1, 2], "positives": 512, "dropped": 102, "false_positives": 50, "dropped_false_positives": [10, 20]}
    )
    row = found(history).row(0, named=True)
    assert row["random_recall"] == pytest.approx(2 * 0.1, abs=0.001)
    assert row["recall"] == pytest.approx(30 / 100)
    assert row["precision"] == pytest.approx(30 / 204)
    assert row["random_precision"] == pytest.approx(50 / 512)


def test_settings_differ_in_the_names_of_runs(tiny_data, tiny_options, tmp_path):
    other = replace(tiny_options, fidelity="authors", epochs=4, users=7)
    runs = Study(tiny_data, tiny_options, tmp_path).grid(("gmf", "neumf"), ("CE", "T-CE", "R-CE", "clean"))
    runs += Study(tiny_data, other, tmp_path).grid((), ("CE", "T-CE"))
    assert len({run.name for run in runs}) == len(set(runs)) == len(runs)


def test_fidelity_reaches_the_strategy_and_training_goes_to_the_end(tiny_data, tiny_options, tmp_path):
    run = Study(tiny_data, replace(tiny_options, fidelity="authors"), tmp_path).grid((), ("T-CE",))[0]
    settings = run.settings()
    assert settings.fidelity == "authors"
    assert settings.patience > settings.epochs


def test_the_authors_cadence_is_kept_on_the_papers_data(tiny_data, tmp_path):
    def every(data):
        return Study(data, Options(fidelity="authors"), tmp_path).seeds("gmf", "CE")[0].every

    papers = replace(tiny_data, is_papers=True)
    assert every(papers) == 2_000
    assert every(replace(papers, preset="adressa")) == 100
    assert every(tiny_data) == tiny_data.steps_per_epoch


def test_a_wrong_option_is_told():
    for changes in ({"fidelity": "exact"}, {"select_by": "luck"}, {"models": ("gfm",)}):
        with pytest.raises(ConfigError):
            Options(**changes)


def test_long_curves_are_thinned_and_keep_their_ends():
    rows = thinned(pl.DataFrame({"step": range(1_000)}))
    assert len(rows) <= 121
    assert (rows[0]["step"], rows[-1]["step"]) == (0, 999)


def test_a_run_is_told_by_its_hyperparameters():
    run = RunSpec("gmf", "R-CE", 0, 10, "paper", None, 100, (("beta", 0.25),))
    assert run.name == "gmf-R-CE-0.25-paper-e10-seed0"
    assert run.with_hyperparameters(beta=0.5).hyperparameters == (("beta", 0.5),)
