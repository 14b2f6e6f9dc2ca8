"""Models and a strategy that other packages bring, each in one file, are found by name, and everything works with them.

They are installed by entry points, for processes of their own.
"""

import importlib.util
import json
import sys
from pathlib import Path

import polars as pl
import pytest
from safetensors.torch import load_file

from recsieve.objectives import BPR
from recsieve.testing import check_denoiser, check_learner, check_model

HERE = Path(__file__).parent
COMMON = {"epochs": 4, "patience": 9, "batch_size": 64, "learning_rate": 0.01, "checkpoint_every": 3}
GRAPH = COMMON | {"model": "graph-model", "objective": "bpr", "denoiser": "keep-all"}
DENSE = COMMON | {"model": "dense-mf", "objective": "bpr", "denoiser": "keep-all", "engine": "exact"}
RELABELLING = {"model": "mf", "denoiser": "relabelling", "denoiser_options": {"share": 0.2}, "engine": "exact"}
RUNS = {
    "graph": GRAPH,
    "closed-form": COMMON | {"model": "ridge", "denoiser": "keep-all"},
    "dense": DENSE,
    "strategy": COMMON | RELABELLING,
}


def plugin(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where a dataclass looks for its module
    spec.loader.exec_module(module)
    return module


def test_they_keep_the_promises():
    check_model(plugin("lightgcn_like").GraphModel, {"factors": 4}, BPR())
    check_model(plugin("lightgcn_like").DenseMF)
    check_learner(plugin("ease_like").Ridge())
    check_denoiser(lambda context: plugin("relabelling").Relabelling(context=context))


@pytest.fixture(scope="module")
def trained(run, log, tmp_path_factory):
    """The run folders of all, each beside one that was killed and has gone on."""
    folder = tmp_path_factory.mktemp("runs")
    run("-m", "trainings", log, folder, json.dumps(RUNS), 9)
    return folder


@pytest.mark.parametrize("name", RUNS)
def test_a_training_that_is_killed_goes_on_to_the_same_bits(name, trained):
    for file in ("model.safetensors", "history.parquet"):
        assert (trained / f"{name}.killed" / file).read_bytes() == (trained / name / file).read_bytes()


def test_two_ranks_train_what_one_process_does_and_a_graph_model_says_why_not(
    start_ranks, installed, monkeypatch, trained, log, tmp_path
):
    monkeypatch.setenv("PYTHONPATH", installed["PYTHONPATH"])
    runs = {name: RUNS[name] for name in ("dense", "strategy", "graph")}
    words = ["trainings", log, tmp_path, json.dumps(runs)]
    for rank in (ranks := start_ranks([words, words])):
        error = rank.communicate(timeout=300)[1]
        assert rank.returncode == 0, error
        refused = [line for line in error.splitlines() if line.startswith(tuple(runs))]
        assert len(refused) == 1
        assert refused[0].startswith(
            "graph: GraphModel needs the interactions of all users, but they are divided among 2 ranks"
        )
    assert len(ranks) == 2
    for name in ("dense", "strategy"):
        one, two = (load_file(folder / name / "model.safetensors") for folder in (trained, tmp_path))
        for weight in one:
            assert (one[weight] - two[weight]).abs().max() < 1e-4, (name, weight)


COMMANDS = """\
train {log} --model graph-model --denoiser truncated --epochs 2 --batch-size 64 --out {out}/graph
train {log} --model ridge --denoiser keep-all --out {out}/ridge
train {log} --model mf --denoiser relabelling --epochs 2 --batch-size 64 --out {out}/relabelled
evaluate {out}/graph
evaluate {out}/ridge
evaluate {out}/relabelled
recommend {out}/graph --user 3 --k 5 --out {out}/graph.csv
recommend {out}/ridge --user 3 --k 5 --out {out}/ridge.csv
recommend {out}/relabelled --user 3 --k 5 --out {out}/relabelled.csv
compare {log} --models graph-model,mf --strategies keep-all,relabelling --seeds 2 --epochs 1 --out {out}/both
compare {log} --false-positive rating<3 --models ridge --strategies keep-all --seeds 2 --out {out}/closed
tune {log} --model graph-model --strategies keep-all,relabelling --trials 1 --epochs 1 --workers 1 --out {out}/tuned
train {log} --candidates graph-model,ridge --trials 2 --epochs 1 --out {out}/chosen
recommend {out}/chosen --user 3 --k 5 --out {out}/chosen.csv
"""


def test_the_command_line_trains_evaluates_recommends_compares_tunes_and_chooses(run, log, tmp_path):
    run("-m", "commands", *COMMANDS.format(log=log, out=tmp_path).splitlines())
    for name in ("graph", "ridge", "relabelled", "chosen"):
        assert len(pl.read_csv(tmp_path / f"{name}.csv")) == 5
        assert json.loads((tmp_path / name / "metrics.json").read_text())["test"]["ndcg@20"] > 0
    both, closed = (
        json.loads((tmp_path / name / "comparison.json").read_text())["rows"] for name in ("both", "closed")
    )
    assert {"graph-model", "mf"} <= {row["model"] for row in both}
    assert "ridge" in {row["model"] for row in closed}
    both, closed = ([row for row in rows if row["model"] in ("graph-model", "mf", "ridge")] for rows in (both, closed))
    assert {"keep-all", "relabelling"} <= {row["strategy"] for row in both}
    assert {row["seeds"] for row in both + closed} == {2}
    tuned = json.loads((tmp_path / "tuned" / "tuning.json").read_text())["strategies"]
    assert [entry["denoiser"] for entry in tuned] == ["keep-all", "relabelling"]
    chosen = json.loads((tmp_path / "chosen" / "metrics.json").read_text())["choice"]
    tried = {spec["model"] for one in chosen["candidates"] for spec in one["candidate"]["specs"]}
    assert tried == {"graph-model", "ridge"}
