"""One run of a comparison: trained, measured at every validation, and tested."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.data.interactions import CSR, Interactions
from recsieve.data.splitting import Split
from recsieve.data.statistics import fingerprint
from recsieve.denoisers import DENOISERS
from recsieve.errors import ConfigError, RunError
from recsieve.evaluation import rank_items
from recsieve.evaluation.groups import some_users
from recsieve.evaluation.metrics import ranking_metrics
from recsieve.experiments.plan import Cell
from recsieve.experiments.pool import Reporter, cached_split
from recsieve.experiments.run import check_same
from recsieve.experiments.suspicion import detection_frame, make_memory
from recsieve.models import Fitting, Scorer
from recsieve.recommender import Recommender
from recsieve.settings import TRIMMED, VALIDATION_LOSS, Settings, is_loss, parse_criterion, trimmed_share
from recsieve.storage.run_folder import RunFolder
from recsieve.training import Event

KS = (10, 20, 50)
VALIDATIONS = "validations.parquet"
DETECTION = "detection.parquet"


@dataclass(frozen=True)
class TrialTask:
    """A cell, the folder and the fingerprint of its data, and the folder of its run."""

    cell: Cell
    data: Path
    fingerprint: str
    folder: Path
    metric: str
    validation_users: int | None = None  # None: all

    @property
    def name(self) -> str:
        return self.cell.title

    @property
    def finished(self) -> bool:
        """Whether the run is finished; one that was started with other settings is refused."""
        run = RunFolder(self.folder)
        if run.exists and run.begun:
            check_same(run, self.cell.settings, self.fingerprint)
            users = run.read_config()["data"].get("validation_users")
            if users != self.validation_users:
                raise RunError(
                    f"{run.path} was started with validation_users = {users}, and now it is {self.validation_users}: "
                    "give the same settings to continue, or another folder with --out."
                )
        return run.finished

    def run(self, reporter: Reporter) -> None:
        split = cached_split(self.data)
        run_trial(split, self.cell, self.folder, self.metric, reporter.take, validation_users=self.validation_users)


def run_trial(
    split: Split,
    cell: Cell,
    folder: Path,
    metric: str,
    progress: Callable[[Event], None] | None = None,
    *,
    validation_users: int | None = None,
) -> dict[str, Any]:
    """Train one cell and write its run folder, metrics last.

    The folder has no interactions and no weights: the split belongs to the comparison, and the seed reproduces the
    weights.
    """
    run = RunFolder(folder)
    about = {"noise": cell.noise, "strategy": cell.contender.name, "fingerprint": fingerprint(split.train)}
    some = {} if validation_users is None else {"validation_users": validation_users}
    run.write_config(cell.settings, about | some)
    if cell.contender.role == "oracle":
        split = replace(split, train=without_known_noise(split.train))
    started, worked = time.perf_counter(), time.process_time()
    watch = Watch(split, cell.settings, metric, validation_users)
    recommender = Recommender(**cell.settings.model_dump())
    memory = None if cell.contender.role == "oracle" or cell.settings.chooses else make_memory(split.train)
    if cell.settings.chooses:
        recommender.fit(split, progress=progress, checkpoint=run.checkpoint, resume=True)
        watch.look(recommender.trained(), {"step": 0, **recommender.selected})  # a choice is of no step of one model
    else:
        recommender.fit(split, progress=progress, validate=watch, memory=memory)
    evaluation = recommender.evaluate(split, sorted({*KS, parse_criterion(metric)[1]}))
    per_user = pl.DataFrame(evaluation.per_user).cast(pl.Float32)
    run.write_frame(run.per_user, per_user.insert_column(0, pl.Series("user", evaluation.users)))
    run.write_frame(run.path / VALIDATIONS, watch.frame())
    run.write_frame(run.history, recommender.history if recommender.history is not None else pl.DataFrame())
    if memory is not None and memory.epochs:  # what is solved has no losses to remember
        run.write_frame(run.path / DETECTION, detection_frame(memory, split.train, cell.settings.seed))
    metrics = {
        "selected": recommender.selected,
        "epochs_trained": len(watch.rows),
        "test": evaluation.overall,
        "seconds": round(time.perf_counter() - started, 2),
        "cpu_seconds": round(time.process_time() - worked, 2),  # whatever else the machine does
        **recommender.choice_record(),
    }
    run.write_metrics(metrics)
    shutil.rmtree(run.checkpoint.parent, ignore_errors=True)  # of `auto`, which is many trainings
    return metrics


def without_known_noise(train: Interactions) -> Interactions:
    """Give no weight to known false positives; they stay observed, so that the items to rank do not change."""
    return replace(train, weight=np.where(train.is_false_positive, np.float32(0), train.weights_or_ones))


class Watch:
    """Scores a training by every criterion at each validation, and returns the one that selects.

    The test score is not available in practice. It is recorded for the study of selection criteria, and never selects
    anything. With `most_users`, the scores are those of that many users, the same for every training.
    """

    def __init__(self, split: Split, settings: Settings, metric: str, most_users: int | None = None) -> None:
        self._split, self._select_by, self._metric = split, settings.select_by, metric
        # A strategy that remembers training interactions knows none of validation: it is asked only where that selects.
        remembers = settings.denoiser in DENOISERS and hasattr(DENOISERS[settings.denoiser], "state_dict")
        self._asks_loss = settings.select_by == VALIDATION_LOSS or not remembers
        validation = split.validation
        self._noisy = validation.csr
        self._clean = validation.take(~validation.is_false_positive).csr if validation.has_flags else None
        self._validated, self._tested = _users(validation, most_users), _users(split.test, most_users)
        self._seen_before_test = split.train.csr.union(validation.csr)
        self.rows: list[dict[str, float]] = []

    def __call__(self, fitting: Fitting) -> float:
        scores = self.look(fitting.scorer(), {"step": fitting.step, "epoch": fitting.step / fitting.steps_per_epoch})
        if self._asks_loss:
            with suppress(ConfigError):  # a model that fits itself has none
                scores["own_loss"] = fitting.validation_loss(self._split.validation)
        if self._select_by == VALIDATION_LOSS:
            return -scores["own_loss"]
        if self._select_by.startswith(TRIMMED):
            return -fitting.trimmed_loss(self._split.validation, trimmed_share(self._select_by))
        return scores["clean"] if self._select_by.startswith("clean-") else scores["noisy"]

    def look(self, model: Scorer, where: Mapping[str, float]) -> dict[str, float]:
        """Record the scores of a model at some step and epoch; the validation loss only if it is known."""
        selecting, k, _ = parse_criterion(self._metric if is_loss(self._select_by) else self._select_by)
        noisy, clean = self._on_validation(model, f"{selecting}@{k}", k)
        scores = {"step": float(where["step"]), "epoch": where["epoch"], "noisy": noisy, "clean": clean}
        self.rows.append(scores | {"test": self._on_test(model), "own_loss": float("nan")})
        return self.rows[-1]

    def _on_validation(self, model: Scorer, criterion: str, k: int) -> tuple[float, float]:
        """The criterion over all of the validation part, and over what is not known to be noise."""
        users = self._validated
        top, _ = rank_items(model, users, k, self._split.train.csr)
        noisy = _mean(top, users, self._noisy, criterion, k)
        return noisy, float("nan") if self._clean is None else _mean(top, users, self._clean, criterion, k)

    def _on_test(self, model: Scorer) -> float:
        relevant, k = self._split.test.csr, parse_criterion(self._metric)[1]
        users = self._tested
        top, _ = rank_items(model, users, k, self._seen_before_test)
        return _mean(top, users, relevant, self._metric, k)

    def frame(self) -> pl.DataFrame:
        """A row for each validation."""
        return pl.DataFrame(self.rows)


def _users(part: Interactions, most: int | None) -> NDArray[np.int32]:
    """The users who have something to find, or some of them, the same ones in every run."""
    return np.flatnonzero(some_users(part, most).user_counts()).astype(np.int32)


def _mean(top: NDArray[np.int32], users: NDArray[np.int32], relevant: CSR, criterion: str, k: int) -> float:
    return float(np.nanmean(ranking_metrics(top, users, relevant, [k])[criterion]))
