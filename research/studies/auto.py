"""Is `auto` better than the best plain model, and is it ever worse? With several seeds, on a clean test.

python -m research.studies.auto findings/ml-100k.toml runs/auto/ml-100k findings/auto/ml-100k.json 3

The first argument is a comparison's configuration, of which the data and the seeds are taken; the second a folder for
trainings, which are not repeated; the third the result. A fourth takes the place of the seeds. Both sides are fitted
again on training and validation. The plan is a number of trials, not a time, so that no number depends on how busy the
machine is, and without models that are trained by gradients, which would take most of the time.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel

from recsieve.auto import Candidate, Choice, Spec
from recsieve.cli.task_progress import task_progress
from recsieve.data.splitting import Split
from recsieve.data.statistics import describe
from recsieve.evaluation import evaluate
from recsieve.evaluation.significance import compare_paired, verdict
from recsieve.experiments.config import read_config
from recsieve.experiments.pool import Progress, Reporter, run_all
from recsieve.experiments.settings import ComparisonConfig
from recsieve.experiments.source import DataSource
from recsieve.experiments.study import how_made, require_split, write_result
from recsieve.recommender import Recommender

LABELLED, CONTROL = "5 % labels", "popularity control"
# What `auto` may look at. The control gets the same probabilities of noise, handed out by unpopularity alone.
SETTINGS: dict[str, dict[str, Any]] = {
    "no labels": {"labels": 0.0},
    LABELLED: {"labels": 0.05},
    CONTROL: {"labels": 0.05, "evidence": "popularity"},
}
METRIC = "ndcg@20"
Tested = dict[str, NDArray[np.float64]]  # the test score of each user, by what was tested
AUTO, REFERENCE, WITHOUT, POPULARITY = "auto", "reference", "without denoising", "popularity"


class AutoStudy(BaseModel):
    """What decides the numbers of a study, beside the code."""

    data: DataSource | None
    seeds: int
    validation_users: int | None  # by whom sweeps of iALS are stopped early
    trials: int = 12
    candidates: list[str] = ["ease", "ials", "rp3beta", "itemknn", "popularity"]

    def recommender(self, seed: int, options: Mapping[str, Any]) -> Recommender:
        given = self.model_dump(include={"trials", "candidates", "validation_users"})
        return Recommender(denoiser_options=dict(options), seed=seed, **given)

    def load(self) -> Split:
        return require_split(self.data, None, ("train", "validation", "test"), "auto is tried")


@dataclass(frozen=True)
class SeedTask:
    """Every setting with one seed, one after the other, for they share plain models and the trainings of the audit."""

    study: AutoStudy
    seed: int
    folder: Path

    @property
    def name(self) -> str:
        return f"seed {self.seed}"

    @property
    def finished(self) -> bool:
        return not self.left()

    def left(self) -> list[str]:
        """The settings that are not there yet."""
        return [name for name in SETTINGS if not (self.folder / f"{_slug(name)}.parquet").exists()]

    def run(self, reporter: Reporter) -> None:
        split, left = self.study.load(), self.left()
        tested: Tested = {}
        for name in left:
            self._run(name, split, reporter, tested)
            reporter.tell(len(SETTINGS) - len(left) + left.index(name) + 1)

    def _run(self, name: str, split: Split, reporter: Reporter, known: Tested) -> None:
        """One choice, and what it and what it is held against are worth on the test, which it knows nothing of."""
        started = time.process_time()
        recommender, place = self.study.recommender(self.seed, SETTINGS[name]), self.folder / _slug(name)
        for earlier in list(SETTINGS)[: list(SETTINGS).index(name)]:
            _share(self.folder / _slug(earlier) / "auto", place / "auto")
        selection = recommender.select(
            split, progress=lambda event: reporter.check(), checkpoint=place / "state.safetensors", resume=True
        )
        seen, choice, tested = split.train.csr.union(split.validation.csr), selection.choice, {}
        for kind, candidate in _compared(choice).items():
            reporter.check()
            key = f"{name} {candidate.name}" if candidate.denoises else candidate.name
            if key not in known:
                scorer = selection.scorer("validated", recommender.refit, candidate)
                known[key] = evaluate(scorer, split.test.csr, seen, [20]).per_user[METRIC]
            tested[kind] = known[key]
        seconds = time.process_time() - started
        write_result(self.folder / f"{_slug(name)}.json", _told(choice) | {"seconds": seconds})
        pl.DataFrame(tested).write_parquet(self.folder / f"{_slug(name)}.parquet")


def _share(made: Path, place: Path) -> None:
    """Take over from another setting what no label changes: plain models, and the short trainings of the audit."""
    for part in ("plain", "audit"):
        if (made / part).exists():
            shutil.copytree(made / part, place / part, dirs_exist_ok=True)


def _compared(choice: Choice) -> dict[str, Candidate]:
    """The choice, and what it is held against; without its denoising it is itself where it does nothing about noise."""
    chosen = choice.chosen.candidate
    return {
        AUTO: chosen,
        REFERENCE: choice.plain.candidate,
        WITHOUT: chosen.without_denoising() if chosen.denoises else chosen,
        POPULARITY: Candidate((Spec("popularity"),)),
    }


def _told(choice: Choice) -> dict[str, Any]:
    """What is kept of a choice."""
    return {
        "chosen": choice.chosen.name,
        "reference": choice.plain.name,
        "denoises": choice.chosen.candidate.denoises,
        "validation_change": choice.chosen.change,
        "p_value": choice.chosen.p_value,
        "labels": choice.labels,
        "evidence": choice.evidence,
    }


def run_study(
    config: ComparisonConfig, folder: Path, out: Path, command: str, progress: Progress | None = None
) -> dict[str, Any]:
    """Run every seed that is not there yet, and write the result."""
    started = time.perf_counter()
    study = AutoStudy(data=config.data, seeds=config.seeds, validation_users=config.validation_users)
    tasks = [SeedTask(study, seed, folder / str(seed)) for seed in range(study.seeds)]
    run_all(tasks, config.workers, progress, most=len(SETTINGS), unit="setting", noun="seeds")
    result = how_made(study, command, started)
    result |= {"facts": describe(study.load().train), "metric": METRIC}
    result["settings"] = {name: _conclude(folder, study.seeds, name) for name in SETTINGS}
    labelled, control = (_tested(folder, study.seeds, name)[AUTO] for name in (LABELLED, CONTROL))
    result["against_control"] = _against(labelled, control)
    write_result(out, result)
    return result


def _conclude(folder: Path, seeds: int, name: str) -> dict[str, Any]:
    """What was chosen with each seed, the levels on the test, and the change against the reference."""
    tested = _tested(folder, seeds, name)
    choices = [json.loads((folder / str(seed) / f"{_slug(name)}.json").read_text("utf-8")) for seed in range(seeds)]
    denoises = any(one["denoises"] for one in choices)
    changes = tested[AUTO].mean(1) / tested[REFERENCE].mean(1) - 1
    return {
        "levels": {kind: float(of_users.mean()) for kind, of_users in tested.items()},
        "against_reference": _against(tested[AUTO], tested[REFERENCE]),
        "denoising": _against(tested[AUTO], tested[WITHOUT]) if denoises else None,
        "seeds": [
            one | {"level": float(level), "test_change": float(change)}
            for one, level, change in zip(choices, tested[AUTO].mean(1), changes, strict=True)
        ],
    }


def _tested(folder: Path, seeds: int, name: str) -> dict[str, NDArray[np.float64]]:
    """The test score of each user, by what was tested: (seeds, users)."""
    frames: Sequence[pl.DataFrame] = [
        pl.read_parquet(folder / str(seed) / f"{_slug(name)}.parquet", glob=False) for seed in range(seeds)
    ]
    return {kind: np.array([frame[kind].to_numpy() for frame in frames]) for kind in frames[0].columns}


def _against(method: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, Any]:
    """The change of the test score against another: (seeds, users), the same users of both."""
    base, compared = float(other.mean()), compare_paired(method, other, rng=np.random.default_rng(0))
    return {
        "change": compared.relative_difference,
        "interval": [bound / base for bound in compared.interval],
        "p_value": compared.p_value,
        "verdict": verdict(compared, compared.p_value),
    }


def _slug(name: str) -> str:
    return name.replace(" %", "").replace(" ", "-")


if __name__ == "__main__":
    given, runs, target = map(Path, sys.argv[1:4])
    words = " ".join(["python -m research.studies.auto", *sys.argv[1:]])
    seeds = {"seeds": int(sys.argv[4])} if len(sys.argv) > 4 else {}
    with task_progress() as progress:
        run_study(read_config(given, **seeds), runs, target, words, progress)
