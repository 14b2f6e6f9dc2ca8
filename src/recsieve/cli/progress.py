"""Progress on standard error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from recsieve.progress import Advanced, Progress
from recsieve.training import Began, Event, Trained, Validated


@contextmanager
def show_progress(before: str) -> Iterator[Progress]:
    """Draw a bar with an estimate of the time left; until the first report, a line says what is done before.

    Nothing is left of either, and nothing is written where there is no terminal.
    """
    console = Console(stderr=True)
    bar = Bar(
        TextColumn("{task.description}"), BarColumn(12), TextColumn("{task.fields[amount]}"), TimeElapsedColumn(),
        TextColumn("at most"), TimeRemainingColumn(), TextColumn("left {task.fields[note]}"), console=console,
        transient=True,
    )  # fmt: skip
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
                case Validated(best=True) if not math.isnan(event.score):
                    best = f"best {criterion} {event.score:.4f}"
                case Trained():
                    note = f"loss {event.loss:.4f} {best}"
                    show(Advanced(what, event.step, event.total_steps, "steps", note))

        yield take
