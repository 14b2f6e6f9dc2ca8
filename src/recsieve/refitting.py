"""A model fitted again, for as long as was selected, with nothing held out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from recsieve.communicator import Communicator
from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import Denoiser
from recsieve.models import Learner, Model, Scorer
from recsieve.preparation import make_learner, make_run
from recsieve.settings import Settings
from recsieve.storage.damage import reading
from recsieve.training import Driver, Event, Validated
from recsieve.training.checkpoint import load_checkpoint, save_checkpoint

Given = tuple[Learner | type[Model] | None, Denoiser | None]  # a model and a strategy given as objects, not by name


def refit(
    settings: Settings, given: Given, data: Interactions, epochs: float,
    *, checkpoint: Path | None = None, resume: bool = False, progress: Callable[[Event], None] | None = None,
) -> Scorer:  # fmt: skip
    """Fit one model for a given number of epochs."""
    nothing = data.take(slice(0))
    split = Split(data, nothing, nothing, nothing)
    fitting = make_learner(settings, given[0]).begin(split, make_run(settings, split, given[1]))
    driver = Driver(fitting, settings.patience, group=data.group)
    if resume and checkpoint is not None and checkpoint.exists():
        take_up(driver, checkpoint, data.group)
    save = None if checkpoint is None or fitting.total == 1 else partial(save_checkpoint, checkpoint, group=data.group)
    last = max(1, round(epochs * fitting.steps_per_epoch))
    for event in driver.run(lambda at: float(at.step), save, until=last):
        if progress is not None and not isinstance(event, Validated):
            progress(event)
    return fitting.scorer()


def take_up(driver: Driver, checkpoint: Path, group: Communicator) -> None:
    """Go on where a checkpoint was written; one that does not fit is told in one line."""
    state = load_checkpoint(checkpoint, group)
    with reading(checkpoint, "of this training", "begin anew in another folder"):
        driver.load_state_dict(state)
