"""The events that a fitting reports."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from recsieve.progress import Advanced, Progress
from recsieve.settings import SELECT_BY


@dataclass(frozen=True)
class Trained:
    """Some steps have been taken."""

    step: int
    epoch: int
    total_steps: int
    loss: float


@dataclass(frozen=True)
class Validated:
    """The model was scored on validation data."""

    step: int
    epoch: int
    score: float
    best: bool


@dataclass(frozen=True)
class Began:
    """One of several fittings, or another part of a search, has started."""

    name: str
    number: int  # from 1
    total: int


Event = Trained | Validated | Began


def advancing(show: Progress, label: str, criterion: str = SELECT_BY) -> Callable[[Event], None]:
    """Show the steps of a fitting, or how many of several are done, with the loss and the best score as a note."""
    what, best, before, total = label, "", 0, 0

    def take(event: Event) -> None:
        nonlocal what, best, before, total
        match event:
            case Began():
                what, best = f"{label} {event.number}/{event.total} {event.name}".strip(), ""
                before, total = event.number - 1, event.total
                show(Advanced(what, before, total, even=False))
            case Validated(best=True) if not math.isnan(event.score):
                best = f"{criterion} {event.score:.4f}"
            case Trained():
                loss = "" if math.isnan(event.loss) else f"loss {event.loss:.4f}"  # a closed form has none
                note = " ".join(filter(None, [loss, best]))
                if total:
                    show(Advanced(what, before + event.step / event.total_steps, total, note=note, even=False))
                else:
                    show(Advanced(what, event.step, event.total_steps, "steps", note))

    return take
