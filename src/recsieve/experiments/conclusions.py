"""From finished runs to rows, verdicts and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.evaluation.significance import Comparison, compare_paired, holm, verdict
from recsieve.experiments.plan import Cell, Contender
from recsieve.experiments.trial import DETECTION, VALIDATIONS
from recsieve.run_folder import RunFolder

# How an epoch may be chosen, the column of the validations that says so, and which end of it is best.
SELECTIONS = {
    "own loss": ("own_loss", -1),
    "noisy validation": ("noisy", 1),
    "clean validation (oracle)": ("clean", 1),
    "best epoch on the test (oracle)": ("test", 1),
}

FOUND = ("base_rate", "roc_auc", "average_precision", "selected", "precision", "recall")


@dataclass(frozen=True)
class Group:
    """The runs of one strategy for one model on one kind of noise, a seed each."""

    noise: str
    model: str
    contender: Contender
    runs: list[RunFolder]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.noise, self.model, self.contender.name


def group_runs(cells: Sequence[Cell], folder: Path) -> list[Group]:
    """Put the seeds of each cell together, in the order of the plan."""
    groups: dict[tuple[str, str, str], Group] = {}
    for cell in cells:
        key = cell.noise, cell.settings.model, cell.contender.name
        group = groups.setdefault(key, Group(cell.noise, cell.settings.model, cell.contender, []))
        group.runs.append(RunFolder(folder / cell.name))
    return list(groups.values())


def conclude(groups: Sequence[Group], metric: str) -> list[dict[str, Any]]:
    """A row for each group: its metrics, and how it stands against plain CE and the popularity control."""
    per_user = {group.key: read_per_user(group.runs, metric) for group in groups}
    pairs = _pairs(groups)
    comparisons = {
        pair: compare_paired(per_user[pair[0]], per_user[pair[1]], rng=np.random.default_rng(number))
        for number, pair in enumerate(pairs)
    }
    adjusted = dict(zip(pairs, holm([comparison.p_value for comparison in comparisons.values()]), strict=True))
    rows = []
    for group in groups:
        row = describe_group(group)
        for kind, other in _opponents(group, groups).items():
            pair = (group.key, other)
            base = float(per_user[other].mean())
            row[kind] = _judgement(other[2], comparisons[pair], float(adjusted[pair]), base)
        rows.append(row)
    return rows


def read_per_user(runs: Sequence[RunFolder], metric: str) -> NDArray[np.float64]:
    """A metric by seed and user, for the users for whom it is defined."""
    values = np.stack([run.read_frame(run.per_user)[metric].cast(pl.Float64).to_numpy() for run in runs])
    return values[:, ~np.isnan(values).any(0)]


def _opponents(group: Group, groups: Sequence[Group]) -> dict[str, tuple[str, str, str]]:
    """Whom a group is compared with, by the name of the comparison."""
    if group.contender.role == "baseline":
        return {}
    alike = [other for other in groups if (other.noise, other.model) == (group.noise, group.model)]
    found = {"against_baseline": next(other.key for other in alike if other.contender.role == "baseline")}
    if group.contender.control is not None:
        found["against_popularity"] = (group.noise, group.model, group.contender.control)
    return found


def _pairs(groups: Sequence[Group]) -> list[tuple[tuple[str, str, str], tuple[str, str, str]]]:
    """All comparisons that are made: the family for which p-values are corrected."""
    return [(group.key, other) for group in groups for other in _opponents(group, groups).values()]


def _judgement(name: str, comparison: Comparison, adjusted: float, base: float) -> dict[str, Any]:
    return {
        "against": name,
        "difference": comparison.mean_difference,
        "relative": comparison.mean_difference / base,
        "interval": [bound / base for bound in comparison.interval],
        "smallest_detectable": comparison.smallest_detectable / base,
        "p_value": comparison.p_value,
        "adjusted_p": adjusted,
        "effect_size": comparison.effect_size,
        "users": comparison.n_users,
        "verdict": verdict(comparison, adjusted),
    }


def describe_group(group: Group) -> dict[str, Any]:
    """Means and standard deviations over the seeds."""
    metrics = [run.read_metrics() for run in group.runs]
    contender = group.contender
    names = metrics[0]["test"]
    return {
        "noise": group.noise,
        "model": group.model,
        "strategy": contender.name,
        "role": contender.role,
        "denoiser": contender.strategy.denoiser,
        "options": dict(contender.strategy.denoiser_options),
        "seeds": len(metrics),
        "metrics": {name: spread([run["test"][name] for run in metrics]) for name in names},
        "epoch_selected": spread([run["selected"]["epoch"] for run in metrics]),
        "seconds": spread([run["seconds"] for run in metrics]),
        "selection": selection_study([run.read_frame(run.path / VALIDATIONS) for run in group.runs]),
        "detection": detection_where_selected(group.runs),
    }


def detection_where_selected(runs: Sequence[RunFolder]) -> dict[str, dict[str, dict[str, float]]]:
    """How well noise was found, by score and group, at the remembered epoch next to the selected one."""
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
    """The test score of the epoch that each criterion would have chosen among those that were trained."""
    return {
        name: spread([_test_where_best(frame, column, sign) for frame in validations])
        for name, (column, sign) in SELECTIONS.items()
        if all(frame[column].is_not_nan().all() for frame in validations)
    }


def _test_where_best(validations: pl.DataFrame, column: str, sign: int) -> float:
    return float(validations["test"][int(np.argmax(sign * validations[column].to_numpy()))])


def spread(values: Sequence[float | None]) -> dict[str, float]:
    """Mean and standard deviation over the seeds, of those that are defined."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(known):
        return {"mean": float("nan"), "sd": float("nan")}
    return {"mean": float(known.mean()), "sd": float(known.std(ddof=1)) if len(known) > 1 else 0.0}


def answer(rows: Sequence[Mapping[str, Any]]) -> str:
    """The one sentence that somebody in a hurry reads."""
    judged = [row for row in rows if row["role"] == "strategy" and "against_baseline" in row]
    better = [row for row in judged if row["against_baseline"]["verdict"] == "better"]
    if not better:
        return "No denoising strategy was found to be better than plain CE on this data."
    explained = [row for row in better if row.get("against_popularity", {}).get("verdict", "better") != "better"]
    names = _listed(better)
    if not explained:
        return f"Better than plain CE on this data: {names}."
    caution = "that" if len(explained) == len(better) else _listed(explained)
    return (
        f"Better than plain CE on this data: {names}; but dropping the interactions with the least popular items does "
        f"as well, so {caution} is no evidence that noise was found."
    )


def _listed(rows: Sequence[Mapping[str, Any]]) -> str:
    several = len({(row["noise"], row["model"]) for row in rows}) > 1
    names = [
        f"{row['strategy']} ({row['model']}, {row['noise']} noise)" if several else row["strategy"] for row in rows
    ]
    return ", ".join(names)


def sentences(rows: Sequence[Mapping[str, Any]], metric: str) -> list[str]:
    """What the rows say, in plain words."""
    several = len({(row["noise"], row["model"]) for row in rows}) > 1
    lines = []
    for row in rows:
        if "against_baseline" not in row:
            continue
        where = f"{row['model']}, {row['noise']} noise: " if several else ""
        lines.append(where + _sentence(row["strategy"], row["against_baseline"], metric))
        if "against_popularity" in row:
            lines.append(where + _about_popularity(row))
    return lines


def _sentence(name: str, judged: Mapping[str, Any], metric: str) -> str:
    low, high = judged["interval"]
    found = (
        f"{name}: {judged['verdict']} than {judged['against']}"
        if judged["verdict"] != "no difference found"
        else f"{name}: no difference found to {judged['against']}"
    )
    size = f"({percent(judged['relative'])} {metric}, 95 % interval {percent(low)} … {percent(high)})"
    if judged["verdict"] != "no difference found":
        return f"{found} {size}."
    if low > 0 or high < 0:
        return f"{found} {size}: by itself it would pass, but among so many comparisons it may be chance."
    least = 100 * judged["smallest_detectable"]
    return f"{found} {size}; a difference below {least:.1f}\u00a0% could not have been shown with this data."


def _about_popularity(row: Mapping[str, Any]) -> str:
    judged = row["against_popularity"]
    beats = {
        "better": "it beats the popularity control, so popularity alone does not explain it",
        "worse": "it is worse than the popularity control",
        "no difference found": "it does not beat the popularity control: a denoiser that does not has not denoised",
    }[judged["verdict"]]
    return f"{row['strategy']} against {judged['against']}: {beats} ({percent(judged['relative'])})."


def percent(share: float) -> str:
    """A share as signed percent, with a true minus and no break before its sign."""
    return f"{100 * share:+.1f}\u00a0%".replace("-", "−")
