"""Every measured cell of the result files under a key that says what it is, so that one number has one value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from research.docs.paper_results import ROOT

DATA_OF = ("source", "false_positive", "split", "k_core")


class Key(NamedTuple):
    """What a measured number is of: two with the same key are the same cell."""

    data: str
    model: str
    strategy: str
    options: str
    metric: str
    seeds: int
    epochs: int
    patience: int | None
    select_by: str
    validation_users: int | None
    test_users: int | None
    fidelity: str
    steps: str  # of the training, where clean training has as many as normal training
    refit: bool


class Cell(NamedTuple):
    """A key, its value, and the file and page it stands on."""

    key: Key
    value: float
    source: str


def cells(root: Path = ROOT) -> Iterator[Cell]:
    """Those of the paper's tables and figures, and of the comparisons."""
    for path in sorted((root / "paper" / "results").rglob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(result, dict) and "data_sets" in result:
            yield from _of_paper(result, str(path.relative_to(root)))
    for path in sorted((root / "findings" / "results").glob("*.json")):
        yield from _of_comparison(json.loads(path.read_text(encoding="utf-8")), str(path.relative_to(root)))


def _of_paper(result: Mapping[str, Any], source: str) -> Iterator[Cell]:
    options = result["options"]
    for entry in result["data_sets"]:
        base = {
            "data": entry["data"]["source"], "seeds": options["seeds"], "epochs": options["epochs"], "patience": None,
            "validation_users": None, "test_users": options["users"], "fidelity": options["fidelity"], "refit": False,
        }  # fmt: skip
        for model, method, hyperparameters, steps, by, metric, value in _measured(entry):
            told = json.dumps({name: one for name, one in hyperparameters.items() if name != "fidelity"})
            key = Key(model=model, strategy=method, options=told, metric=metric, select_by=by, steps=steps, **base)
            yield Cell(key, value, source)


def _measured(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any], str, str, str, float]]:
    """Model, method, hyperparameters, steps, selection, metric and mean of whatever an entry has measured."""
    for cell in entry.get("cells", []):
        for by, metrics in cell["ours"].items():
            for metric, value in metrics.items():
                yield cell["model"], cell["method"], cell["hyperparameters"], "", by, metric, value["mean"]
    for row in entry.get("models", []):
        for by, methods in row.get("ours", {}).items():
            for method in ("CE", "clean"):
                steps = "equal" if method == "clean" and "steps" in row else ""
                for metric, value in methods[method].items():
                    yield row["model"], method, {}, steps, by, metric, value["mean"]
    for row in entry.get("plain", []):
        for metric in entry["metrics"]:
            yield row["model"], "CE", {}, "", row["select_by"], metric, row[metric]["mean"]


def _of_comparison(result: Mapping[str, Any], source: str) -> Iterator[Cell]:
    config = result["config"]
    for row in result["rows"]:
        if row["noise"] != "natural":
            continue
        for metric, value in row["metrics"].items():
            key = Key(
                json.dumps([config["data"].get(name) for name in DATA_OF]), row["model"], row["strategy"],
                json.dumps(row.get("options", {})), metric, row["seeds"], config["epochs"], config.get("patience"),
                config["select_by"], config.get("validation_users"), None, "paper", "", bool(row.get("refit", False)),
            )  # fmt: skip
            yield Cell(key, value["mean"], source)
