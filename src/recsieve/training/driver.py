"""The driver of every fit: it validates, stops early, reports, and saves checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.errors import DivergedError, RunError
from recsieve.models import Fitting, Scorer
from recsieve.storage.tensor_file import is_finite
from recsieve.training.early_stopping import EarlyStopping
from recsieve.training.events import Trained, Validated

Validate = Callable[[Fitting], float]  # higher is better
Save = Callable[[dict[str, Any]], None]


class Driver:
    """Runs a fit to its end, or until validation no longer improves; `state_dict()` has everything to continue."""

    def __init__(
        self,
        fitting: Fitting,
        patience: int,
        validate_every: int | None = None,
        checkpoint_every: int | None = None,
        group: Communicator = SINGLE_PROCESS,
    ) -> None:
        self.fitting, self.stopping, self._group = fitting, EarlyStopping(patience), group
        self._validate_every, self._checkpoint_every = validate_every, checkpoint_every

    def run(
        self, validate: Validate, save: Save | None = None, until: int | None = None
    ) -> Iterator[Trained | Validated]:
        """Continue to the end, or to a step, yielding events; if it diverges, an error says what is kept."""
        try:
            yield from self._go_on(validate, save, until)
        except DivergedError as error:
            best = self.stopping.best_step
            kept = f"the weights of step {best} are kept" if best else "no weights were kept"
            raise DivergedError(f"{error} So far, {kept}.", error.step) from None

    def _go_on(self, validate: Validate, save: Save | None, until: int | None) -> Iterator[Trained | Validated]:
        fitting, stopping = self.fitting, self.stopping
        while fitting.step < min(until or fitting.total, fitting.total) and not stopping.exhausted:
            loss = fitting.advance()
            epoch = (fitting.step - 1) // fitting.steps_per_epoch
            yield Trained(fitting.step, epoch, fitting.total, loss)
            validating = self._due(self._validate_every)
            if validating:
                yield self._validate(validate, epoch)
            if save is not None and (validating or self._due(self._checkpoint_every)):
                save(self.state_dict())

    def scorer(self) -> Scorer:
        """The model with the selected weights."""
        scorer = self.fitting.scorer()
        if self.stopping.weights:
            try:
                scorer.load_state_dict(self.stopping.weights)
            except (RuntimeError, KeyError, ValueError) as error:  # only where they come from a checkpoint
                raise RunError(
                    f"the best weights do not belong to this model ({error}): start again in another folder."
                ) from None
        return scorer.prepare()

    def _due(self, every: int | None) -> bool:
        fitting = self.fitting
        return fitting.step % (every or fitting.steps_per_epoch) == 0 or fitting.step == fitting.total

    @torch.no_grad()
    def _validate(self, validate: Validate, epoch: int) -> Validated:
        fitting = self.fitting
        if self._group.any(not all(map(is_finite, fitting.scorer().state_dict().values()))):
            raise DivergedError(
                f"the weights are not finite at step {fitting.step}: use stronger regularisation.", fitting.step
            )
        score = validate(fitting)
        last = fitting.step == fitting.total
        best = self.stopping.consider(fitting.scorer(), score, fitting.step, last=last)
        return Validated(fitting.step, epoch, score, best)

    def state_dict(self) -> dict[str, Any]:
        return {
            "step": self.fitting.step,
            "fitting": self.fitting.state_dict(),
            "stopping": self.stopping.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        step, total = state["fitting"].get("step", 0), self.fitting.total  # a closed form has none
        if type(step) is not int or not 0 <= step <= total:
            raise RunError(f"the checkpoint is at step {step!r}, but the training has {total}.")
        self.fitting.load_state_dict(state["fitting"])
        self.stopping.load_state_dict(state["stopping"])
