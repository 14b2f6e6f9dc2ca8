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

WIDE = 100  # columns of a terminal that has room for everything
OFTEN = 15.0  # seconds between lines if there is no terminal


@contextmanager
def show_progress(before: str) -> Iterator[Progress]:
    """Draw a bar with the elapsed and the remaining time; until the first report, a line says what `before` says.

    Both are erased at the end. Without a terminal, as on a pipe or in CI, a plain line is written now and then.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console).show
        return
    bar = Bar(*_columns(wide=console.width >= WIDE), console=console, transient=True, expand=True)
    task = bar.add_task("", total=None, amount="", note="", even=True)
    with ExitStack() as preparing, ExitStack() as drawing:
        preparing.enter_context(console.status(before))

        def show(event: Advanced) -> None:
            if not bar.live.is_started:
                preparing.close()
                drawing.enter_context(bar)
            if event.done < bar.tasks[0].completed and event.what != bar.tasks[0].description:  # the next of several
                bar.reset(task)
            bar.update(
                task, description=event.what, completed=event.done, total=event.total, amount=_amount(event),
                note=event.note, even=event.even,
            )  # fmt: skip

        yield show


class _Lines:
    """Progress as plain lines, for operations that take a while."""

    def __init__(self, console: Console) -> None:
        self.console, self.began, self.said = console, time.monotonic(), time.monotonic()

    def show(self, event: Advanced) -> None:
        now = time.monotonic()
        if now - self.said >= OFTEN:
            self.said = now
            told = ", ".join(filter(None, [_amount(event), f"{_clock(now - self.began)} so far", event.note]))
            self.console.print(f"{event.what}: {told}", highlight=False, markup=False, soft_wrap=True)


class _Times(ProgressColumn):
    """The elapsed time and, where it can be estimated, the remaining time."""

    def render(self, task: Task) -> Text:
        known = task.fields["even"] and task.time_remaining is not None
        left = f", {_clock(task.time_remaining or 0)} left" if known else ""
        return Text(f"{_clock(task.elapsed or 0)}{left}", style="progress.elapsed")


def _clock(seconds: float) -> str:
    hours, minutes = int(seconds // 3600), int(seconds // 60) % 60
    return f"{hours}:{minutes:02}:{int(seconds) % 60:02}" if hours else f"{minutes}:{int(seconds) % 60:02}"


def _columns(*, wide: bool) -> list[ProgressColumn]:
    """The columns of a bar; a narrow terminal gets a percentage, and a shortened description."""
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
    """Draw the steps so far (training may end sooner, if it stops improving), the loss and the best score."""
    with show_progress(f"{label}: reading and compiling") as show:
        yield advancing(show, label, criterion)
