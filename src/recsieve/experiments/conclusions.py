"""From finished runs to rows with verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.evaluation.significance import Comparison, compare_paired, holm, levels_left, verdict
from recsieve.experiments.plan import Cell, Contender
from recsieve.experiments.trial import DETECTION, VALIDATIONS
from recsieve.storage.run_folder import RunFolder

# How an epoch may be chosen, the column of the validations that says so, and which end of it is best.
SELECTIONS = {
    "own loss": ("own_loss", -1),
    "noisy validation": ("noisy", 1),
    "clean validation (oracle)": ("clean", 1),
    "best epoch on the test (oracle)": ("test", 1),
}

JUDGEMENTS = ("against_baseline", "against_popularity", "against_best_plain")
FOUND = ("base_rate", "roc_auc", "average_precision", "selected", "precision", "recall")


@dataclass(frozen=True)
class SeedRuns:
    """The runs of one strategy for one model with one kind of noise, one per seed."""

    noise: str
    model: str
    contender: Contender
    runs: list[RunFolder]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.noise, self.model, self.contender.name


def runs_of_seeds(cells: Sequence[Cell], folder: Path) -> list[SeedRuns]:
    """Group the runs of each cell by seed, in the order of the plan."""
    compared: dict[tuple[str, str, str], SeedRuns] = {}
    for cell in cells:
        key = cell.noise, cell.settings.model, cell.contender.name
        one = compared.setdefault(key, SeedRuns(cell.noise, cell.settings.model, cell.contender, []))
        one.runs.append(RunFolder(folder / cell.name))
    return list(compared.values())


def conclude(compared: Sequence[SeedRuns], metric: str) -> list[dict[str, Any]]:
    """A row for each cell: its metrics, compared with the same model without denoising, the popularity control, and the
    plain model that is best on validation data.
    """
    per_user = {one.key: read_per_user(one.runs, metric) for one in compared}
    opponents = {one.key: _opponents(one, compared) for one in compared}
    pairs = [(key, other) for key, others in opponents.items() for other in others.values()]
    comparisons = {
        pair: compare_paired(*_as_many_seeds(*(per_user[key] for key in pair)), rng=np.random.default_rng(number))
        for number, pair in enumerate(pairs)
    }
    adjusted = holm([comparison.p_value for comparison in comparisons.values()])
    judged = {
        pair: _judgement(_name(pair), comparison, p_value, level, float(per_user[pair[1]].mean()))
        for (pair, comparison), p_value, level in zip(
            comparisons.items(), adjusted.tolist(), levels_left(adjusted).tolist(), strict=True
        )
    }
    best = {noise: best_plain(compared, noise).key for noise in {one.noise for one in compared}}
    rows = []
    for one in compared:
        row = describe_runs(one) | {"best_plain": one.key == best[one.noise]}
        for kind, other in opponents[one.key].items():
            row[kind] = judged[one.key, other]
        rows.append(row)
    return rows


def best_plain(compared: Sequence[SeedRuns], noise: str) -> SeedRuns:
    """The best model on validation data without denoising, among the given ones and those in every comparison."""
    plain = [one for one in compared if one.noise == noise and one.contender.role in ("baseline", "plain model")]
    return max(plain, key=lambda one: np.mean([_on_validation(run) for run in one.runs]))


def _on_validation(run: RunFolder) -> float:
    """The score of what was selected on the validation part as it is: whatever selects, all models have that one."""
    validations, step = run.read_frame(run.path / VALIDATIONS), run.read_metrics()["selected"]["step"]
    return float(validations.filter(pl.col("step") == step)["noisy"][-1])


def _as_many_seeds(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """A model that is the same for every seed was fitted once."""
    seeds = max(len(first), len(second), 2)  # two are the fewest that can be compared
    return tuple(np.repeat(each, seeds, axis=0) if len(each) == 1 else each for each in (first, second))


def _name(pair: tuple[tuple[str, str, str], tuple[str, str, str]]) -> str:
    """What the second is called beside the first: by its strategy, or by its model where that is another."""
    (_, model, _), (_, other, strategy) = pair
    return strategy if other == model else other


def read_per_user(runs: Sequence[RunFolder], metric: str) -> NDArray[np.float64]:
    """A metric by seed and user, for the users for whom it is defined."""
    values = np.stack([run.read_frame(run.per_user)[metric].cast(pl.Float64).to_numpy() for run in runs])
    return values[:, ~np.isnan(values).any(0)]


def _opponents(one: SeedRuns, compared: Sequence[SeedRuns]) -> dict[str, tuple[str, str, str]]:
    """Whom a group is compared with, by the name of the comparison."""
    if one.contender.role in ("baseline", "plain model"):
        return {}
    alike = [other for other in compared if (other.noise, other.model) == (one.noise, one.model)]
    found = {"against_baseline": next(other.key for other in alike if other.contender.role == "baseline")}
    if one.contender.control is not None:
        found["against_popularity"] = (one.noise, one.model, one.contender.control)
    best = best_plain(compared, one.noise).key
    if one.contender.role == "strategy" and best != found["against_baseline"]:
        found["against_best_plain"] = best
    return found


def _judgement(name: str, comparison: Comparison, adjusted: float, level: float, base: float) -> dict[str, Any]:
    """A comparison as shares of the other's mean; `level` is that of false alarms after all other comparisons."""
    return {
        "against": name,
        "difference": comparison.mean_difference,
        "relative": comparison.mean_difference / base,
        "interval": [bound / base for bound in comparison.interval],
        "smallest_detectable": comparison.smallest_detectable(level) / base,
        "p_value": comparison.p_value,
        "adjusted_p": adjusted,
        "effect_size": comparison.effect_size,
        "users": comparison.n_users,
        "verdict": verdict(comparison, adjusted),
    }


def describe_runs(one: SeedRuns) -> dict[str, Any]:
    """Means and standard deviations over the seeds."""
    metrics = [run.read_metrics() for run in one.runs]
    contender = one.contender
    names = metrics[0]["test"]
    return {
        "noise": one.noise,
        "model": one.model,
        "strategy": contender.name,
        "role": contender.role,
        "denoiser": contender.strategy.denoiser,
        "options": dict(contender.strategy.denoiser_options),
        "seeds": len(metrics),
        "metrics": {name: spread([run["test"][name] for run in metrics]) for name in names},
        "epoch_selected": spread([run["selected"]["epoch"] for run in metrics]),
        "seconds": spread([run["seconds"] for run in metrics]),
        "cpu_seconds_per_epoch": spread([_cost(run) for run in metrics]),
        "selection": selection_study([run.read_frame(run.path / VALIDATIONS) for run in one.runs]),
        "detection": detection_where_selected(one.runs),
    }


def _cost(run: Mapping[str, Any]) -> float | None:
    """Seconds of a processor for an epoch and its validation; runs of earlier versions do not say."""
    return run["cpu_seconds"] / max(run["epochs_trained"], 1) if "cpu_seconds" in run else None


def detection_where_selected(runs: Sequence[RunFolder]) -> dict[str, dict[str, dict[str, float]]]:
    """How well noise was found, by score and group, at the recorded epoch closest to the selected one."""
    frames = [_nearest(run) for run in runs if (run.path / DETECTION).exists()]
    if not frames:
        return {}
    means = pl.concat(frames).group_by("score", "group", maintain_order=True).agg(pl.col(FOUND).fill_nan(None).mean())
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in means.to_dicts():
        found.setdefault(row["score"], {})[row["group"]] = {name: row[name] for name in FOUND}
    return found


def _nearest(run: RunFolder) -> pl.DataFrame:
    """The record of detection at the epoch that is nearest to the selected one."""
    selected, frame = run.read_metrics()["selected"]["epoch"], run.read_frame(run.path / DETECTION)
    return frame.filter((pl.col("epoch") - selected).abs() == (pl.col("epoch") - selected).abs().min())


def selection_study(validations: Sequence[pl.DataFrame]) -> dict[str, dict[str, float]]:
    """The test score of the epoch that each criterion would have selected."""
    return {
        name: spread([_test_where_best(frame, column, sign) for frame in validations])
        for name, (column, sign) in SELECTIONS.items()
        if all(frame[column].is_not_nan().all() for frame in validations)
    }


def _test_where_best(validations: pl.DataFrame, column: str, sign: int) -> float:
    return float(validations["test"][int(np.argmax(sign * validations[column].to_numpy()))])


def spread(values: Iterable[float | None]) -> dict[str, float]:
    """Mean and standard deviation over the seeds that have a value."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(known):
        return {"mean": float("nan"), "sd": float("nan")}
    return {"mean": float(known.mean()), "sd": float(known.std(ddof=1)) if len(known) > 1 else 0.0}
