"""Figure 8: how much depends on the drop rate, its ramp and β, each varied with the others at their preset."""

from __future__ import annotations

from typing import Any

from research.paper import published
from research.paper.runs import SELECTIONS, RunSpec, Study
from research.paper.table3 import means_on_test, metrics

MODELS = ("gmf",)
# The hyperparameter, the method it belongs to, the values tried, and what it is called.
HYPERPARAMETERS: dict[str, tuple[str, tuple[float, ...], str]] = {
    "max_drop_rate": ("T-CE", published.SENSITIVITY_RATES, "ε_max"),
    "ramp_steps": ("T-CE", published.RAMPS, "ε_N"),
    "beta": ("R-CE", published.BETAS, "β"),
}


def runs(study: Study) -> list[RunSpec]:
    varied = [
        run
        for model in study.models(MODELS)
        for hyperparameter, (_, values, _) in HYPERPARAMETERS.items()
        for value in values
        for run in varied_runs(study, model, hyperparameter, value)
    ]
    return study.grid(MODELS, ("CE",)) + varied


def varied_runs(study: Study, model: str, hyperparameter: str, value: float) -> list[RunSpec]:
    """The runs with one hyperparameter at another value, one for each seed."""
    ramp = hyperparameter == "ramp_steps"
    given = {hyperparameter: study.data.ramp(int(value), study.options.epochs) if ramp else value}
    usual = study.seeds(model, HYPERPARAMETERS[hyperparameter][0])
    return [run.with_hyperparameters(**given) for run in usual]


def collect(study: Study) -> dict[str, Any]:
    """Metrics against each hyperparameter, and those of plain CE."""
    rows = [
        {"model": model, "method": method, "hyperparameter": symbol, "value": value, **measured}
        for model in study.models(MODELS)
        for hyperparameter, (method, values, symbol) in HYPERPARAMETERS.items()
        for value in values
        for measured in _measure(study, varied_runs(study, model, hyperparameter, value))
    ]
    plain = [
        {"model": model, **measured}
        for model in study.models(MODELS)
        for measured in _measure(study, study.seeds(model, "CE"))
    ]
    return {"metrics": metrics(study.data), "rows": rows, "plain": plain}


def _measure(study: Study, runs: list[RunSpec]) -> list[dict[str, Any]]:
    return [{"select_by": select_by, **means_on_test(study, runs, select_by)} for select_by in SELECTIONS]
