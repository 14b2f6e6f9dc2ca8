"""The progress of tasks in parallel processes on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from recsieve.experiments.pool import Going, Started
from recsieve.experiments.wording import duration


@dataclass
class Standing:
    """What is known of the tasks so far."""

    start: Started
    running: dict[str, Going] = field(default_factory=dict)
    lasted: list[float] = field(default_factory=list)  # seconds of each that has ended
    began: float = field(default_factory=time.monotonic)

    def take(self, event: Started | Going) -> None:
        if isinstance(event, Started):
            self.start, self.began = event, time.monotonic()
        elif event.finished:
            self.running.pop(event.name, None)
            self.lasted.append(event.seconds)
        else:
            self.running[event.name] = event

    @property
    def done(self) -> int:
        return self.start.finished + len(self.lasted)

    def estimate(self) -> str:
        """How long it will still take; before a run has ended, only the most that it can take is known."""
        left = self.start.tasks - self.done
        under_way = [run for run in self.running.values() if run.done]
        if self.lasted:
            mean = sum(self.lasted) / len(self.lasted)
            spent = sum(min(run.seconds, mean) for run in self.running.values())
            return f"about {duration((left * mean - spent) / self.start.workers)} left"
        if under_way:
            run = max(under_way, key=lambda run: run.done)
            most = run.seconds / run.done * self.start.most
            return f"at most {duration(left * most / self.start.workers)}, less when trainings stop improving"
        return "reading and compiling"

    def draw(self) -> Group:
        bar = ProgressBar(total=max(self.start.tasks, 1), completed=self.done, width=30)
        line = Table.grid(padding=(0, 1))
        done = f"{self.done}/{self.start.tasks} {self.start.noun}"
        line.add_row(bar, done, duration(time.monotonic() - self.began), self.estimate())
        table = Table.grid(padding=(0, 2))
        for name, run in sorted(self.running.items()):
            score = "" if run.score is None else f"{run.score:.4f}"
            table.add_row(Text(name), f"{self.start.unit} {run.done}", score, duration(run.seconds))
        return Group(line, table)


@contextmanager
def task_progress() -> Iterator[Callable[[Started | Going], None]]:
    """Draw a bar, an estimate and the runs under way; on a pipe, say a line for each run that ends."""
    console, standing = Console(stderr=True), Standing(Started(0, 0, 1, "epoch", 1))
    if not console.is_terminal:
        yield lambda event: _say(console, standing, event)
        return
    with Live(console=console, get_renderable=standing.draw, refresh_per_second=4, transient=True):
        yield standing.take


def _say(console: Console, standing: Standing, event: Started | Going) -> None:
    standing.take(event)
    if isinstance(event, Started):
        again = f", {event.finished} of them finished before" if event.finished else ""
        console.print(f"{event.tasks} {event.noun}{again}, {event.workers} at a time", highlight=False)
    elif event.finished:
        told = f"{event.done} {standing.start.unit}s in {duration(event.seconds)}; {standing.estimate()}"
        line = f"{standing.done}/{standing.start.tasks} {event.name}: {told}"
        console.print(line, highlight=False, soft_wrap=True)
