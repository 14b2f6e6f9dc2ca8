import json

import pytest

from recsieve.checking import make_settings
from recsieve.errors import ConfigError
from recsieve.experiments import tracking
from recsieve.experiments.run import train_split
from recsieve.experiments.tracking import Follower, log_run, logging_to, make_tracker
from recsieve.storage.run_folder import RunFolder
from recsieve.studies import compare as compare_split
from recsieve.training import Began, Trained, Validated


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    """A client of a store of its own."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    from mlflow import MlflowClient

    return MlflowClient()


def scalars(folder):
    """The curves in a folder of events: steps and values by name."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    return {name: [(entry.step, entry.value) for entry in events.Scalars(name)] for name in events.Tags()["scalars"]}


def test_tensorboard_has_the_curves_and_results_of_each_run_of_a_comparison(in_this_process, split, tiny, tmp_path):
    comparison = compare_split(split, tmp_path / "out", log="tensorboard", **tiny)
    assert {path.name for path in (tmp_path / "out" / "tensorboard").iterdir()} == {
        path.name for path in (tmp_path / "out" / "runs").iterdir()
    }
    found = scalars(tmp_path / "out" / "tensorboard" / "natural-gmf-T_CE-0")
    run = RunFolder(comparison.folder / "runs" / "natural-gmf-T_CE-0")
    history = run.read_frame(run.history)
    assert [step for step, _ in found["training/loss"]] == history["step"].to_list()
    assert [value for _, value in found["training/loss"]] == pytest.approx(history["loss"].to_list())
    assert len(found["validation/score"]) == len(found["test/score"]) == 3
    assert found["test/ndcg@20"][-1][1] == pytest.approx(run.read_metrics()["test"]["ndcg@20"])


def test_mlflow_has_each_run_once_with_its_hyperparameters_and_results(in_this_process, split, tiny, tmp_path, mlflow):
    compare_split(split, tmp_path / "out", **tiny)
    for _ in range(2):  # runs that were made before are sent too, but not twice
        compare_split(split, tmp_path / "out", log="mlflow", **tiny)
    experiment = mlflow.get_experiment_by_name("out").experiment_id
    runs = {run.info.run_name: run for run in mlflow.search_runs([experiment])}
    assert len(mlflow.search_runs([experiment])) == len(runs) == len(in_this_process) == 10
    run = runs["natural-gmf-T_CE-1"]
    assert (run.info.status, run.data.params["seed"]) == ("FINISHED", "1")
    assert run.data.params["denoiser_options.drop_positives"] == "0.2"
    metrics = json.loads((tmp_path / "out" / "runs" / "natural-gmf-T_CE-1" / "metrics.json").read_text())
    assert run.data.metrics["test/ndcg at 20"] == pytest.approx(metrics["test"]["ndcg@20"])
    assert len(mlflow.get_metric_history(run.info.run_id, "validation/score")) == 3


@pytest.fixture
def train(split, tmp_path):
    """A function that trains one recommender under a log."""

    def run(kind):
        folder = tmp_path / "all" / "one"
        with logging_to(kind, folder, lambda event: None) as follow:
            settings = make_settings({"model": "gmf", "epochs": 2, "batch_size": 64})
            train_split(split, {}, settings, RunFolder(folder), progress=follow)

    return run


def test_one_training_is_in_tensorboard_with_what_was_known_only_at_its_end(train, tmp_path):
    train("tensorboard")
    found = scalars(tmp_path / "all" / "tensorboard" / "one")
    assert len(found["validation/score"]) == 2
    assert {"training/loss", "training/false positive loss", "test/ndcg@20"} <= found.keys()


def test_one_training_is_a_run_of_mlflow(train, mlflow):
    train("mlflow")
    (run,) = mlflow.search_runs([mlflow.get_experiment_by_name("all").experiment_id])
    assert run.info.run_name == "one"
    assert {"validation/score", "training/loss", "test/ndcg at 20"} <= run.data.metrics.keys()


class Notebook:
    """A tracker that writes down what it is told."""

    def __init__(self):
        self.points = []

    def begin(self, name): ...

    def add(self, points):
        self.points += points


def test_the_curves_of_several_trainings_of_one_run_are_kept_apart(tmp_path):
    notebook = Notebook()
    follower = Follower(notebook, RunFolder(tmp_path))
    for name, score in (("plain CE", 0.1), ("T-CE", 0.2)):
        for event in (Began(name, 1, 2), Trained(5, 0, 10, 0.7), Validated(5, 0, score, True)):
            follower.take(event)
    assert notebook.points == [
        (5, {"plain CE/training/loss": 0.7}), (5, {"plain CE/validation/score": 0.1}),
        (5, {"T-CE/training/loss": 0.7}), (5, {"T-CE/validation/score": 0.2}),
    ]  # fmt: skip


def test_without_a_log_the_callback_is_the_one_given(tmp_path):
    with logging_to(None, tmp_path, print) as take:
        assert take is print


def test_a_run_that_has_not_ended_is_not_sent(tmp_path):
    log_run(make_tracker("tensorboard", tmp_path), RunFolder(tmp_path / "runs" / "begun"))
    assert not (tmp_path / "tensorboard").exists()


def test_a_log_that_does_not_exist_or_is_not_installed_is_told(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="did you mean 'mlflow'"):
        make_tracker("mlfow", tmp_path)
    monkeypatch.setattr(tracking, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'recsieve\[mlflow\]'"):
        make_tracker("mlflow", tmp_path)
