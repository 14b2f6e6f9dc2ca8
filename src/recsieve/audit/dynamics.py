"""Short trainings that show what is hard to fit. Each interaction is scored by a model that has not seen it and by one
that has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from recsieve.audit.pairs import PairScores
from recsieve.communicator import Communicator
from recsieve.data.interactions import Interactions
from recsieve.data.statistics import fingerprint
from recsieve.denoisers import KeepAll
from recsieve.files import replacing
from recsieve.models import GMF, Fitting
from recsieve.objectives import BCE
from recsieve.progress import Advanced, Progress, unheard
from recsieve.sampling import Sampler
from recsieve.training import Driver, GradientFitting, InteractionMemory, TrainingPlan, Validated
from recsieve.training.driver import Validate

FOLDS = 3
CURVE = (1, 2, 3, 5, 8, 12, 20, 30)  # the epochs whose losses are kept: a training changes most at first
PATIENCE = 2
MOST_EPOCHS = 60  # a run ends sooner, when what it has not seen is no longer predicted better
MOST_JUDGED = 200_000  # rows on which that is judged


@dataclass(frozen=True)
class ShortTraining:
    """A short training: scores of any pair, the best epoch, and losses at the epochs of CURVE (NaN after its end)."""

    scores: PairScores
    best_epoch: int
    curve: NDArray[np.float32]  # (epochs of CURVE, interactions that it judges)

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that are saved."""
        return {**self.scores.arrays(), "curve": self.curve, "best_epoch": np.array(self.best_epoch)}

    @classmethod
    def of(cls, arrays: dict[str, NDArray]) -> ShortTraining:
        """A training from its saved arrays."""
        parts = dict(arrays)
        curve, best_epoch = parts.pop("curve"), int(parts.pop("best_epoch"))
        return cls(PairScores(**parts), best_epoch, curve)


@dataclass(frozen=True)
class Dynamics:
    """The short trainings of an audit. `fold` says which training has not seen an interaction."""

    fold: NDArray[np.int8]
    folds: list[ShortTraining]
    full: ShortTraining  # trained on everything; its curve is of training losses

    def held_out_logits(self, data: Interactions) -> NDArray[np.float32]:
        """The logit of each interaction from the training that has not seen it."""
        logits = np.empty(len(data), np.float32)
        for number, run in enumerate(self.folds):
            rows = np.flatnonzero(self.fold == number)
            logits[rows] = run.scores.of(data.users[rows], data.items[rows])
        return logits

    def held_out_curves(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The losses of some interactions at the epochs of CURVE, from the training that has not seen each."""
        place = np.empty(len(self.fold), np.int64)
        curves = np.empty((len(CURVE), len(rows)), np.float32)
        for number, run in enumerate(self.folds):
            place[self.fold == number] = np.arange(run.curve.shape[1])
            wanted = self.fold[rows] == number
            curves[:, wanted] = run.curve[:, place[rows[wanted]]]
        return curves

    def mean_held_out_loss(self) -> NDArray[np.float32]:
        """The mean loss at the epochs of CURVE up to the best epoch, from the training that has not seen the
        interaction.
        """
        means = np.empty(len(self.fold), np.float32)
        for number, run in enumerate(self.folds):
            kept = max(1, int(np.searchsorted(CURVE, run.best_epoch, side="right")))
            means[self.fold == number] = run.curve[:kept].mean(axis=0)
        return means


def observe_training(
    data: Interactions, *, seed: int = 0, cache: Path | None = None, progress: Progress = unheard
) -> Dynamics:
    """Train on all but one fold, for each, and on everything; runs found in the folder `cache` are taken from there."""
    fold, kept = _folds(data, seed), Kept(cache, data, seed)

    def part(number: int) -> Callable[[float], None]:
        what = f"training {number + 1} of {FOLDS + 1}"
        return lambda done: progress(Advanced(what, number + done, FOLDS + 1))

    def fold_run(number: int) -> dict[str, NDArray]:
        return _fold_run(data, fold == number, _seed(seed, number), part(number)).arrays()

    folds = [ShortTraining.of(kept.get(f"fold-{number}", partial(fold_run, number))) for number in range(FOLDS)]
    epochs = int(np.median([run.best_epoch for run in folds]))
    full = kept.get("full", lambda: _full_run(data, epochs, _seed(seed, FOLDS), part(FOLDS)).arrays())
    return Dynamics(fold, folds, ShortTraining.of(full))


def train_folds(data: Interactions, *, seed: int, cache: Path, group: Communicator) -> None:
    """Train on all but one fold, for each, a share on each rank, in a folder that all see; the first waits for all."""
    fold, kept = _folds(data, seed), Kept(cache, data, seed)

    def fold_run(number: int) -> dict[str, NDArray]:
        return _fold_run(data, fold == number, _seed(seed, number), lambda done: None).arrays()

    for number in range(group.rank, FOLDS, group.size):
        kept.get(f"fold-{number}", partial(fold_run, number))
    while group.is_first and not all(kept.has(f"fold-{number}") for number in range(FOLDS)):
        time.sleep(1)  # a rank that is lost ends this one too, by torchrun


def _folds(data: Interactions, seed: int) -> NDArray[np.int8]:
    return np.random.default_rng(seed).permutation(np.arange(len(data)) % FOLDS).astype(np.int8)


def _seed(seed: int, run: int) -> int:
    return seed * (FOLDS + 1) + run


def _fold_run(
    data: Interactions, held_out: NDArray[np.bool_], seed: int, report: Callable[[float], None]
) -> ShortTraining:
    """Train without some interactions until these, among negatives, are no longer predicted better."""
    judged = data.take(held_out)
    model = GMF(data.csr, torch.Generator().manual_seed(seed))
    training = _plain_training(model, data.take(~held_out), TrainingPlan(epochs=MOST_EPOCHS, seed=seed))
    sampler = Sampler(judged, seed=seed, observed=data.csr)
    sample = sampler.draw(0, 0, min(sampler.rows_per_epoch, MOST_JUDGED))
    curve = np.full((len(CURVE), len(judged)), np.nan, np.float32)

    def validate(fitting: Fitting) -> float:
        epoch = fitting.step // fitting.steps_per_epoch
        fitting.scorer()  # brings the model up to date
        if epoch in CURVE:
            curve[CURVE.index(epoch)] = np.logaddexp(0, -_scores(model).of(judged.users, judged.items))
        return -float(BCE()(model(sample.users, sample.items), sample.labels).mean())

    best_step = _train(training, validate, report)
    return ShortTraining(_scores(model), best_step // training.steps_per_epoch, curve)


def _full_run(data: Interactions, epochs: int, seed: int, report: Callable[[float], None]) -> ShortTraining:
    """Train on everything for a given time."""
    model = GMF(data.csr, torch.Generator().manual_seed(seed))
    memory = InteractionMemory(len(data), keep=frozenset(epoch - 1 for epoch in CURVE))  # it counts from 0
    training = _plain_training(model, data, TrainingPlan(epochs=epochs, seed=seed), memory)
    _train(training, lambda fitting: float(fitting.step), report)  # later is better: the last weights are kept
    curve = np.full((len(CURVE), len(data)), np.nan, np.float32)
    curve[: len(memory.epochs)] = memory.losses
    return ShortTraining(_scores(model), epochs, curve)


def _plain_training(
    model: GMF, data: Interactions, plan: TrainingPlan, memory: InteractionMemory | None = None
) -> GradientFitting:
    return GradientFitting(model, BCE(), data, plan, lambda context: KeepAll(), memory)


def _train(training: GradientFitting, validate: Validate, report: Callable[[float], None]) -> int:
    """Train to the end; the model has the weights that were selected, and the step they are of is given."""
    report(0.0)
    driver = Driver(training, PATIENCE)
    for event in driver.run(validate):
        if not isinstance(event, Validated):
            report(event.step / event.total_steps)
    driver.scorer()
    return driver.stopping.best_step


def _scores(model: GMF) -> PairScores:
    """A GMF as scores of pairs, its output weights taken into the vectors of the users."""
    output = model.output
    user_factors = (model.user.weight * output.weight).detach().numpy().copy()
    biases = np.full(model.n_users, output.bias.item(), np.float32)
    item_factors = model.item.weight.detach().numpy().copy()
    return PairScores(biases, np.zeros(model.n_items, np.float32), user_factors, item_factors)


class Kept:
    """Arrays saved in a folder, so that an audit that was stopped can continue."""

    def __init__(self, folder: Path | None, data: Interactions, seed: int) -> None:
        self._folder = folder
        self._of = "" if folder is None else f"2 {fingerprint(replace(data, false_positive=None))} {seed}"

    def get(self, name: str, make: Callable[[], dict[str, NDArray]]) -> dict[str, NDArray]:
        """The array saved under a name, if data and seed are the same; otherwise it is computed and saved."""
        if self._folder is None:
            return make()
        path = self._folder / f"{name}.safetensors"
        arrays = self._read(path)
        if arrays is None:
            arrays = make()
            with replacing(path) as temporary:
                save_file(arrays, temporary, metadata={"of": self._of})
        return arrays

    def has(self, name: str) -> bool:
        """Whether something of the same data and seed is kept under a name."""
        return self._folder is not None and self._read(self._folder / f"{name}.safetensors") is not None

    def _read(self, path: Path) -> dict[str, NDArray] | None:
        try:
            with safe_open(path, framework="numpy") as file:
                if (file.metadata() or {}).get("of") != self._of:
                    return None
                return {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a dict
        except (OSError, SafetensorError):
            return None  # missing or damaged: made again
