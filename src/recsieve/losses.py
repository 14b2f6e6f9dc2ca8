"""Losses for training on noisy interactions, for any PyTorch loop.

>>> loss = TruncatedBCE(max_drop_rate=0.2, ramp_steps=30_000)
>>> loss(logits, labels).backward()

>>> loss = TruncatedBPR(max_drop_rate=0.1)
>>> loss(positive_scores, negative_scores).backward()
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from recsieve.communicator import Communicator, current
from recsieve.denoisers import Denoiser, EpochMemory, LossBatch, NextEpoch, Reweighted, Truncated
from recsieve.errors import ConfigError
from recsieve.fidelity import Fidelity
from recsieve.objectives import BCE, BPR, Hinge, Losses, Objective, Softmax, Square

_ROUNDING = 1e-3  # of soft labels, which may come from half precision


@dataclass(frozen=True)
class WeighedLosses:
    """The losses of a batch, or of a rank's share of it, and the weights that a strategy gave them."""

    losses: Tensor  # (n,) with gradients
    weights: Tensor  # (n,)
    divisor: Tensor  # how many losses the mean is over, on all ranks
    ids: Tensor | None = None  # (n,) which interactions they are of
    ranks: int = 1

    def share(self) -> Tensor:
        """Σ w·ℓ / divisor: the contribution of these losses to the mean."""
        return (self.weights * self.losses).sum() / self.divisor.clamp(min=1)

    def mean(self) -> Tensor:
        """The mean over the kept losses; in a group of ranks, a number whose mean over the ranks is that.

        DistributedDataParallel averages the gradients of the ranks, so the result is correct there.
        """
        return self.ranks * self.share() if self.ranks > 1 else self.share()


class DenoisedLoss(nn.Module):
    """The mean loss over the interactions that the denoiser keeps.

    With a pointwise objective it takes scores and labels of one shape, with a pairwise one the scores of positives and
    of their negatives. Dividing by the number of non-zero weights gives T-CE's mean over what is kept, R-CE's mean over
    the batch, and plain CE. In `eval()` mode the step, and with it the drop rate, does not advance.

    If torch.distributed is initialised, the batches of all ranks are treated as one: their losses are gathered, the
    strategy sees all of them, and the mean divides by the total count. `group=SINGLE_PROCESS` keeps a rank's batch
    separate.
    """

    def __init__(
        self, denoiser: Denoiser, objective: Objective | None = None, group: Communicator | None = None
    ) -> None:
        super().__init__()
        self.denoiser, self.objective, self.step, self.group = denoiser, objective or BCE(), 0, group
        self.memory: EpochMemory | None = None  # of the epoch under way, where the strategy has use for it

    def extra_repr(self) -> str:
        return f"denoiser={self.denoiser!r}, objective={self.objective!r}"

    def forward(
        self,
        scores: Tensor,
        labels: Tensor,
        *,
        weight: Tensor | None = None,
        users: Tensor | None = None,
        items: Tensor | None = None,
        ids: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch, from scores and labels, or from the scores of positives (n,) and negatives (n, k).

        `weight` has a number for each loss. `users`, `items` and `ids` are for strategies that need them.
        """
        if self.objective.pairwise:
            losses, labels = self._pairwise(scores, labels)
        else:
            losses, labels = self._pointwise(scores, labels)
        users, items, ids, weight = (None if one is None else one.reshape(-1) for one in (users, items, ids, weight))
        return self.weigh(
            Losses(losses, losses), labels, users=users, items=items, ids=ids, sample_weights=weight
        ).mean()

    def _pointwise(self, scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        if scores.shape != labels.shape:
            raise ConfigError(
                f"scores have the shape {tuple(scores.shape)} and labels {tuple(labels.shape)}, but each score has a "
                "label: give two tensors of one shape."
            )
        labels = labels.reshape(-1).float()
        if type(self.objective) in (BCE, Square, Hinge):
            _refuse_foreign_labels(labels)
        return self.objective(scores.reshape(-1), labels), labels

    def _pairwise(self, positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
        n = positive.numel()
        if negative.numel() == 0 or negative.shape[0] != positive.shape[0] or negative.numel() % max(n, 1):
            raise ConfigError(
                f"positive scores have the shape {tuple(positive.shape)} and negative ones {tuple(negative.shape)}, "
                "but each positive has as many negatives: give (n,) and (n, k)."
            )
        losses = self.objective(positive.reshape(-1), negative.reshape(n, -1))
        return losses, torch.ones_like(losses)

    @torch._disable_dynamo  # the step is a number: compiled, it would be a new program at each
    def weigh(
        self,
        losses: Losses,
        labels: Tensor,
        *,
        users: Tensor | None = None,
        items: Tensor | None = None,
        ids: Tensor | None = None,
        sample_weights: Tensor | None = None,
        positions: Tensor | None = None,
        n_all: int = 0,
    ) -> WeighedLosses:
        """The losses of a batch and their weights, not yet reduced.

        `positions` are their positions in the batch of all ranks, which has `n_all` rows; without it, the rows are in
        rank order.
        """
        # The step advances first: the paper counts from T = 1. Evaluation looks at the rate of the last step.
        self.step += self.training
        batch = LossBatch(losses.judged.detach(), labels, max(self.step, 1), users, items, ids)
        group = current() if self.group is None else self.group
        if group.size == 1:
            weights = self.weights_of(batch, sample_weights)
            return WeighedLosses(losses.minimised, weights, self._divisor(weights), ids)
        whole, given, own = gather_batch(batch, sample_weights, positions, n_all, group)
        weights = self.weights_of(whole, given)
        return WeighedLosses(losses.minimised, weights[own], self._divisor(weights), ids, group.size)

    def weights_of(self, batch: LossBatch, sample_weights: Tensor | None) -> Tensor:
        """The weights of a whole batch: the strategy's, times the given ones."""
        weights = self.denoiser.weights(batch)
        if sample_weights is not None:
            weights = weights * sample_weights
        if self.objective.pairwise:  # what is not liked has no pair to win
            weights = weights * (batch.labels > 0)
        if self.memory is not None and self.training and batch.ids is not None:
            self.memory.add(batch.losses, weights, batch.ids)
        return weights

    def _divisor(self, weights: Tensor) -> Tensor:
        divides_by = getattr(self.denoiser, "divides_by", "kept")
        return (weights > 0).sum() if divides_by == "kept" else torch.tensor(len(weights), device=weights.device)

    def end_epoch(self) -> NextEpoch | None:
        """Let the strategy process the epoch; returns what it wants for the next one."""
        if self.memory is None:
            return None
        asked: NextEpoch | None = self.denoiser.end_epoch(self.memory)  # type: ignore[attr-defined]
        self.memory.clear()
        return asked

    def get_extra_state(self) -> dict[str, Any]:
        memory = self.denoiser.state_dict() if hasattr(self.denoiser, "state_dict") else {}
        epoch = {} if self.memory is None else {"epoch": self.memory.sums.clone()}
        return {"step": self.step, "memory": memory, **epoch}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        if not isinstance(state["step"], int) or state["step"] < 0:
            raise ValueError(f"the loss is at step {state['step']!r}")
        self.step = state["step"]
        if hasattr(self.denoiser, "load_state_dict"):
            self.denoiser.load_state_dict(state["memory"])
        if self.memory is not None:
            self.memory.sums.copy_(state["epoch"])


def gather_batch(
    batch: LossBatch, sample_weights: Tensor | None, positions: Tensor | None, n_all: int, group: Communicator
) -> tuple[LossBatch, Tensor | None, Tensor]:
    """The batch of all ranks with its given weights, and the positions of this rank's losses in it."""
    given = (batch.losses, batch.labels, batch.users, batch.items, batch.ids, sample_weights)
    # One message for all of them: float64 holds float32 and whole numbers up to 2^53 as they are.
    columns = torch.stack([column.double() for column in given if column is not None], dim=1)
    if positions is None:
        parts = group.all_gather_rows(columns)
        first = sum(len(part) for part in parts[: group.rank])
        gathered, own = torch.cat(parts), torch.arange(first, first + len(columns), device=columns.device)
    else:
        present = columns.new_zeros(n_all, 1 + columns.shape[1])
        present[positions, 0], present[positions, 1:] = 1.0, columns
        group.all_reduce(present)  # no position is on two ranks; a negative may have no loss of its own
        taken = present[:, 0] > 0
        gathered, own = present[taken, 1:], (taken.cumsum(0) - 1)[positions]
    rest = iter(gathered.unbind(dim=1))
    whole = [None if column is None else next(rest).to(column.dtype) for column in given]
    losses, labels, users, items, ids, weights = whole
    return LossBatch(losses, labels, batch.step, users, items, ids), weights, own  # type: ignore[arg-type]


@torch._disable_dynamo  # whether they are refused depends on their values
def _refuse_foreign_labels(labels: Tensor) -> None:
    """Raise an error for labels such as −1 and 1, whose losses would be finite and wrong."""
    if not len(labels):
        return
    lowest, highest = torch.stack(labels.aminmax()).tolist()
    if not (lowest >= -_ROUNDING and highest <= 1 + _ROUNDING):
        raise ConfigError(
            f"labels are from {lowest:g} to {highest:g}, but 1 is a positive and 0 a negative: give numbers from 0 to "
            "1, e.g. (labels > 0).float() for labels of -1 and 1."
        )


class DropInLoss(DenoisedLoss):
    """The base of losses that make their strategy and objective from options, which `print` shows."""

    def extra_repr(self) -> str:
        parts: tuple[Any, ...] = (self.denoiser, self.objective)
        return ", ".join(f"{option.name}={getattr(part, option.name)!r}" for part in parts for option in fields(part))


class TruncatedLoss(DropInLoss):
    """The base of losses that drop the positives with the largest losses of each batch, at a growing rate."""

    kind: ClassVar[type[Objective]]

    def __init__(
        self,
        max_drop_rate: float = Truncated.max_drop_rate,
        ramp_steps: int = Truncated.ramp_steps,
        fidelity: Fidelity = Truncated.fidelity,
        exponent: float = Truncated.exponent,
    ) -> None:
        super().__init__(Truncated(max_drop_rate, ramp_steps, fidelity, exponent), self.kind())


class ReweightedLoss(DropInLoss):
    """The base of losses in which an interaction with a large loss counts less."""

    kind: ClassVar[type[Objective]]

    def __init__(self, beta: float = Reweighted.beta, fidelity: Fidelity = Reweighted.fidelity) -> None:
        super().__init__(Reweighted(beta, fidelity), self.kind())


class TruncatedBCE(TruncatedLoss):
    """Cross-entropy that drops the positives with the largest losses of each batch, at a growing rate (T-CE)."""

    kind = BCE


class ReweightedBCE(ReweightedLoss):
    """Cross-entropy in which an interaction with a large loss counts less (R-CE)."""

    kind = BCE


class TruncatedSquare(TruncatedLoss):
    """Squared error that drops the positives with the largest losses of each batch, at a growing rate."""

    kind = Square


class ReweightedSquare(ReweightedLoss):
    """Squared error in which an interaction with a large loss counts less."""

    kind = Square


class TruncatedHinge(TruncatedLoss):
    """Hinge loss that drops the positives with the largest losses of each batch, at a growing rate."""

    kind = Hinge


class ReweightedHinge(ReweightedLoss):
    """Hinge loss in which an interaction with a large loss counts less."""

    kind = Hinge


class TruncatedBPR(TruncatedLoss):
    """BPR that drops the positives with the largest losses of each batch, at a growing rate."""

    kind = BPR


class ReweightedBPR(ReweightedLoss):
    """BPR in which a positive with a large loss counts less."""

    kind = BPR


class TruncatedSoftmax(DropInLoss):
    """Sampled softmax that drops the positives with the largest losses of each batch, at a growing rate."""

    def __init__(
        self,
        max_drop_rate: float = Truncated.max_drop_rate,
        ramp_steps: int = Truncated.ramp_steps,
        temperature: float = Softmax.temperature,
        fidelity: Fidelity = Truncated.fidelity,
    ) -> None:
        super().__init__(Truncated(max_drop_rate, ramp_steps, fidelity), Softmax(temperature))


class ReweightedSoftmax(DropInLoss):
    """Sampled softmax in which a positive with a large loss counts less."""

    def __init__(
        self,
        beta: float = Reweighted.beta,
        temperature: float = Softmax.temperature,
        fidelity: Fidelity = Reweighted.fidelity,
    ) -> None:
        super().__init__(Reweighted(beta, fidelity), Softmax(temperature))
