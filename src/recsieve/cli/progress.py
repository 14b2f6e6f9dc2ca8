"""Training progress on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from recsieve.training import Event


@contextmanager
def training_progress(label: str, criterion: str = "ndcg@20") -> Iterator[Callable[[Event], None]]:
    """Draw a bar with an estimate of the time left (training may end sooner, when it stops improving)."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeElapsedColumn(),
        TextColumn("at most"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=None, note="preparing")
        loss, best = "", ""

        def show(event: Event) -> None:
            nonlocal loss, best
            if hasattr(event, "total_steps"):
                loss = f"epoch {event.epoch + 1} loss {event.loss:.4f}"
                progress.update(task, completed=event.step, total=event.total_steps, note=f"{loss} {best}")
            elif event.best:
                best = f"best {criterion} {event.score:.4f}"

        yield show
