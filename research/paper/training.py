"""One run of the reproduction: trained once, selected in both ways, tested under each."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from recsieve.data.interactions import CSR, Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers.schedule import DropSchedule
from recsieve.evaluation.groups import some_users, sparsity_groups
from recsieve.evaluation.metrics import Evaluation, evaluate
from recsieve.models import Fitting
from recsieve.objectives import BCE
from recsieve.recommender import Recommender
from recsieve.settings import parse_criterion
from recsieve.storage.run_folder import RunFolder
from recsieve.training import Event, GradientFitting
from recsieve.training.early_stopping import EarlyStopping
from research.paper.methods import METHODS
from research.paper.probe import Probe
from research.paper.runs import CUTOFFS, NDCG, OWN_LOSS, PER_USER, PROBES, VALIDATIONS, RunSpec

# Ranked at each validation: enough to choose by, for NeuMF takes milliseconds for each of a large catalogue.
VALIDATION_USERS, VALIDATION_SCORES = 2_000, 10_000_000
THRESHOLD_BATCHES = 10
GROUPS = 4


def train_run(split: Split, run: RunSpec, folder: RunFolder, progress: Callable[[Event], None] | None = None) -> None:
    """Train, test the model of either selection, and write the folder, metrics last."""
    settings, started = run.settings(), time.perf_counter()
    folder.write_config(settings, {"method": run.method, "fidelity": run.fidelity})
    prepared = METHODS[run.method].prepare(split)
    watch = Recorder(prepared, run)
    recommender = Recommender(**settings.model_dump())
    recommender.fit(prepared, progress=progress, validate=watch)
    trained = time.perf_counter() - started
    tests = test_selections(watch, split, run)
    folder.write_frame(folder.history, recommender.history if recommender.history is not None else pl.DataFrame())
    folder.write_frame(folder.path / VALIDATIONS, pl.DataFrame(watch.validations))
    folder.write_frame(folder.path / PROBES, pl.DataFrame(watch.probes))
    for name, evaluation in tests.items():
        folder.write_frame(folder.path / PER_USER[name], per_user(evaluation))
    folder.write_metrics({
        "selected": {name: chosen.best_step for name, chosen in watch.selections.items()},
        "steps_per_epoch": watch.training.steps_per_epoch if watch.training else None,
        "test": {name: evaluation.overall for name, evaluation in tests.items()},
        "groups": {name: group_metrics(evaluation, split.train) for name, evaluation in tests.items()},
        "unpopularity_auc": watch.probe.unpopularity_auc,
        "training_seconds": round(trained, 1),
        "seconds": round(time.perf_counter() - started, 1),
    })  # fmt: skip


class Recorder:
    """Keeps the best weights by the method's own validation loss and by NDCG, and records losses on the way."""

    def __init__(self, split: Split, run: RunSpec) -> None:
        self._split, self._run = split, run
        self.selections = {name: EarlyStopping(patience=run.epochs) for name in (OWN_LOSS, NDCG)}
        self._relevant = some_users(split.validation, validation_users(split)).csr
        self.probe = Probe(split.train)
        self.validations: list[dict[str, float]] = []
        self.probes: list[dict[str, float]] = []
        self.training: GradientFitting | None = None
        self._next_validation = run.every

    def __call__(self, training: Fitting) -> float:
        """Look at the losses often in the first epoch and at every validation, which comes less often."""
        assert isinstance(training, GradientFitting)  # all of the paper's models are
        self.training = training
        if self._run.steps is not None and training.step > self._run.steps:
            return float("-inf")  # more than normal training has
        due = training.step + self._run.check_every // 2 >= self._next_validation or training.step == training.total
        self._next_validation += self._run.every if due else 0
        if self.probe.usable and (due or training.step <= training.steps_per_epoch):
            self.probes.append({"step": training.step, **self.probe.look(training.scorer())})
        return self._validate(training) if due else float("-inf")

    def _validate(self, training: GradientFitting) -> float:
        split, model, step = self._split, training.scorer(), training.step
        loss = training.validation_loss(split.validation)
        metric, k, _ = parse_criterion(NDCG)
        ndcg = evaluate(model, self._relevant, split.train.csr, [k]).overall[f"{metric}@{k}"]
        for name, score in ((OWN_LOSS, -loss), (NDCG, ndcg)):
            self.selections[name].consider(model, score, step, last=False)
        self.validations.append({"step": step, OWN_LOSS: loss, NDCG: ndcg, **thresholds(training)})
        return -loss


def validation_users(split: Split) -> int:
    """How many users are ranked at each validation."""
    return min(VALIDATION_USERS, max(1, VALIDATION_SCORES // split.train.n_items))


@torch.no_grad()
def thresholds(training: GradientFitting) -> dict[str, float]:
    """The drop rate of T-CE as it stands, and the loss above which it drops in the next batches (τ)."""
    schedule, size = training.loss.denoiser, training.plan.batch_size
    if not isinstance(schedule, DropSchedule):
        return {}
    epoch, found = training.step // training.steps_per_epoch, []
    for start in range(0, min(THRESHOLD_BATCHES * size, training.sampler.rows_per_epoch - size), size):
        batch = training.sampler.draw(epoch, start, start + size)
        losses = BCE()(training.model(batch.users, batch.items), batch.labels)[batch.labels > 0]
        n_drop = schedule.n_drop(training.step, size, len(losses))
        if n_drop:
            found.append(float(losses.topk(n_drop).values[-1]))
    return {"drop_rate": schedule.drop_rate(training.step), "threshold": float(np.mean(found)) if found else np.nan}


def test_selections(watch: Recorder, split: Split, run: RunSpec) -> dict[str, Evaluation]:
    """Rank what was not seen, with the weights of either selection, which are often the same."""
    test, authors = some_users(split.test, run.users), run.fidelity == "authors"
    relevant, seen = test.counted if authors else test.csr, seen_before_test(split, run.fidelity)
    by_step: dict[int, Evaluation] = {}
    for chosen in watch.selections.values():
        if chosen.best_step not in by_step and watch.training is not None:
            watch.training.model.load_state_dict(chosen.weights)
            by_step[chosen.best_step] = evaluate(watch.training.model, relevant, seen, CUTOFFS)
    return {name: by_step[chosen.best_step] for name, chosen in watch.selections.items()}


def seen_before_test(split: Split, fidelity: str) -> CSR:
    """The pairs that are not ranked: for the paper those trained on, for its authors' code those of validation too.

    Clean training leaves out the same pairs, so that its lists can be compared.
    """
    return split.train.csr if fidelity == "paper" else split.train.csr.union(split.validation.csr)


def per_user(evaluation: Evaluation) -> pl.DataFrame:
    """The metrics of each user that verdicts are given by."""
    kept = {name: values for name, values in evaluation.per_user.items() if name.startswith(("recall", "ndcg"))}
    return pl.DataFrame({"user": evaluation.users, **kept})


def group_metrics(evaluation: Evaluation, train: Interactions) -> list[dict[str, float]]:
    """Metrics by the users' number of interactions: four groups with equally many in total, sparsest first."""
    counts: NDArray[np.int64] = train.user_counts()[evaluation.users]
    groups = sparsity_groups(train, GROUPS)[evaluation.users]
    rows = []
    for number in range(GROUPS):
        inside = groups == number
        if inside.any():
            values = {
                name: float(np.nanmean(per_user[inside]))
                for name, per_user in evaluation.per_user.items()
                if name.startswith(("recall", "ndcg"))
            }
            most = int(counts[inside].max())
            rows.append({"group": number, "users": int(inside.sum()), "most_interactions": most, **values})
    return rows
