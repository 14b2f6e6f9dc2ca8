"""What `auto` chose, among what, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recsieve.experiments.wording import percent

HEADER = ("candidate", "on validation", "against plain CE", "± standard error", "p", "")


def choice_rows(choice: Mapping[str, Any]) -> list[list[Any]]:
    """A row for each candidate, the best first."""
    return [
        [
            one["name"], one["score"], percent(one["change"]), f"{100 * one['error']:.1f} %", f"{one['p_value']:.2g}",
            "chosen" if one["name"] == choice["chosen"] else "",
        ]
        for one in choice["candidates"]
    ]  # fmt: skip


def choice_lines(choice: Mapping[str, Any]) -> list[str]:
    """What was chosen and why, in sentences."""
    lines = [f"auto chose {choice['chosen']}: {choice['reason']}", f"About noise: {choice['evidence']}"]
    if not choice["converged"]:
        lines.append("Plain CE was still improving at the last epoch allowed: with more epochs it may do better.")
    return lines
