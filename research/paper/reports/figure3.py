"""Figure 3: losses of true and false positives in normal training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from research.paper.reports.marks import LOSS_COLOURS, line_chart, long
from research.paper.reports.report import Figure, Report, model_name

LOSSES = {"true_positive_loss": "true positives", "false_positive_loss": "false positives"}
STAGES = {"whole": "whole training", "early": "first epoch"}


def report(result: Mapping[str, Any]) -> Report:
    figures = [
        Figure(f"{entry['data']['name']}, {model_name(model['model'])}", _charts(entry["data"]["name"], model))
        for entry in result["data_sets"]
        for model in entry["models"]
    ]
    return Report([_sentence(entry, model) for entry in result["data_sets"] for model in entry["models"]], figures)


def _charts(data: str, model: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{data}-{model['model']}-{stage}": line_chart(
            long(model[stage], LOSSES), title=f"{data}, {model_name(model['model'])}: {title}", x="iteration",
            y="cross-entropy", colours=LOSS_COLOURS,
        )
        for stage, title in STAGES.items()
    }  # fmt: skip


def _sentence(entry: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    gaps = [
        (row["step"], row["false_positive_loss"] - row["true_positive_loss"])
        for row in [*model["early"], *model["whole"]]
        if row["false_positive_loss"] is not None
    ]
    if not gaps:
        return f"{entry['data']['name']}: no false positive is known."
    step, gap = max(gaps, key=lambda pair: pair[1])
    last = gaps[-1][1]
    return (
        f"{entry['data']['name']}, {model_name(model['model'])}: the loss of false positives is larger by at most "
        f"{gap:.3f}, at iteration {step:,.0f} (epoch {step / entry['data']['steps_per_epoch']:.1f}), and by {last:.3f} "
        "at the end."
    )
