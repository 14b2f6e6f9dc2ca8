"""Table 1: what false positives cost, clean training against normal training."""

from __future__ import annotations

from typing import Any

from recsieve.experiments.conclusions import spread
from research.paper import published
from research.paper.runs import SELECTIONS, RunSpec, Study
from research.paper.verdicts import tested

METRICS = ("recall@20", "ndcg@20")
METHODS = ("clean", "CE")
MODELS = ("neumf",)


def runs(study: Study) -> list[RunSpec]:
    return study.grid(MODELS, METHODS)


def collect(study: Study) -> dict[str, Any]:
    """Both trainings of each model, and the relative drop under each way to select."""
    return {"models": [_model(study, model) for model in study.models(MODELS)]}


def _model(study: Study, model: str) -> dict[str, Any]:
    data, options = study.data, study.options
    rows: dict[str, Any] = {"model": model, "epochs": options.epochs, "ours": {}}
    for select_by in SELECTIONS:
        cells = {
            method: {
                metric: spread(run.test(select_by)[metric] for run in study.ended(model, method)) for metric in METRICS
            }
            for method in METHODS
        }
        rows["ours"][select_by] = {**cells, "drop": {metric: drop(cells, metric) for metric in METRICS}}
    normal, clean = (study.seeds(model, method) for method in ("CE", "clean"))
    rows["tested"] = tested(study, normal, clean, "ndcg@20")
    rows["steps"] = {"clean": clean[0].steps, "CE": options.epochs * data.steps_per_epoch}
    if data.is_papers and model == "neumf" and data.name in published.TABLE1:
        rows["published"] = {
            method: dict(zip(METRICS, values, strict=True)) for method, values in published.TABLE1[data.name].items()
        }
    return rows


def drop(cells: dict[str, Any], metric: str) -> float:
    """By how many percent normal training falls short of clean training (#Drop)."""
    clean, normal = cells["clean"][metric]["mean"], cells["CE"][metric]["mean"]
    return 100 * (clean - normal) / clean
