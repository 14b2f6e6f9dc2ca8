"""The trials of one strategy: options in (the defaults first), validation scores out; hopeless trials are stopped
early.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import polars as pl
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial, Trial, TrialState

from recsieve.checking import accepts, make_settings
from recsieve.data.splitting import Split
from recsieve.denoisers import DENOISERS, SearchSpace
from recsieve.errors import ConfigError, DivergedError, did_you_mean
from recsieve.experiments.config import shared_settings
from recsieve.experiments.pool import Reporter, cached_split
from recsieve.experiments.settings import TuningConfig
from recsieve.experiments.space import flat, search_space, suggest
from recsieve.models import fits_itself
from recsieve.recommender import Recommender
from recsieve.settings import VALIDATION_LOSS, validated
from recsieve.training import Event, Validated

log = logging.getLogger(__name__)

STORAGE = "trials.db"
TITLES = {"keep-all": "CE", "truncated": "T-CE", "reweighted": "R-CE"}
ENDED = (TrialState.COMPLETE, TrialState.PRUNED)
FEW = 10  # trials below which the importance of an option is a guess


def make_tuning(values: dict[str, Any]) -> TuningConfig:
    """Check the configuration before anything is trained; strategies without effect on the model are left out."""
    config = validated(TuningConfig, values)
    if config.select_by == VALIDATION_LOSS and fits_itself(config.model):
        raise ConfigError(f"{config.model} has no validation loss: select by a metric, e.g. 'ndcg@20'.")
    make_settings(common_settings(config))
    for name in config.strategies:
        if name not in DENOISERS:
            raise ConfigError(f"there is nothing to tune for '{name}': {did_you_mean(name, DENOISERS)}")
    kept = [name for name in config.strategies if accepts(config.model, name)]
    for name in config.strategies:
        if name not in kept:
            log.warning("the strategy %s does not work with %s: it is left out.", name, config.model)
    config = config.model_copy(update={"strategies": kept})
    for name in kept:
        if not space_of(config, name):
            raise ConfigError(f"{config.model} with {name} has nothing to tune: give a model with options to search.")
    return config


def common_settings(config: TuningConfig) -> dict[str, Any]:
    """The settings that all trials share."""
    own = {name: getattr(config, name) for name in ("model", "model_options", "seed", "learning_rate")}
    own = {name: value for name, value in own.items() if value is not None}
    return shared_settings(config, config.model) | own


def space_of(config: TuningConfig, denoiser: str) -> SearchSpace:
    """The search space of a strategy."""
    space = search_space(config.model, denoiser, config.model_options, config.epochs)
    given = () if config.learning_rate is None else ("learning_rate",)
    return {name: choice for name, choice in space.items() if name not in given}


def title_of(model: str, denoiser: str) -> str:
    """The name of a strategy; the paper's names are for gradient descent only."""
    return denoiser if fits_itself(model) else TITLES.get(denoiser, denoiser)


@dataclass(frozen=True)
class StudyTask:
    """The trials of one strategy, one after the other; finished trials are not repeated."""

    denoiser: str
    config: TuningConfig
    data: Path
    folder: Path

    @property
    def name(self) -> str:
        return title_of(self.config.model, self.denoiser)

    @property
    def finished(self) -> bool:
        return ended(open_study(self.folder, self.denoiser)) >= self.config.trials  # also makes the storage, once

    def run(self, reporter: Reporter) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = open_study(self.folder, self.denoiser)
        split = cached_split(self.data)
        while (done := ended(study)) < self.config.trials:
            # A sampler of its own for each trial, so that a search that was stopped goes on as if it had not been; the
            # first draws after seeds 0, 1, 2, … lie close together, so the seeds are scattered.
            seed = int(np.random.SeedSequence([self.config.seed, done]).generate_state(1)[0])
            study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=5)
            study.optimize(lambda trial: self._score(trial, split, reporter), n_trials=1)
            reporter.tell(done + 1, study.best_value if any_complete(study) else None)

    def _score(self, trial: Trial, split: Split, reporter: Reporter) -> float:
        space = space_of(self.config, self.denoiser)
        # The defaults come first: a search of few trials must not end below what needs no search.
        found = suggest(space if trial.number else {}, trial)
        common = common_settings(self.config)
        found["model_options"] = common["model_options"] | found["model_options"]
        settings = make_settings(common | {"denoiser": self.denoiser} | found)
        if "learning_rate" in space:
            found["learning_rate"] = settings.learning_rate
        trial.set_user_attr("found", found)

        def take(event: Event) -> None:
            reporter.check()
            if isinstance(event, Validated):
                trial.report(event.score, event.epoch)
                if trial.should_prune():
                    raise optuna.TrialPruned

        try:
            recommender = Recommender(**settings.model_dump()).fit(split, progress=take)
        except DivergedError:
            raise optuna.TrialPruned from None  # these options are no good, others may be
        trial.set_user_attr("epoch", recommender.selected["epoch"])
        return recommender.selected["score"]


def open_study(folder: Path, denoiser: str) -> optuna.Study:
    """The saved trials of a strategy."""
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{folder / STORAGE}", engine_kwargs={"connect_args": {"timeout": 60}}
    )
    study = optuna.create_study(storage=storage, study_name=denoiser, direction="maximize", load_if_exists=True)
    # A strategy whose drop rate grows looks well at first: five epochs are for free, and the first five trials.
    study.pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=5)
    return study


def ended(study: optuna.Study) -> int:
    return sum(trial.state in ENDED for trial in study.trials)


def any_complete(study: optuna.Study) -> bool:
    return any(trial.state == TrialState.COMPLETE for trial in study.trials)


def importance(study: optuna.Study) -> dict[str, float]:
    """The importance of each option for good trials (PED-ANOVA); empty if there are few trials."""
    searched = [trial for trial in study.trials if trial.state == TrialState.COMPLETE and trial.params]
    if len(searched) < FEW or len(searched[0].params) < 2 or len({trial.value for trial in searched}) < 2:
        return {}
    evaluator = PedAnovaImportanceEvaluator()
    found = get_param_importances(study, evaluator=evaluator, params=list(searched[0].params))
    return {name: float(share) for name, share in found.items()}


def trials_table(studies: Sequence[optuna.Study], model: str) -> pl.DataFrame:
    """A row for each finished trial."""
    rows = [
        _trial_row(title_of(model, study.study_name), trial)
        for study in studies
        for trial in study.trials
        if trial.state in ENDED
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _trial_row(title: str, trial: FrozenTrial) -> dict[str, Any]:
    best = max(trial.intermediate_values.values(), default=None)
    found = flat(trial.user_attrs["found"]) if "found" in trial.user_attrs else {}
    return {"strategy": title, "trial": trial.number, "state": trial.state.name.lower(), "score": best, **found}
