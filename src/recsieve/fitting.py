"""Fitting: the named model or a choice among many, and refitting on more data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from recsieve.auto import Choice, Plan, Search, Selection, Spec, make_plan
from recsieve.auto.data import Stage, Trust, stage_data
from recsieve.checking import make_settings
from recsieve.communicator import Communicator
from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import Denoiser
from recsieve.errors import ConfigError, DivergedError
from recsieve.files import write_text
from recsieve.models import Fitting, Learner, Model, Scorer, fits_itself
from recsieve.preparation import check_possible, criterion, make_learner, make_run, unless_solved
from recsieve.settings import AUTO, Settings, auto_options, is_loss, parse_criterion, parse_duration
from recsieve.storage.damage import reading
from recsieve.training import Driver, Event, InteractionMemory, Validated
from recsieve.training.checkpoint import load_checkpoint, save_checkpoint

# What somebody may change of gradient descent for all that `auto` tries.
_TRAINING = ("objective", "objective_options", "epochs", "patience", "batch_size", "learning_rate", "negatives")


class Given(NamedTuple):
    """A model and a strategy that were given as objects, not by name."""

    model: Learner | type[Model] | None = None
    denoiser: Denoiser | None = None


BY_NAME = Given()


@dataclass(frozen=True)
class Fitted:
    """Everything a recommender consists of."""

    settings: Settings
    split: Split
    model: Scorer
    selected: dict[str, float]
    given: Given = BY_NAME
    fitted_on: Stage = "train"  # what `model` was fitted on
    final: Scorer | None = None  # fitted on the whole log, the test too
    choice: Choice | None = None
    trust: Trust | None = None
    history: pl.DataFrame | None = None
    converged: bool = False  # whether the training ended because it no longer improved

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The models it consists of."""
        if self.choice is not None:
            return self.choice.chosen.candidate.specs
        of = self.settings
        return (Spec(of.model, of.model_options, of.denoiser, of.denoiser_options),)


@dataclass
class Fitter:
    """Fits according to settings; if that diverges, `fitted` has what was selected before, if anything."""

    settings: Settings
    given: Given = BY_NAME
    progress: Callable[[Event], None] | None = None
    checkpoint: Path | None = None
    resume: bool = False
    validations: list[Validated] = field(default_factory=list)
    fitted: Fitted | None = None

    def fit(
        self,
        split: Split,
        validate: Callable[[Fitting], float] | None = None,
        memory: InteractionMemory | None = None,
    ) -> None:
        """Fit the named model or choose one, and refit it on more data if the settings say so."""
        check_possible(self.settings, split)
        if not self.settings.chooses:
            self._fit_named(split, validate, memory)
            if self.settings.final:
                self._finish()
        elif validate is None and memory is None:
            self._choose(split)
        else:
            raise ConfigError("auto does its own validation of several trainings: leave out validate and memory.")

    def _fit_named(
        self, split: Split, validate: Callable[[Fitting], float] | None, memory: InteractionMemory | None
    ) -> None:
        settings, group = self.settings, split.train.group
        run = make_run(settings, split, self.given.denoiser, memory)
        fitting = make_learner(settings, self.given.model).begin(split, run)
        driver = Driver(fitting, settings.patience, settings.validate_every, settings.checkpoint_every, group)
        if self.resume and self.checkpoint is not None:
            _take_up(driver, self.checkpoint, group)
        save = None if self.checkpoint is None else partial(save_checkpoint, self.checkpoint, group=group)
        measured = validate is not None or split.validation.all_reduce_length() > 0
        try:
            for event in driver.run(validate or criterion(settings, split), save):
                if isinstance(event, Validated):
                    event = event if measured else replace(event, score=math.nan)  # what selects the last is no score
                    self.validations.append(event)
                if self.progress is not None:
                    self.progress(event)
        except DivergedError:
            if driver.stopping.best_step:
                self.fitted = self._selected(driver, split, measured)
            raise
        self.fitted = self._selected(driver, split, measured)

    def _selected(self, driver: Driver, split: Split, measured: bool) -> Fitted:
        """What a fitting has selected."""
        best, fitting = driver.stopping, driver.fitting
        selected = {
            "step": best.best_step,
            "score": best.best_score if measured else math.nan,
            "epoch": best.best_step / fitting.steps_per_epoch,
        }
        return Fitted(
            self.settings, split, driver.scorer(), selected, self.given,
            history=fitting.history(), converged=best.exhausted or fitting.total == 1,
        )  # fmt: skip

    def _finish(self) -> None:
        """Fit the model again for as many epochs as were selected: with validation, and on the whole log."""
        assert self.fitted is not None
        split, epochs, (spec,) = self.fitted.split, self.fitted.selected["epoch"], self.fitted.specs
        model = self.refit(spec, stage_data(split, "validated"), epochs, "validated")
        self.fitted = replace(self.fitted, model=model, fitted_on="validated")
        self.fitted = replace(self.fitted, final=self.refit(spec, stage_data(split, "all"), epochs, "all"))

    def _choose(self, split: Split) -> None:
        """Fit again on more data, if that is asked for, what is chosen on validation."""
        selection = self.select(split)
        chosen, epochs = selection.choice.chosen, selection.choice.epochs
        selected = {"score": chosen.score, "epoch": max(epochs[spec.slug] for spec in chosen.candidate.specs)}
        final = self.settings.final is not False
        stage: Stage = "validated" if final else "train"
        self.fitted = Fitted(
            self.settings, split, selection.scorer(stage, self.refit), selected, fitted_on=stage,
            final=selection.scorer("all", self.refit) if final else None,
            choice=selection.choice, trust=selection.trust, converged=True,
        )  # fmt: skip

    def select(self, split: Split) -> Selection:
        """Fit and judge what `auto` has to choose among, by a plan that is written down first, and choose."""
        search, folder = self._search(split), self._folder
        return (search.again() if self.resume else None) or search.run(self._plan(split, folder))

    def fit_ahead(self, split: Split, group: Communicator) -> None:
        """Fit what `auto` has to choose among, a share on each rank, into a folder that all see; the first waits."""
        folder = self._folder
        assert folder is not None
        signs = [folder / f"rank-{rank}-is-done" for rank in range(group.size)]
        if group.is_first:
            for sign in signs:
                sign.unlink(missing_ok=True)
            self._plan(split, folder)
        group.total(0)  # begin together
        specs = [planned.spec for planned in Plan.read(folder / "plan.json").fits]
        self._search(split).fit_ahead(specs[group.rank :: group.size])
        write_text(signs[group.rank], "")
        while group.is_first and not all(sign.exists() for sign in signs):  # one that is lost ends this one too
            time.sleep(1)

    @property
    def _folder(self) -> Path | None:
        return None if self.checkpoint is None else self.checkpoint.parent / "auto"

    def _search(self, split: Split) -> Search:
        settings, folder = self.settings, self._folder

        def fit(spec: Spec, data: Split) -> tuple[Scorer, float]:
            # What is not trained by gradients takes little longer to fit again, after a stop, than to write down.
            path = None if folder is None or fits_itself(spec.model) else folder / spec.slug / "state.safetensors"
            going_on = self.resume and path is not None and path.exists()
            part = Fitter(self._settings_of(spec), progress=self.progress, checkpoint=path, resume=going_on)
            part.fit(data, unless_solved(criterion(part.settings, data)))
            assert part.fitted is not None
            return part.fitted.model, part.fitted.selected["epoch"]

        k = 20 if is_loss(settings.select_by) else parse_criterion(settings.select_by)[1]
        options = auto_options(settings.denoiser_options)
        return Search(split, options, k, settings.seed, fit, folder=folder, progress=self.progress)

    def _plan(self, split: Split, folder: Path | None) -> Plan:
        """The plan of the choice: that of the run which is gone on with, or a new one, written down."""
        settings, path = self.settings, None if folder is None else folder / "plan.json"
        if self.resume and path is not None and path.exists():
            return Plan.read(path)
        models = settings.candidates if settings.model == AUTO else [settings.model]
        usual = Settings.model_fields
        changed = {name: value for name, value in settings if name in _TRAINING and value != usual[name].default}
        budget = parse_duration(settings.budget)
        plan = make_plan(split.train, budget, settings.trials, models, changed, settings.model_options)
        if path is not None:
            plan.write(path)
        return plan

    def refit(self, spec: Spec, data: Interactions, epochs: float, stage: Stage) -> Scorer:
        """Fit one model for a given number of epochs, on the data of a stage."""
        settings, path = self._settings_of(spec), None
        if self.checkpoint is not None:
            path = self.checkpoint.parent / "auto" / f"{spec.slug}-{stage}" / "state.safetensors"
        fitting = begin(settings, self.given, data)
        driver = Driver(fitting, settings.patience, group=data.group)
        if self.resume and path is not None and path.exists():
            _take_up(driver, path, data.group)
        save = None if path is None or fitting.total == 1 else partial(save_checkpoint, path, group=data.group)
        last = max(1, round(epochs * fitting.steps_per_epoch))
        return fitted_until(driver, last, self.progress, save)

    def _settings_of(self, spec: Spec) -> Settings:
        return make_settings(self.settings.model_dump() | spec.settings() | {"final": False})


def begin(settings: Settings, given: Given, data: Interactions) -> Fitting:
    """A fitting on data with nothing held out."""
    split = Split.of_training(data)
    return make_learner(settings, given.model).begin(split, make_run(settings, split, given.denoiser))


def fitted_until(
    driver: Driver, last: int, progress: Callable[[Event], None] | None,
    save: Callable[[dict[str, Any]], None] | None = None,
) -> Scorer:  # fmt: skip
    """The model after a given step; nothing is held out that could select another."""
    for event in driver.run(lambda at: float(at.step), save, until=last):
        if progress is not None and not isinstance(event, Validated):
            progress(event)
    return driver.fitting.scorer()


def _take_up(driver: Driver, checkpoint: Path, group: Communicator) -> None:
    """Go on where a checkpoint was written; one that does not fit is told in one line."""
    state = load_checkpoint(checkpoint, group)
    with reading(checkpoint, "of this training", "start again in another folder"):
        driver.load_state_dict(state)
