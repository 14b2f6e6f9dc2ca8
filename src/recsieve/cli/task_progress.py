"""The progress of tasks in parallel processes on standard error."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.display import counted
from recsieve.experiments.pool import Progress, Started
from recsieve.experiments.wording import duration
from recsieve.progress import Advanced, unheard


@dataclass
class Standing:
    """The state of all tasks."""

    start: Started = Started(0, 0, 1, "runs")  # noqa: RUF009
    running: dict[str, Advanced] = field(default_factory=dict)
    first_heard: dict[str, float] = field(default_factory=dict)
    lasted: list[float] = field(default_factory=list)  # seconds of each that has ended
    began: float = field(default_factory=time.monotonic)

    def take(self, event: Started | Advanced) -> None:
        if isinstance(event, Started):  # also once more, as when a sweep knows its best
            self.start, self.lasted, self.began = event, [], time.monotonic()
            return
        self.first_heard.setdefault(event.what, time.monotonic())
        if event.ended:
            self.running.pop(event.what, None)
            self.lasted.append(self.seconds(event))
        else:
            self.running[event.what] = event

    def seconds(self, run: Advanced) -> float:
        """How long a task has been running."""
        return time.monotonic() - self.first_heard[run.what]

    @property
    def done(self) -> int:
        return self.start.finished + len(self.lasted)

    def estimate(self) -> str:
        """The remaining time; before a run has ended, only an upper limit is known."""
        left = self.start.tasks - self.done
        if not left:
            return "writing the results"
        under_way = [run for run in self.running.values() if run.done]
        if self.lasted:
            mean = sum(self.lasted) / len(self.lasted)
            spent = sum(min(self.seconds(run), mean) for run in self.running.values())
            return f"about {duration((left * mean - spent) / self.start.workers)} left"
        if under_way:
            run = max(under_way, key=lambda run: run.done)
            most = self.seconds(run) / run.done * run.total
            return f"at most {duration(left * most / self.start.workers)} left"
        return "reading and compiling"

    def draw(self) -> Group:
        bar = ProgressBar(total=max(self.start.tasks, 1), completed=self.done, width=30)
        line = Table.grid(padding=(0, 1))
        done = f"{self.done}/{self.start.tasks} {self.start.noun}"
        line.add_row(bar, done, duration(time.monotonic() - self.began), self.estimate())
        table = Table.grid(Column(no_wrap=True, overflow="ellipsis"), padding=(0, 2))
        for name, run in sorted(self.running.items()):
            table.add_row(Text(name), f"{run.unit} {run.done}", run.note, duration(self.seconds(run)))
        return Group(line, table)


@contextmanager
def task_progress(group: Communicator = SINGLE_PROCESS) -> Iterator[Progress]:
    """Draw a bar, an estimate and the runs under way; on a pipe, say a line for each run that ends.

    Only the first rank does so; the others say only what stops them.
    """
    if not group.is_first:
        logging.getLogger().setLevel(logging.ERROR)
        yield unheard
        return
    console, standing = Console(stderr=True), Standing()
    if not console.is_terminal:
        yield lambda event: _say(console, standing, event)
        return
    with Live(console=console, get_renderable=standing.draw, refresh_per_second=4, transient=True):
        yield standing.take


def _say(console: Console, standing: Standing, event: Started | Advanced) -> None:
    standing.take(event)
    if isinstance(event, Started):
        again = f", {event.finished} of them finished before" if event.finished else ""
        console.print(f"{event.tasks} {event.noun}{again}, {event.workers} at a time", highlight=False)
    elif event.ended:
        told = f"{counted(round(event.done), event.unit)} in {duration(standing.lasted[-1])}; {standing.estimate()}"
        line = f"{standing.done}/{standing.start.tasks} {event.what}: {told}"
        console.print(line, highlight=False, soft_wrap=True)
