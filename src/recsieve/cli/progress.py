"""Training progress on standard error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from recsieve.training import Began, Event, Trained, Validated


@contextmanager
def training_progress(label: str, criterion: str = "ndcg@20") -> Iterator[Callable[[Event], None]]:
    """Draw a bar with an estimate of the time left (training may end sooner, when it stops improving).

    Until the first step, while data is read and kernels are compiled, a line says so; nothing is left of it.
    """
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.completed}/{task.total} steps"),
        TimeElapsedColumn(), TextColumn("of at most"), TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
        console=console,
    )  # fmt: skip
    task = bar.add_task(label, total=None, note="")
    best = ""
    with ExitStack() as preparing, ExitStack() as drawing:
        preparing.enter_context(console.status(f"{label}: reading and compiling"))

        def show(event: Event) -> None:
            nonlocal best
            if not bar.live.is_started:
                preparing.close()
                drawing.enter_context(bar)
            match event:
                case Trained():
                    note = f"loss {event.loss:.4f} {best}"
                    bar.update(task, completed=event.step, total=event.total_steps, note=note)
                case Validated(best=True) if not math.isnan(event.score):
                    best = f"best {criterion} {event.score:.4f}"
                case Began():
                    best = ""
                    bar.reset(
                        task, total=None, note="", description=f"{label} {event.number}/{event.total} {event.name}"
                    )

        yield show


@contextmanager
def users_progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Draw a bar of users done, with an estimate of the time left; until the first, a line says what is going on."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.completed:,}/{task.total:,} users"),
        TimeElapsedColumn(), TextColumn("about"), TimeRemainingColumn(), TextColumn("left"), console=console,
    )  # fmt: skip
    with ExitStack() as preparing, ExitStack() as drawing:
        preparing.enter_context(console.status(f"{label}: reading and compiling"))
        task = None

        def show(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                preparing.close()
                drawing.enter_context(bar)
                task = bar.add_task(label, completed=done, total=total)
            bar.update(task, completed=done)

        yield show
