"""Are false positives harder to fit, and is it more than popularity?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recsieve.reporting.colours import OTHERS, QUIET, STRATEGIES
from research.paper.reports.marks import line_chart, long
from research.paper.reports.report import Figure, Report, Table, model_name

GAPS = {
    "gap": "than all true positives",
    "gap_same_popularity": "than those of equally popular items",
    "gap_same_item": "than those of the same item",
    "gap_same_user": "than those of the same user",
}
AUCS = {
    "auc": "loss",
    "auc_popularity": "item unpopularity alone",
    "auc_within_popularity": "loss, among equally popular items",
}
ABOUT = (
    "The losses of the same 30,000 training interactions during normal training. Gap: how much larger the mean loss of "
    "false positives is than that of true positives. ROC AUC: how often the loss of a false positive is larger than "
    "that of a true positive (0.5 is chance). A gap that disappears among equally popular items is due to popularity, "
    "not dislike."
)
COLOURS = {
    GAPS["gap"]: OTHERS[2],
    GAPS["gap_same_popularity"]: STRATEGIES["least popular drop"],
    GAPS["gap_same_item"]: OTHERS[4],
    GAPS["gap_same_user"]: OTHERS[0],
    AUCS["auc"]: OTHERS[2],
    AUCS["auc_popularity"]: QUIET,
    AUCS["auc_within_popularity"]: STRATEGIES["least popular drop"],
}
NO_GAP = 0.02  # less than this is what samples of this size differ by
HEADER = ("data", "model", "widest at epoch", "true positives", "false positives", "gap", "same popularity",
          "same item", "same user", "gap that popularity explains", "AUC of the loss", "AUC of unpopularity",
          "AUC among equally popular", "gap at the end")  # fmt: skip


def report(result: Mapping[str, Any]) -> Report:
    pairs = [(entry["data"]["name"], model) for entry in result["data_sets"] for model in entry["models"]]
    charts = {}
    for data, model in pairs:
        title = f"{data}, {model_name(model['model'])}"
        charts[f"{data}-{model['model']}-gap"] = line_chart(
            long(model["course"], GAPS, "epoch"),
            title=title,
            x="epoch",
            y="larger loss of false positives",
            colours=COLOURS,
        )
        charts[f"{data}-{model['model']}-auc"] = line_chart(
            long(model["course"], AUCS, "epoch"),
            title=title,
            x="epoch",
            y="ROC AUC for false positives",
            colours=COLOURS,
        )
    table = Table("When the gap is widest", HEADER, [_row(data, model) for data, model in pairs])
    return Report(
        [_sentence(data, model) for data, model in pairs], [table, Figure("During training", charts, [ABOUT])]
    )


def _row(data: str, model: Mapping[str, Any]) -> list[str]:
    widest = model["widest"]
    return [
        data, model_name(model["model"]), f"{widest['epoch']:.1f}",
        *(f"{widest[name]:z.3f}" for name in ("true_positives", "false_positives", "gap", "gap_same_popularity",
                                             "gap_same_item", "gap_same_user")),
        f"{model['explained_by_popularity']:.0%}",
        *(f"{widest[name]:z.3f}" for name in ("auc", "auc_popularity", "auc_within_popularity")),
        f"{model['last']['gap']:z.3f}",
    ]  # fmt: skip


def _sentence(data: str, model: Mapping[str, Any]) -> str:
    widest, last, title = model["widest"], model["last"], f"{data}, {model_name(model['model'])}"
    if widest["gap"] < NO_GAP:
        return f"{title}: the losses of false positives are never larger."
    share = model["explained_by_popularity"]
    told = "popularity explains all of it" if share >= 1 else f"popularity explains {share:.0%} of it"
    return (
        f"{title}: the losses of false positives are larger by at most {widest['gap']:z.3f}, in epoch "
        f"{widest['epoch']:.1f}, and {told}. Compared with true positives on equally popular items, they are larger by "
        f"{widest['gap_same_popularity']:z.3f} in that epoch and by {last['gap_same_popularity']:z.3f} at the end "
        f"(where the whole gap is {last['gap']:z.3f}). In that epoch the AUC of the loss is {widest['auc']:.3f}, that "
        f"of unpopularity {widest['auc_popularity']:.3f}, and that of the loss among equally popular items "
        f"{widest['auc_within_popularity']:.3f}."
    )
