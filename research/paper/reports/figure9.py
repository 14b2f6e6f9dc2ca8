"""Figure 9: recall and precision of what T-CE discards, along the training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recsieve.reporting.colours import QUIET, STRATEGIES
from research.paper.reports.marks import line_chart, long
from research.paper.reports.report import Figure, Report, model_name

RECALL = {
    "recall": "T-CE",
    "random_recall": "at random",
    "paper_random_recall": "at random, as the paper draws it (ε)",
}
PRECISION = {"precision": "T-CE", "random_precision": "at random"}
COLOURS = {
    RECALL["recall"]: STRATEGIES["T-CE"],
    RECALL["random_recall"]: STRATEGIES["random drop"],
    RECALL["paper_random_recall"]: QUIET,
}
ABOUT = (
    "Recall: the share of false positives that is discarded. Precision: the share of false positives among discarded "
    "interactions. The paper draws the recall of random discarding at ε(T). But ε is a share of the batch including "
    "negatives, and only positives are discarded, so random discarding finds about 2ε of the false positives."
)


def report(result: Mapping[str, Any]) -> Report:
    charts, found = {}, []
    for entry in result["data_sets"]:
        for model in entry["models"]:
            name = f"{entry['data']['name']}-{model['model']}"
            title = f"{entry['data']['name']}, {model_name(model['model'])}+T-CE"
            for measure, lines in (("recall", RECALL), ("precision", PRECISION)):
                charts[f"{name}-{measure}"] = line_chart(
                    long(model["curve"], lines), title=title, x="iteration", y=f"{measure} of false positives",
                    colours=COLOURS,
                )  # fmt: skip
            found.append(_sentence(title, model["curve"][-1]))
    return Report(found, [Figure("What is discarded", charts, [ABOUT])])


def _sentence(title: str, last: Mapping[str, float]) -> str:
    return (
        f"{title}, at the end: {last['recall']:.1%} of the false positives are discarded ({last['random_recall']:.1%} "
        f"at random), and {last['precision']:.1%} of the discarded interactions are false positives "
        f"({last['random_precision']:.1%} at random)."
    )
