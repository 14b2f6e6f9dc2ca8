"""The trials of one strategy: knobs in, validation scores out, hopeless ones given up early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import optuna
import polars as pl
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial, Trial, TrialState
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recsieve.data.splitting import Split
from recsieve.errors import ConfigError, DivergedError
from recsieve.experiments.knobs import check_strategies, suggest
from recsieve.experiments.pool import Reporter, read_split
from recsieve.experiments.run import DataSource
from recsieve.recommender import Recommender
from recsieve.settings import Positive, first_problem, make_settings
from recsieve.training import Event, Validated

STORAGE = "trials.db"
TITLES = {"keep-all": "CE", "truncated": "T-CE", "reweighted": "R-CE"}
ENDED = (TrialState.COMPLETE, TrialState.PRUNED)
FEW = 10  # trials below which the importance of a knob is a guess


class TuningConfig(BaseModel):
    """What to tune, on what, and for how long."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    data: DataSource | None = None
    model: str = "gmf"
    model_options: dict[str, int | float | str] = {}
    strategies: list[str] = ["keep-all", "truncated", "reweighted"]
    trials: Positive = 20
    select_by: str = "ndcg@20"
    epochs: Positive = 100
    patience: Positive = 10
    batch_size: Positive = 1024
    negatives: Positive = 1
    seed: Annotated[int, Field(ge=0)] = 0
    workers: Positive | None = None


def make_tuning(values: dict[str, Any]) -> TuningConfig:
    """Check what is given, before anything is trained."""
    try:
        config = TuningConfig(**values)
    except ValidationError as error:
        raise ConfigError(first_problem(error, TuningConfig)) from None
    check_strategies(config.strategies)
    make_settings(shared_settings(config))
    return config


def shared_settings(config: TuningConfig) -> dict[str, Any]:
    """The settings that all trials have in common."""
    names = ("model", "model_options", "select_by", "epochs", "patience", "batch_size", "negatives", "seed")
    return {name: getattr(config, name) for name in names}


@dataclass(frozen=True)
class StudyTask:
    """The trials of one strategy, one after the other; those that have ended are not repeated."""

    denoiser: str
    config: TuningConfig
    data: Path
    folder: Path

    @property
    def name(self) -> str:
        return TITLES.get(self.denoiser, self.denoiser)

    @property
    def finished(self) -> bool:
        return ended(open_study(self.folder, self.denoiser)) >= self.config.trials  # also makes the storage, once

    def run(self, reporter: Reporter) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = open_study(self.folder, self.denoiser)
        split = read_split(self.data)
        while (done := ended(study)) < self.config.trials:
            # A sampler of its own for each trial, so that a search that was stopped goes on as if it had not been; the
            # first draws after seeds 0, 1, 2, … lie close together, so the seeds are scattered.
            seed = int(np.random.SeedSequence([self.config.seed, done]).generate_state(1)[0])
            study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=5)
            study.optimize(lambda trial: self._score(trial, split, reporter), n_trials=1)
            reporter.tell(done + 1, study.best_value if any_complete(study) else None)

    def _score(self, trial: Trial, split: Split, reporter: Reporter) -> float:
        settings = make_settings(
            {
                **shared_settings(self.config),
                "denoiser": self.denoiser,
                **suggest(self.denoiser, trial, self.config.epochs),
            }
        )
        trial.set_user_attr("learning_rate", settings.learning_rate)
        trial.set_user_attr("denoiser_options", dict(settings.denoiser_options))

        def take(event: Event) -> None:
            reporter.check()
            if isinstance(event, Validated):
                trial.report(event.score, event.epoch)
                if trial.should_prune():
                    raise optuna.TrialPruned

        try:
            recommender = Recommender(**settings.model_dump()).fit(split, progress=take)
        except DivergedError:
            raise optuna.TrialPruned from None  # these knobs are no good, others may be
        trial.set_user_attr("epoch", recommender.selected["epoch"])
        return recommender.selected["score"]


def open_study(folder: Path, denoiser: str) -> optuna.Study:
    """The trials of a strategy as they are stored."""
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
    """The share of each knob in what makes good trials differ from others (PED-ANOVA); nothing where trials are few."""
    complete = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    if len(complete) < FEW or len(complete[0].params) < 2 or len({trial.value for trial in complete}) < 2:
        return {}
    found = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    return {name: float(share) for name, share in found.items()}


def trials_table(studies: Sequence[optuna.Study]) -> pl.DataFrame:
    """A row for each trial that has ended."""
    rows = [_trial_row(study.study_name, trial) for study in studies for trial in study.trials if trial.state in ENDED]
    return pl.DataFrame(rows, infer_schema_length=None)


def _trial_row(denoiser: str, trial: FrozenTrial) -> dict[str, Any]:
    best = max(trial.intermediate_values.values(), default=None)
    knobs = {**trial.user_attrs.get("denoiser_options", {}), "learning_rate": trial.user_attrs.get("learning_rate")}
    state = trial.state.name.lower()
    return {"strategy": TITLES.get(denoiser, denoiser), "trial": trial.number, "state": state, "score": best, **knobs}
