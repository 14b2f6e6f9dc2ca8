"""What `auto` chose, from which candidates, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recsieve.display import counted
from recsieve.experiments.wording import percent

HEADER = ("candidate", "score", "change", "±", "p", "")
LISTED = 6


def choice_rows(choice: Mapping[str, Any]) -> list[list[Any]]:
    """The best candidates, the best first, with the chosen one and the best plain model."""
    marks = {choice["plain"]["name"]: "best plain", choice["chosen"]["name"]: "chosen"}
    shown = [one for place, one in enumerate(choice["candidates"]) if place < LISTED or one["name"] in marks]
    return [
        [
            one["name"], one["score"], percent(one["change"]), f"{100 * one['error']:.1f} %", f"{one['p_value']:.2g}",
            marks.get(one["name"], ""),
        ]
        for one in shown
    ]  # fmt: skip


def choice_lines(choice: Mapping[str, Any]) -> list[str]:
    """What was tried and chosen, why, and what denoising gained, in sentences."""
    chosen, plain = choice["chosen"], choice["plain"]
    return [
        f"auto fitted {counted(choice['tried'], 'model')} ({choice['planned']} plain models planned) and chose "
        f"{chosen['name']}: {choice['reason']}",
        *(["Fewer models than planned were fitted: a longer --budget allows more."] if _cut_short(choice) else []),
        f"The best plain model is {plain['name']}, with {plain['score']:.4f} {choice['criterion']}"
        + (f"; popularity has {choice['popularity']:.4f}." if choice["popularity"] is not None else "."),
        _worth_of_denoising(choice),
        f"Noise: {choice['evidence']}",
    ]


def _cut_short(choice: Mapping[str, Any]) -> bool:
    return bool(choice["tried"] < choice["planned"])


TERMS = {
    "1−P": "P is the estimated probability that an interaction is noise. 1−P is used as its weight in training, and "
    "log(1−P) is added to the score of a pair.",
    "log popularity": "The number before log popularity is γ: above 0, the ranking favours popular items; below 0, "
    "rare items.",
    "change": "Change is the relative difference from the best plain model on validation data, over users. ± is its "
    "standard error, and p is the probability of a difference this large by chance.",
}


def choice_terms(choice: Mapping[str, Any]) -> list[str]:
    """Explanations of the terms that occur in the table of candidates."""
    names = " ".join(str(row[0]) for row in choice_rows(choice))
    return [text for term, text in TERMS.items() if term == "change" or term in names]


def _worth_of_denoising(choice: Mapping[str, Any]) -> str:
    chosen, without = choice["chosen"], choice["without_denoising"]
    if without is None and not any(_denoises(one["candidate"]) for one in choice["candidates"]):
        needed = "" if choice["labels"] else " Most of it needs labels: give a rule with --false-positive."
        return f"Denoising: none was tried.{needed}"
    if without is None:
        return "Denoising: it was not convincingly better on validation data."
    gain = (chosen["score"] - without["score"]) / without["score"] if without["score"] else float("nan")
    return (
        f"Denoising: {percent(gain)} on validation data compared with the same without denoising ({without['name']})."
    )


def _denoises(candidate: Mapping[str, Any]) -> bool:
    return bool(candidate["c"]) or any(one["weighted"] or one["denoiser"] != "keep-all" for one in candidate["specs"])


def plain_command(choice: Mapping[str, Any]) -> list[str]:
    """The command that trains the best plain model alone, an option and its value as one word."""
    spec = choice["plain"]["candidate"]["specs"][0]
    options = [
        f"--{name.replace('_', '-')} {value:g}" if isinstance(value, float) else f"--{name.replace('_', '-')} {value}"
        for name, value in {**spec["training"], **spec["model_options"]}.items()
        if not isinstance(value, Mapping)
    ]
    named = [f"--model {spec['model']}", f"--denoiser {spec['denoiser']}"]
    return ["recsieve", "train", "LOG", *named, *options, "--final"]
