"""Tunes the options of a model and of each strategy: the same number of trials for all, on validation data only."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import tomli_w
from optuna.trial import TrialState

from recsieve.checking import make_settings
from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.splitting import Split
from recsieve.data.statistics import fingerprint
from recsieve.errors import DivergedError
from recsieve.experiments.pool import Progress, run_all
from recsieve.experiments.run import check_same
from recsieve.experiments.search import (
    StudyTask,
    any_complete,
    common_settings,
    ended,
    importance,
    open_study,
    title_of,
    trials_table,
)
from recsieve.experiments.settings import TuningConfig
from recsieve.experiments.source import DataSource
from recsieve.experiments.space import in_words
from recsieve.experiments.study import check_folder, how_made, require_shared, require_split, write_result, writing
from recsieve.experiments.tables import write_table
from recsieve.experiments.wording import percent
from recsieve.files import write_text
from recsieve.preparation import check_possible
from recsieve.settings import Common
from recsieve.storage.run_folder import RunFolder

RESULT = "tuning.json"


def run_tuning(
    config: TuningConfig,
    out: Path,
    *,
    split: Split | None = None,
    command: str = "",
    progress: Progress | None = None,
    write_page: Callable[[Path], object] = lambda folder: None,
    group: Communicator = SINGLE_PROCESS,
) -> dict[str, Any]:
    """Make the trials that are left, and write tuning.json, the table of trials, and a comparison to run next.

    In a group, each rank makes those of some strategies, and only the first has a result.
    """
    started, data = time.perf_counter(), out / "data"
    with writing(out, partial(check_folder, what="tuning"), group):
        if group.is_first:
            _prepare(config, data, split)
        require_shared(out, group)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        tasks = [StudyTask(name, config, data, out) for name in config.strategies]
        run_all(tasks, config.workers, progress, most=config.trials, unit="trial", noun="strategies", group=group)
        if not group.is_first:
            return {}
        found = [_describe(open_study(out, name), config.model, name) for name in config.strategies]
        result = how_made(config, command, started) | {"strategies": found, "advice": advice(found, config.select_by)}
        write_result(out / RESULT, result)
        studies = [open_study(out, name) for name in config.strategies]
        write_table(trials_table(studies, config.model), out / "tables" / "trials")
        write_text(out / "compare.toml", tomli_w.dumps(comparison_of(config, found)))
        write_page(out)
    return result


def _prepare(config: TuningConfig, folder: Path, split: Split | None) -> None:
    """Write the split once, and refuse another in the same folder."""
    split = require_split(config.data, split, ("train", "validation"), "options are chosen")
    run = RunFolder(folder)
    settings = make_settings(common_settings(config))
    for strategy in config.strategies:
        check_possible(settings.model_copy(update={"denoiser": strategy}), split)
    about = {"fingerprint": fingerprint(split.train)}
    if run.exists:
        check_same(run, settings, about["fingerprint"])
    else:
        run.write_split(split)
        run.write_config(settings, about)


def _describe(study: optuna.Study, model: str, denoiser: str) -> dict[str, Any]:
    """The best trial of a strategy, in words, and which options mattered."""
    if not any_complete(study):
        raise DivergedError(
            f"no trial of {title_of(model, denoiser)} ended with weights, all of them diverged: give another model or "
            "other model options, in another folder with --out."
        )
    best = study.best_trial
    found = best.user_attrs["found"]
    rate = {name: found[name] for name in ("learning_rate",) if name in found}
    return {
        "denoiser": denoiser,
        "title": title_of(model, denoiser),
        "score": best.value,
        "epoch": best.user_attrs["epoch"],
        "options": found["denoiser_options"],
        "model_options": found["model_options"],
        **rate,
        "in_words": in_words(denoiser, found["denoiser_options"], found["model_options"] | rate),
        "trials": ended(study),
        "pruned": sum(trial.state == TrialState.PRUNED for trial in study.trials),
        "importance": importance(study),
    }


def advice(found: Sequence[dict[str, Any]], metric: str) -> list[str]:
    """A sentence for each strategy, and a caution."""
    plain = next((entry["score"] for entry in found if entry["denoiser"] == "keep-all"), None)
    best = max(found, key=lambda entry: entry["score"])
    lines = [f"Best on validation: {best['title']}, {best['in_words']}."]
    for entry in found:
        line = f"{entry['title']}: {entry['in_words']} (validation {metric} {entry['score']:.4f}"
        if plain and entry["denoiser"] != "keep-all":
            line += f", {percent(entry['score'] / plain - 1)} compared with the best plain training"
        line += ")."
        if plain and entry["denoiser"] != "keep-all" and entry["score"] <= plain:
            line += " No options were found that beat plain training on validation."
        if entry["importance"]:
            name, share = max(entry["importance"].items(), key=lambda pair: pair[1])
            line += f" The most important option was {name} ({100 * share:.0f} %)."
        lines.append(line)
    lines.append(
        "The best of many trials on the same validation data looks better than it is. `recsieve compare` with "
        "compare.toml tests these options with several seeds."
    )
    return lines


def comparison_of(config: TuningConfig, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The comparison that tests whether the tuned options help."""
    strategies = {
        entry["title"]: {
            "denoiser": entry["denoiser"],
            "denoiser_options": entry["options"],
            "model_options": entry["model_options"],
            **({"learning_rate": entry["learning_rate"]} if "learning_rate" in entry else {}),
        }
        for entry in found
    }
    data = {} if config.data is None else {"data": _absolute(config.data)}
    same = config.model_dump(include=set(Common.model_fields), exclude_none=True)
    return {"models": [config.model], **same, **data, "strategies": strategies}


def _absolute(source: DataSource) -> dict[str, Any]:
    """Where the data is, for a file in another folder."""
    values = asdict(source)
    return {
        name: str(value.resolve()) if isinstance(value, Path) else value
        for name, value in values.items()
        if value is not None
    }
