"""Progress on standard error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Column

from recsieve.progress import Advanced, Progress
from recsieve.training import Began, Event, Trained, Validated

WIDE = 100  # columns of a terminal from which on there is room for everything


@contextmanager
def show_progress(before: str) -> Iterator[Progress]:
    """Draw a bar with an estimate of the time left; until the first report, a line says what is done before.

    Nothing is left of either, and nothing is written where there is no terminal.
    """
    console = Console(stderr=True)
    bar = Bar(*_columns(wide=console.width >= WIDE), console=console, transient=True, expand=True)
    task = bar.add_task("", total=None, amount="", note="")
    with ExitStack() as preparing, ExitStack() as drawing:
        preparing.enter_context(console.status(before))

        def show(event: Advanced) -> None:
            if not bar.live.is_started:
                preparing.close()
                drawing.enter_context(bar)
            if event.done < bar.tasks[0].completed:  # the next of several
                bar.reset(task)
            amount, note = _amount(event), event.note
            bar.update(task, description=event.what, completed=event.done, total=event.total, amount=amount, note=note)

        yield show


def _columns(*, wide: bool) -> list[ProgressColumn]:
    """What a bar says; where there is no room for all, what is done is shortened first."""
    what = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
    amount, note = TextColumn("{task.fields[amount]}"), TextColumn("{task.fields[note]}")
    left = TimeRemainingColumn(table_column=Column(no_wrap=True, min_width=7))
    if not wide:
        return [what, BarColumn(6), amount, left, note]
    return [what, BarColumn(12), amount, TimeElapsedColumn(), TextColumn("at most"), left, TextColumn("left"), note]


def _amount(event: Advanced) -> str:
    if event.unit == "bytes":
        return f"{decimal(int(event.done))} of {decimal(int(event.total))}"
    if not event.unit:
        return f"{event.done / event.total:.0%}"
    return f"{event.done:,}/{event.total:,} {event.unit}"


@contextmanager
def training_progress(label: str, criterion: str = "ndcg@20") -> Iterator[Callable[[Event], None]]:
    """Draw how many steps are made (training may end sooner, when it stops improving), the loss and the best score."""
    with show_progress(f"{label}: reading and compiling") as show:
        what, best = label, ""

        def take(event: Event) -> None:
            nonlocal what, best
            match event:
                case Began():
                    what, best = f"{label} {event.number}/{event.total} {event.name}", ""
                    show(Advanced(what, 0, 1))
                case Validated(best=True) if not math.isnan(event.score):
                    best = f"{criterion} {event.score:.4f}"
                case Trained():
                    loss = "" if math.isnan(event.loss) else f"loss {event.loss:.4f}"  # a closed form has none
                    note = " ".join(filter(None, [loss, best]))
                    show(Advanced(what, event.step, event.total_steps, "steps", note))

        yield take
