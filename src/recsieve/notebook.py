"""A progress bar for notebooks: pass it as `progress`.

>>> from recsieve.notebook import progress_bar
>>> Recommender("gmf").fit(split, progress=progress_bar("GMF"))
"""

from __future__ import annotations

import time
from collections.abc import Callable
from html import escape

from recsieve.progress import Advanced
from recsieve.settings import SELECT_BY
from recsieve.training.events import Event, advancing

REDRAW = 0.2  # seconds


def progress_bar(label: str = "", criterion: str = SELECT_BY) -> Callable[[Event | Advanced], None]:
    """Show what is being done, how far it is and how long it has taken, in the output of a notebook cell."""
    bar = _Bar()
    training = advancing(bar.show, label, criterion)

    def take(event: Event | Advanced) -> None:
        if isinstance(event, Advanced):
            bar.show(event)
        else:
            training(event)

    return take


class _Bar:
    def __init__(self) -> None:
        from IPython.display import HTML, display  # there is one wherever there is a notebook

        self.began, self.drawn, self.html = time.monotonic(), 0.0, HTML
        self.place = display(HTML("<progress></progress>"), display_id=True)

    def show(self, event: Advanced) -> None:
        """Draw, but not more often than anybody sees."""
        now = time.monotonic()
        if now - self.drawn >= REDRAW or event.ended or event.done >= event.total:
            self.drawn = now
            self.place.update(self.html(bar_html(event, now - self.began)))


def bar_html(event: Advanced, seconds: float) -> str:
    """A bar with what is being done, how far it is, how long it has taken, and a note."""
    share = event.done / event.total if event.total else 1.0
    said = filter(None, [event.what, f"{share:.0%}", f"{seconds:.0f} s", event.note])
    return f'<progress value="{share:.3f}" max="1"></progress> {escape(" · ".join(said))}'
