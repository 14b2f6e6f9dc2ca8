"""Figure 8: how much depends on the drop rate, its ramp and β, each varied with the others at their preset."""

from __future__ import annotations

from typing import Any

from recsieve.experiments.conclusions import spread
from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.runs import SELECTIONS, Options, Records, RunSpec, spec
from research.paper.table3 import metrics

MODELS = ("gmf",)
# The hyperparameter, the method it belongs to, the values tried, and what it is called.
HYPERPARAMETERS: dict[str, tuple[str, tuple[float, ...], str]] = {
    "max_drop_rate": ("T-CE", published.SENSITIVITY_RATES, "ε_max"),
    "ramp_steps": ("T-CE", published.RAMPS, "ε_N"),
    "beta": ("R-CE", published.BETAS, "β"),
}


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    plain = [spec(data, options, model, "CE", seed) for seed in range(options.seeds) for model in models(options)]
    varied = [
        run
        for model in models(options)
        for hyperparameter, (_, values, _) in HYPERPARAMETERS.items()
        for value in values
        for run in varied_runs(data, options, model, hyperparameter, value)
    ]
    return plain + varied


def models(options: Options) -> tuple[str, ...]:
    return options.models or MODELS


def varied_runs(data: DataSet, options: Options, model: str, hyperparameter: str, value: float) -> list[RunSpec]:
    """The runs with one hyperparameter at another value, one for each seed."""
    given = data.ramp(int(value), options.epochs) if hyperparameter == "ramp_steps" else value
    return [
        spec(data, options, model, HYPERPARAMETERS[hyperparameter][0], s).with_hyperparameters(
            **{hyperparameter: given}
        )
        for s in range(options.seeds)
    ]


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    """Metrics against each hyperparameter, and those of plain CE."""
    rows = []
    for model in models(options):
        for hyperparameter, (method, values, symbol) in HYPERPARAMETERS.items():
            for value in values:
                varied = varied_runs(data, options, model, hyperparameter, value)
                row = {"model": model, "method": method, "hyperparameter": symbol, "value": value}
                rows += [row | measured for measured in _measure(data, records, varied)]
    plain = [
        {"model": model, **measured}
        for model in models(options)
        for measured in _measure(data, records, [spec(data, options, model, "CE", s) for s in range(options.seeds)])
    ]
    return {"metrics": metrics(data), "rows": rows, "plain": plain}


def _measure(data: DataSet, records: Records, varied: list[RunSpec]) -> list[dict[str, Any]]:
    return [
        {
            "select_by": select_by,
            **{metric: spread(records[run].test(select_by)[metric] for run in varied) for metric in metrics(data)},
        }
        for select_by in SELECTIONS
    ]
