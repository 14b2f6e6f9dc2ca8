"""The results of a comparison in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def answer(rows: Sequence[Mapping[str, Any]], metric: str) -> str:
    """The answer in short: does denoising help the same model, and does it beat the best plain model?"""
    return " ".join([_about_denoising(rows), *_about_best_plain(rows, metric)])


def _about_denoising(rows: Sequence[Mapping[str, Any]]) -> str:
    judged = [row for row in rows if row["role"] == "strategy" and "against_baseline" in row]
    better = [row for row in judged if row["against_baseline"]["verdict"] == "better"]
    if not better:
        return "No denoising strategy was found to be better than the same model without it on this data."
    explained = [row for row in better if row.get("against_popularity", {}).get("verdict", "better") != "better"]
    names = _listed(better)
    if not explained:
        return f"Better than the same model without it on this data: {names}."
    which = "it" if len(better) == 1 else _listed(explained)
    return (
        f"Better than the same model without it on this data: {names}; but {which} was not shown to be better than "
        "dropping the interactions with the least popular items, so it may not have found noise."
    )


def _about_best_plain(rows: Sequence[Mapping[str, Any]], metric: str) -> list[str]:
    """A sentence for each kind of noise in which the best plain model is another than those that were denoised."""
    told = []
    for row in rows:
        beside = [other for other in rows if other["noise"] == row["noise"] and "against_best_plain" in other]
        if not (row.get("best_plain") and beside):
            continue
        better = [other for other in beside if other["against_best_plain"]["verdict"] == "better"]
        said = f"better than it: {_listed(better)}" if better else "no denoised model was found to be better than it"
        where = f", {row['noise']} noise" if len({other["noise"] for other in rows}) > 1 else ""
        score = row["metrics"][metric]["mean"]
        told.append(f"The best plain model is {row['model']} ({metric} {score:.4f}{where}); {said}.")
    return told


def _listed(rows: Sequence[Mapping[str, Any]]) -> str:
    several = len({(row["noise"], row["model"]) for row in rows}) > 1
    names = [
        f"{row['strategy']} ({row['model']}, {row['noise']} noise)" if several else row["strategy"] for row in rows
    ]
    return ", ".join(names)


def sentences(rows: Sequence[Mapping[str, Any]], metric: str) -> list[str]:
    """The rows in plain words."""
    several = len({(row["noise"], row["model"]) for row in rows if "against_baseline" in row}) > 1
    lines = []
    for row in rows:
        if "against_baseline" not in row:
            continue
        where = f"{row['model']}, {row['noise']} noise: " if several else ""
        lines.append(where + _sentence(row["strategy"], row["against_baseline"], metric))
        if "against_popularity" in row:
            lines.append(where + _about_popularity(row))
        if "against_best_plain" in row:
            judged = row["against_best_plain"]
            known = judged | {"against": f"{judged['against']} (the best plain model on validation)"}
            lines.append(where + _sentence(f"{row['strategy']} with {row['model']}", known, metric))
    return lines


def _sentence(name: str, judged: Mapping[str, Any], metric: str) -> str:
    low, high = judged["interval"]
    if low == high == 0:
        return f"{name}: exactly the same results as {judged['against']}."
    found = (
        f"{name}: {judged['verdict']} than {judged['against']}"
        if judged["verdict"] != "no difference found"
        else f"{name}: no difference from {judged['against']} found"
    )
    size = f"({percent(judged['relative'])} {metric}, 95 % interval {percent(low)} … {percent(high)})"
    if judged["verdict"] != "no difference found":
        return f"{found} {size}."
    if low > 0 or high < 0:
        return f"{found} {size}: significant on its own, but not after correcting for the number of comparisons."
    least = 100 * judged["smallest_detectable"]
    return f"{found} {size}; a difference below {least:.1f}\u00a0% could not have been detected with this data."


def _about_popularity(row: Mapping[str, Any]) -> str:
    judged = row["against_popularity"]
    beats = {
        "better": "it beats the popularity control, so the gain is not just popularity",
        "worse": "it is worse than the popularity control",
        "no difference found": "it was not shown to beat the popularity control, so it may not have found noise",
    }[judged["verdict"]]
    low, high = judged["interval"]
    size = f"({percent(judged['relative'])}, 95 % interval {percent(low)} … {percent(high)})"
    return f"{row['strategy']} against {judged['against']}: {beats} {size}."


def percent(share: float) -> str:
    """A share as signed percent, with a real minus sign and no line break before %."""
    rounded = round(100 * share, 1) + 0.0  # no −0.0
    return f"{rounded:+.1f}\u00a0%".replace("-", "−")


def shown(value: float | str) -> str:
    """The value of an option."""
    return value if isinstance(value, str) else f"{value:g}"


def duration(seconds: float) -> str:
    """Seconds in words."""
    seconds = max(0.0, seconds)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
