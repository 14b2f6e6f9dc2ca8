"""The page of a run."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from recsieve.display import counted, metric_rows
from recsieve.reporting.charts import fluid, loss_lines
from recsieve.reporting.choice import HEADER, choice_lines, choice_rows, choice_terms, plain_command
from recsieve.reporting.page import Section, source_name, write_page
from recsieve.settings import Settings

NAMES = {"keep-all": "plain training", "truncated": "T-CE", "reweighted": "R-CE", "negative-feedback": "NR"}
METRICS = (
    "Recall@20 is the share of the items a user went on to like that are in the top 20; NDCG also rewards a higher "
    "position. False positives recommended is the share of a user's held-out regretted items that are recommended; "
    "lower is better. Coverage is the share of all items that are recommended to anybody."
)


class Result(Protocol):
    """What a page needs of a finished run in addition to its files."""

    @property
    def folder(self) -> Path: ...
    @property
    def examples(self) -> pl.DataFrame | None: ...


def write_run_page(result: Result, command: str = "") -> Path:
    """Write report.html into a run folder, from its files; `command` is the one that made the run."""
    folder, path = result.folder, result.folder / "report.html"
    if result.examples is None and path.exists():  # a run that had ended before: its page says more
        return path
    results = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    history = pl.read_parquet(folder / "history.parquet", glob=False)
    settings, data = config["settings"], config["data"]
    sections = [
        Section("In short", lead=summary(results, settings, data), facts=_facts(results, settings, data)),
        Section("Test", [_tested(results), METRICS], *metric_rows(results["test"])),
        *_choice(results.get("choice")),
        *_examples(result.examples),
        *_course(history, results),
        Section("How this was run", points=_provenance(settings, data, command)),
    ]
    write_page(path, f"{title(settings)} on {source_name(data['source'])}", f"a training run; {date.today()}", sections)
    return path


def title(settings: Mapping[str, Any]) -> str:
    """The model and the strategy, as papers name them."""
    if settings["model"] == "auto":
        return "auto"
    strategy = NAMES.get(settings["denoiser"], settings["denoiser"])
    return settings["model"] if settings["denoiser"] == "keep-all" else f"{settings['model']} with {strategy}"


def summary(results: Mapping[str, Any], settings: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The result in a sentence."""
    test, choice = results["test"], results.get("choice")
    what = title(settings) if choice is None else f"auto chose {choice['chosen']['name']}, which"
    recall = test.get("recall@20")
    if recall is None:
        return f"{title(settings)} was trained on {source_name(data['source'])}" + (
            "." if test else "; the test part is empty."
        )
    found = f"{what} puts {100 * recall:.1f} % of the items that test users went on to like into their top 20"
    noise = test.get("false_positives_recommended@20")
    return found + ("." if noise is None else f", and {100 * noise:.1f} % of the items they regretted.")


def _facts(results: Mapping[str, Any], settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[tuple[str, str]]:
    strategy = NAMES.get(settings["denoiser"], settings["denoiser"])
    choice, epoch = results.get("choice"), results["selected"].get("epoch")
    return [
        ("model", settings["model"]),
        *([("strategy", strategy)] if choice is None else []),
        ("data", source_name(data["source"])),
        ("noise is", data.get("false_positive", "not known")),
        ("users tested", f"{results['test_users']:,}"),
        ("training", f"{results['seconds']:,.0f} s"),
        *([("epoch kept", f"{epoch:.0f}")] if epoch and choice is None else []),
        *([] if choice is None else [("chosen", choice["chosen"]["name"])]),
    ]


def _tested(results: Mapping[str, Any]) -> str:
    return f"Full ranking for {counted(results['test_users'], 'user')}, over all items they had not interacted with."


def _choice(choice: Mapping[str, Any] | None) -> list[Section]:
    if choice is None:
        return []
    alone = f"To train the best plain model alone: {' '.join(plain_command(choice))}"
    points = [*choice_lines(choice), alone]
    return [Section("The choice", choice_terms(choice), HEADER, choice_rows(choice), points=points)]


def _examples(examples: pl.DataFrame | None) -> list[Section]:
    if examples is None or not examples.height:
        return []
    rows = [[user, ", ".join(has), ", ".join(best)] for user, has, best in examples.iter_rows()]
    about = "A few users, some of their items, and their top recommendations."
    return [Section("Examples", [about], ["user", "has", "recommended"], rows)]


def _course(history: pl.DataFrame, results: Mapping[str, Any]) -> list[Section]:
    if "positive_loss" not in history.columns:  # what is not trained by gradients has no such course
        return []
    kept = [
        f"The weights of epoch {results['selected']['epoch']:.0f} are kept. The loss of known noise is orange: a "
        "strategy that uses the loss can only find it where the lines are apart."
    ]
    return [Section("Training curve", kept, panels=[fluid(loss_lines(history))])]


def _provenance(settings: Mapping[str, Any], data: Mapping[str, Any], command: str) -> list[str]:
    usual = Settings().model_dump()
    changed = [f"{name} {value}" for name, value in settings.items() if value != usual.get(name) and value != {}]
    source = [f"{name} {value}" for name, value in data.items() if name != "fingerprint" and value not in ("", "0")]
    return [
        *([f"Command: {command}"] if command else []),
        f"Data: {', '.join(source)}.",
        f"Settings other than the defaults: {', '.join(changed) or 'none'}.",
    ]
