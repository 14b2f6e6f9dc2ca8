"""One colour for each strategy and one for noise, on every chart of every page, light or dark.

Based on Okabe and Ito's palette, which people with common colour blindness can tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable

import altair as alt

NOISE = "#d55e00"  # the warning colour: false positives, and nothing else
CLEAN = "#5b8cb8"
QUIET = "#8a97a6"
VERDICTS = {"better": "#009e73", "worse": "#b5485d", "no difference found": QUIET}
KINDS = {"true positives": CLEAN, "false positives": NOISE, "training loss": QUIET}
STRATEGIES = {
    "CE": "#8a97a6",
    "plain": "#8a97a6",
    "T-CE": "#0072b2",
    "R-CE": "#009e73",
    "auto": "#e6a800",
    "random drop": "#cc79a7",
    "least popular drop": "#7b61a8",
    "clean training (oracle)": "#56b4e9",
    "unpopular items first": "#7b61a8",  # what the control drops
    "largest losses of CE": "#6d6a75",
}
OTHERS = ("#3f7f6b", "#a8763e", "#4f5fb3", "#94a537", "#b86f9e", "#2f9fb5", "#6d6a75", "#c9a227")


def strategy_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each strategy: known ones have their own, others get the next free one, in order.

    Of several controls such as "random drop as T-CE" and "random drop as T-CE 0.2", the first has the known colour.
    """
    colours: dict[str, str] = {}
    free = iter(OTHERS * 10)
    for name in dict.fromkeys(names):
        usual = STRATEGIES.get(name.partition(" as ")[0])
        colours[name] = usual if usual and usual not in colours.values() else next(free)
    return colours


def scale(colours: dict[str, str]) -> alt.Scale:
    """Names and their colours, for an encoding."""
    return alt.Scale(domain=list(colours), range=list(colours.values()))
