"""What a fitting tells of its course."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from recsieve.progress import Advanced, Progress
from recsieve.settings import SELECT_BY


@dataclass(frozen=True)
class Trained:
    """Some steps have been made."""

    step: int
    epoch: int
    total_steps: int
    loss: float


@dataclass(frozen=True)
class Validated:
    """The model was judged on validation data."""

    step: int
    epoch: int
    score: float
    best: bool


@dataclass(frozen=True)
class Began:
    """One of several fittings has begun, or what else there is to do before the last of them."""

    name: str
    number: int  # from 1
    total: int


Event = Trained | Validated | Began


def advancing(show: Progress, label: str, criterion: str = SELECT_BY) -> Callable[[Event], None]:
    """Show a fitting, or several in turn, as steps made, with the loss and the best score as a note."""
    what, best = label, ""

    def take(event: Event) -> None:
        nonlocal what, best
        match event:
            case Began():
                what, best = f"{label} {event.number}/{event.total} {event.name}".strip(), ""
                show(Advanced(what, 0, 1))
            case Validated(best=True) if not math.isnan(event.score):
                best = f"{criterion} {event.score:.4f}"
            case Trained():
                loss = "" if math.isnan(event.loss) else f"loss {event.loss:.4f}"  # a closed form has none
                show(Advanced(what, event.step, event.total_steps, "steps", " ".join(filter(None, [loss, best]))))

    return take
