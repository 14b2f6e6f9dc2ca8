"""Does `auto` help, and does it ever hurt? Held against early-stopped plain CE, with several seeds, on a clean test.

python -m research.studies.auto findings/ml-100k.toml runs/auto/ml-100k findings/auto/ml-100k.json

The first argument is a comparison's configuration, of which the data, the seeds and the budget are taken; the second
a folder for trainings, which are not repeated; the third the result. A fourth takes the place of the seeds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.auto import Candidate
from recsieve.auto.recipes import PLAIN
from recsieve.cli.task_progress import task_progress
from recsieve.data.splitting import Split
from recsieve.data.statistics import describe
from recsieve.evaluation import evaluate
from recsieve.evaluation.significance import compare_paired
from recsieve.experiments.config import ComparisonConfig, Strategy, read_config
from recsieve.experiments.pool import Progress, Reporter, run_all
from recsieve.experiments.study import how_made, load_split, write_result
from recsieve.models import Scorer
from recsieve.recommender import Recommender

LABELLED, CONTROL = "5 % labels", "popularity control"
# What `auto` may look at. The control gets the same probabilities of noise, handed out by unpopularity alone.
SETTINGS: dict[str, dict[str, Any]] = {
    "no labels": {"labels": 0.0},
    LABELLED: {"labels": 0.05},
    CONTROL: {"labels": 0.05, "evidence": "popularity"},
}
CHOSEN = "auto"
# What is held against the control, where it is among the candidates: the choice, weights alone, and the offset alone.
CONTROLLED = (CHOSEN, "CE, weights 1−P", "CE + log(1−P)")
METRIC = "ndcg@20"


@dataclass(frozen=True)
class SeedTask:
    """Every setting with one seed, one after the other, for they share trainings."""

    config: ComparisonConfig
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
        split, left = _load(self.config), self.left()
        for name in left:
            _run(split, self.config, self.folder, self.seed, name, reporter)
            reporter.tell(len(SETTINGS) - len(left) + left.index(name) + 1)


def run_study(
    config: ComparisonConfig, folder: Path, out: Path, command: str, progress: Progress | None = None
) -> dict[str, Any]:
    """Run every seed that is not there yet, and write the result."""
    started = time.perf_counter()
    tasks = [SeedTask(config, seed, folder / str(seed)) for seed in range(config.seeds)]
    run_all(tasks, config.workers, progress, most=len(SETTINGS), unit="setting", noun="seeds")
    tried = {name: Strategy(denoiser="auto", denoiser_options=options) for name, options in SETTINGS.items()}
    result = how_made(config.model_copy(update={"strategies": tried}), command, started)
    result |= {"facts": describe(_load(config).train), "metric": METRIC}
    result["settings"] = {name: _conclude(folder, config.seeds, name) for name in SETTINGS}
    result["against_control"] = _control(folder, config.seeds)
    write_result(out, result)
    return result


def _load(config: ComparisonConfig) -> Split:
    return load_split(config.data, None, ("train", "validation", "test"), "auto is tried")


def _run(split: Split, config: ComparisonConfig, place: Path, seed: int, name: str, reporter: Reporter) -> None:
    """One choice, and what every candidate is worth on the test, which the choice knows nothing of."""
    budget = {key: getattr(config, key) for key in ("epochs", "patience", "batch_size", "learning_rate", "negatives")}
    recommender = Recommender(config.models[0], "auto", denoiser_options=SETTINGS[name], seed=seed, **budget)
    checkpoint = place / "state.safetensors"
    contest = recommender.contest(split, progress=lambda event: reporter.check(), checkpoint=checkpoint, resume=True)
    seen = split.train.csr.union(split.validation.csr)
    tested = {_kind(one): _test(contest.model(one), split, seen) for one in contest.choice.candidates}
    tested[CHOSEN] = tested[_kind(contest.choice.chosen)]
    write_result(place / f"{_slug(name)}.json", contest.choice.as_dict())
    pl.DataFrame(tested).write_parquet(place / f"{_slug(name)}.parquet")


def _test(model: Scorer, split: Split, seen: Any) -> NDArray[np.float64]:
    return evaluate(model, split.test.csr, seen, [20]).per_user[METRIC]


def _conclude(folder: Path, seeds: int, name: str) -> dict[str, Any]:
    """What was chosen with each seed, how it did on the test against plain CE, and how all the others did."""
    frames = _frames(folder, seeds, name)
    choices = [json.loads((folder / str(seed) / f"{_slug(name)}.json").read_text("utf-8")) for seed in range(seeds)]
    plain = _of_users(frames, PLAIN.name)
    return {
        "labels": [choice["labels"] for choice in choices],
        "evidence": choices[0]["evidence"],
        "converged": all(choice["converged"] for choice in choices),
        "chosen": [choice["chosen"] for choice in choices],
        "auto": _against(_of_users(frames, CHOSEN), plain),
        "candidates": [_candidate(kind, frames, choices, plain) for kind in frames[0].columns if kind != CHOSEN],
    }


def _control(folder: Path, seeds: int) -> dict[str, Any]:
    """What labels gain beyond the control, which has the same probabilities by unpopularity."""
    labelled, control = (_frames(folder, seeds, name) for name in (LABELLED, CONTROL))
    known = [kind for kind in CONTROLLED if kind in labelled[0].columns and kind in control[0].columns]
    return {kind: _against(_of_users(labelled, kind), _of_users(control, kind)) for kind in known}


def _frames(folder: Path, seeds: int, name: str) -> list[pl.DataFrame]:
    return [pl.read_parquet(folder / str(seed) / f"{_slug(name)}.parquet") for seed in range(seeds)]


def _of_users(frames: Sequence[pl.DataFrame], kind: str) -> NDArray[np.float64]:
    """The test score of each user: (seeds, users)."""
    return np.array([frame[kind].to_numpy() for frame in frames])


def _against(method: NDArray[np.float64], plain: NDArray[np.float64]) -> dict[str, Any]:
    """The change of the test score against another: (seeds, users), the same users of both."""
    base = float(plain.mean())
    changes = method.mean(1) / plain.mean(1) - 1
    result = {
        "plain": base,
        "score": float(method.mean()),
        "changes": changes.tolist(),
        "change": method.mean() / base - 1,
    }
    if np.ptp(method - plain) == 0:
        return result | {"interval": [0.0, 0.0], "p_value": 1.0}
    comparison = compare_paired(method, plain, rng=np.random.default_rng(0))
    return result | {"interval": [bound / base for bound in comparison.interval], "p_value": comparison.p_value}


def _candidate(
    kind: str, frames: Sequence[pl.DataFrame], choices: Sequence[Mapping[str, Any]], plain: NDArray[np.float64]
) -> dict[str, Any]:
    rated = [next(one for one in choice["candidates"] if _kind(one) == kind) for choice in choices]
    test = _against(_of_users(frames, kind), plain)
    return {
        "candidate": kind,
        "gammas": [one["gamma"] for one in rated],
        "validation_change": float(np.mean([one["change"] for one in rated])),
        "test_change": test["change"],
        "test_changes": test["changes"],
    }


def _kind(candidate: Candidate | Mapping[str, Any]) -> str:
    """A candidate's name without its γ, which differs from seed to seed."""
    one = asdict(candidate) if isinstance(candidate, Candidate) else candidate
    parts = [one["training"], *(["γ·log popularity"] if one["gamma"] else []), *(["log(1−P)"] if one["noise"] else [])]
    return " + ".join(parts)


def _slug(name: str) -> str:
    return name.replace(" %", "").replace(" ", "-")


if __name__ == "__main__":
    given, runs, target = map(Path, sys.argv[1:4])
    words = " ".join(["python -m research.studies.auto", *sys.argv[1:]])
    seeds = {"seeds": int(sys.argv[4])} if len(sys.argv) > 4 else {}
    with task_progress() as progress:
        run_study(read_config(given, **seeds), runs, target, words, progress)
