"""Training steps by autograd, whatever the model, the objective and the strategy."""

from __future__ import annotations

from recsieve.losses import DenoisedLoss
from recsieve.models import Model
from recsieve.optim import LazyAdam
from recsieve.sampling import Batch
from recsieve.training.steps.base import Stepped, Stepper, weigh_batch


class AutogradStep(Stepper):
    """Scores, differentiates and moves in float32, in one process."""

    def __init__(self, model: Model, loss: DenoisedLoss, optimizer: LazyAdam) -> None:
        self._model, self._loss, self._optimizer = model, loss, optimizer

    def __call__(self, batch: Batch) -> Stepped:
        weighed = weigh_batch(self._model, self._loss, batch)
        mean, penalty = weighed.mean(), self._model.penalty(batch)
        self._optimizer.zero_grad(set_to_none=True)
        (mean if penalty is None else mean + penalty).backward()
        self._optimizer.step()
        assert weighed.ids is not None  # a batch has them
        return Stepped([mean.item()], weighed.losses.detach(), weighed.weights, weighed.ids)
