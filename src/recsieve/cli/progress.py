"""Progress on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from recsieve.progress import Advanced, Progress
from recsieve.settings import SELECT_BY
from recsieve.training import Event
from recsieve.training.events import advancing

WIDE = 100  # columns of a terminal from which on there is room for everything
OFTEN = 15.0  # seconds between the lines that are written where there is no terminal


@contextmanager
def show_progress(before: str) -> Iterator[Progress]:
    """Draw a bar with the time passed and left; until the first report, a line says what is done before.

    Nothing is left of either. Where there is no terminal, as on a pipe or in CI, a plain line is written now and then.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console).show
        return
    bar = Bar(*_columns(wide=console.width >= WIDE), console=console, transient=True, expand=True)
    task = bar.add_task("", total=None, amount="", note="")
    with ExitStack() as preparing, ExitStack() as drawing:
        preparing.enter_context(console.status(before))

        def show(event: Advanced) -> None:
            if not bar.live.is_started:
                preparing.close()
                drawing.enter_context(bar)
            if event.done < bar.tasks[0].completed or event.what != bar.tasks[0].description:  # the next of several
                bar.reset(task)
            bar.update(
                task, description=event.what, completed=event.done, total=event.total, amount=_amount(event),
                note=event.note,
            )  # fmt: skip

        yield show


class _Lines:
    """Progress as plain lines: what takes no time says nothing."""

    def __init__(self, console: Console) -> None:
        self.console, self.began, self.said = console, time.monotonic(), time.monotonic()

    def show(self, event: Advanced) -> None:
        now = time.monotonic()
        if now - self.said >= OFTEN:
            self.said = now
            told = ", ".join(filter(None, [_amount(event), f"{_clock(now - self.began)} so far", event.note]))
            self.console.print(f"{event.what}: {told}", highlight=False, markup=False, soft_wrap=True)


class _Times(ProgressColumn):
    """For how long it has been going on, and how long it will take at most."""

    def render(self, task: Task) -> Text:
        left = "" if task.time_remaining is None else f", {_clock(task.time_remaining)} left"
        return Text(f"{_clock(task.elapsed or 0)}{left}", style="progress.elapsed")


def _clock(seconds: float) -> str:
    hours, minutes = int(seconds // 3600), int(seconds // 60) % 60
    return f"{hours}:{minutes:02}:{int(seconds) % 60:02}" if hours else f"{minutes}:{int(seconds) % 60:02}"


def _columns(*, wide: bool) -> list[ProgressColumn]:
    """What a bar says; where there is no room for all, how far it is is a share, and what is done is shortened."""
    what = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
    amount, note = (
        TextColumn(f"{{task.fields[{name}]}}", table_column=Column(no_wrap=True)) for name in ("amount", "note")
    )
    times = _Times(table_column=Column(no_wrap=True))
    if not wide:
        return [what, BarColumn(6), TaskProgressColumn(table_column=Column(no_wrap=True)), times, note]
    return [what, BarColumn(12), amount, times, note]


def _amount(event: Advanced) -> str:
    if event.unit == "bytes":
        return f"{decimal(int(event.done))} of {decimal(int(event.total))}"
    if not event.unit:
        return f"{event.done / event.total:.0%}"
    return f"{event.done:,}/{event.total:,} {event.unit}"


@contextmanager
def training_progress(label: str, criterion: str = SELECT_BY) -> Iterator[Callable[[Event], None]]:
    """Draw how many steps are made (training may end sooner, when it stops improving), the loss and the best score."""
    with show_progress(f"{label}: reading and compiling") as show:
        yield advancing(show, label, criterion)
