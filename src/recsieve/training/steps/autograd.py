"""Training steps by autograd, for any model, objective and strategy."""

from __future__ import annotations

from torch import Tensor

from recsieve.losses import DenoisedLoss, WeighedLosses
from recsieve.models import Model
from recsieve.optim import LazyAdam
from recsieve.sampling import Batch
from recsieve.training.steps.base import Stepped, Stepper, weigh_batch


class AutogradStep(Stepper):
    """Scores, differentiates and updates, in float32 and one process; `ExactStep` does so in float64 over ranks."""

    def __init__(self, model: Model, loss: DenoisedLoss, optimizer: LazyAdam) -> None:
        self._model, self._loss, self._optimizer = model, loss, optimizer

    def __call__(self, batch: Batch) -> Stepped:
        weighed, penalty = self._weigh(batch)
        share = self._share(weighed)
        self._optimizer.zero_grad(set_to_none=True)
        self._differentiate(share if penalty is None else share + penalty)
        mean = self._update(share.detach())
        assert weighed.ids is not None  # a batch has them
        return Stepped([mean], weighed.losses.detach(), weighed.weights, weighed.ids)

    def _weigh(self, batch: Batch) -> tuple[WeighedLosses, Tensor | None]:
        """The weighed losses of the rows that are here, and the penalty on their parameters."""
        return weigh_batch(self._model, self._loss, batch), self._model.penalty(batch)

    def _share(self, weighed: WeighedLosses) -> Tensor:
        """What these rows contribute to the mean loss."""
        return weighed.share()

    def _differentiate(self, share: Tensor) -> None:
        share.backward()

    def _update(self, share: Tensor) -> float:
        """Make Adam's step; gives the mean loss of the whole batch."""
        self._optimizer.step()
        return share.item()
