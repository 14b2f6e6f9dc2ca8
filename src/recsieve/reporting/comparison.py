"""The page of a comparison, from its comparison.json and tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from recsieve.reporting.charts import fluid, write_chart
from recsieve.reporting.comparison_charts import (
    Panels,
    detection_panels,
    effect_panels,
    loss_panels,
    noise_panels,
    selection_panels,
    validation_panels,
)
from recsieve.reporting.comparison_tables import PLAIN, detection_rows, full_rows
from recsieve.reporting.page import Section, source_name, write_page

RESULT = "comparison.json"


def write_comparison_page(folder: Path) -> Path:
    """Write report.html next to the results of a comparison, and each of its charts as PNG and SVG."""
    result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    panels = comparison_panels(result, folder / "tables")
    for name, charts in panels.items():
        for panel, chart in charts.items():
            ending = "" if len(charts) == 1 else "-" + re.sub(r"\W+", "-", panel).strip("-")
            write_chart(chart, folder / "charts" / f"{name}{ending}.png")
    config = result["config"]
    subtitle = (
        f"{', '.join(config['models'])}; {config['seeds']} seeds; {config['metric']} by full ranking on the clean "
        f"test; {config['select_by']} on validation selects; {result['date'][:10]}"
    )
    write_page(
        folder / "report.html", f"Does denoising help on {data_name(result)}?", subtitle, sections(result, panels)
    )
    return folder / "report.html"


def data_name(result: Mapping[str, Any]) -> str:
    """The name of the data: the last meaningful part of its path."""
    return source_name((result["config"]["data"] or {}).get("source", "this data"))


def comparison_panels(result: Mapping[str, Any], tables: Path) -> dict[str, Panels]:
    """All charts, by file name; those without data are left out."""
    metric, rows = result["config"]["metric"], [row for row in result["rows"] if row["role"] != PLAIN]
    panels = {
        "effects": effect_panels(rows, metric),
        "noise": noise_panels(rows, metric),
        "validations": validation_panels(_table(tables, "validations"), result["config"]["select_by"]),
        "selection": selection_panels(rows, metric),
    }
    for name, draw in (("losses", loss_panels), ("detection", detection_panels)):
        if (tables / f"{name}.parquet").exists():
            panels[name] = draw(_table(tables, name))
    return {name: charts for name, charts in panels.items() if charts}


def _table(tables: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(tables / f"{name}.parquet", glob=False).filter(pl.col("role") != PLAIN)


TEXTS = {
    "effects": (
        "How large is the difference, and how certain?",
        "Each point is the mean change over users and seeds, with its 95 % interval. Grey means no difference found, "
        "after correcting for all comparisons.",
    ),
    "noise": (
        "The effect of noise",
        "The test metric by the share of noise added to clean data; the test itself stays clean. Click a name to "
        "show only its curve.",
    ),
    "validations": (
        "Training curves",
        "Means over the seeds. In practice, only the noisy validation data can be used to select an epoch; the "
        "others are shown for comparison. Towards the end a curve has fewer seeds, because they stop when they no "
        "longer improve.",
    ),
    "selection": (
        "How much the choice of the epoch matters",
        "The test score of each strategy if its epoch is selected by its validation loss, by noisy or clean validation "
        "data, or by the test itself. The last two are not available in practice (oracle). If these differences are "
        "larger than those between strategies, selection matters more than denoising.",
    ),
    "losses": (
        "Are false positives harder to fit?",
        "The cross-entropy of true and false positives during training. Strategies that use the loss can only "
        "separate them where the lines are apart.",
    ),
    "detection": (
        "Do the strategies find the noise?",
        "How well a strategy finds the known false positives during training, by what it drops or gives less weight. "
        "A ROC AUC of 0.5 is chance. For comparison: the largest losses of plain CE, and the least popular items. "
        "Precision and recall are for as many interactions as the strategy drops, or for a tenth if it drops none.",
    ),
}  # fmt: skip


FOUND = (
    "ROC AUC for known false positives within each group. Head items have half of all interactions, and users are "
    "split into thirds by activity. A score that is good overall but not within head and tail items has found rare "
    "items, not noise."
)


def sections(result: Mapping[str, Any], panels: Mapping[str, Panels]) -> list[Section]:
    """The answer first, then the evidence, then how it was made."""
    drawn = {name: Section(*_text(name), panels=[fluid(chart) for chart in panels[name].values()]) for name in panels}
    first = [
        Section("The answer", lead=result["answer"], points=result["conclusions"]),
        *(drawn[name] for name in ("effects",) if name in drawn),
        Section("All numbers", [_about_numbers(result)], *full_rows(result)),
    ]
    rest = [drawn[name] for name in ("noise", "validations", "selection", "losses", "detection") if name in drawn]
    header, found = detection_rows(result["rows"])
    table = Section("Noise found by popularity of items and activity of users", [FOUND], header, found)
    return [*first, *rest, *([table] if found else []), Section("How this was run", points=provenance(result))]


def _text(name: str) -> tuple[str, list[str]]:
    heading, paragraph = TEXTS[name]
    return heading, [paragraph]


def _about_numbers(result: Mapping[str, Any]) -> str:
    return (
        "Means over the seeds and their standard deviation. p-values are corrected (Holm) for all "
        f"{result['comparisons']} comparisons on this page. A strategy beats popularity if it is better than dropping "
        "the interactions with the least popular items. The best plain model is the one with the best validation "
        "score without denoising. Noise shown @20 is the share of a user's held-out false positives that are "
        "recommended in the top 20; lower is better. Click a column to sort."
    )


def provenance(result: Mapping[str, Any]) -> list[str]:
    """Everything that is needed to reproduce the numbers."""
    config, machine = result["config"], result["machine"]
    facts = [f"{name}: {_facts(about)}" for name, about in result["data"].items()]
    named = {row["strategy"]: row for row in result["rows"] if row["role"] != PLAIN}
    strategies = [f"{name}: {_options(row)}." for name, row in named.items()]
    return [
        f"Command: {result['command']}",
        f"At most {config['epochs']} epochs of batches of {config['batch_size']}, learning rate "
        f"{config['learning_rate']}; a training ends after {config['patience']} validations without progress.",
        *facts,
        *strategies,
        f"Made on {machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB: "
        f"{result['training_seconds'] / 60:.1f} minutes of training, {result['workers']} at a time; "
        + ", ".join(f"{name} {version}" for name, version in result["versions"].items())
        + ".",
    ]


def _facts(about: Mapping[str, Any]) -> str:
    share = about["false_positive_share"]
    noise = "" if share is None else f", {100 * share:.1f} % of them known false positives"
    return (
        f"{about['users']:,} users, {about['items']:,} items, {about['interactions']:,} training interactions{noise}; "
        f"{about['test']:,} to test on."
    )


def _options(row: Mapping[str, Any]) -> str:
    if row["role"] == "oracle":
        return "plain CE that gives no weight to the known false positives of the training part"
    options: Sequence[str] = [f"{name} {value}" for name, value in row["options"].items()]
    return ", ".join([row["denoiser"], *options])
