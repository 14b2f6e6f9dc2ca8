"""Losses for training on noisy clicks, ready for any PyTorch loop.

loss = TruncatedBCE(max_drop_rate=0.2, ramp_steps=30_000)
loss(logits, labels).backward()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from recsieve.denoisers import Denoiser, LossBatch, Reweighted, Truncated
from recsieve.errors import ConfigError
from recsieve.group import Group, current

PointwiseLoss = Callable[[Tensor, Tensor], Tensor]


def binary_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross-entropy of each interaction in float32, also under autocast, and rounded only once.

    T-CE's choice turns on the last bit of losses that are nearly equal, as all are at first. Computed in float64 (which
    Apple's GPUs do not have), that bit is the same whatever the processor's vector instructions.
    """
    precision = torch.float32 if logits.device.type == "mps" else torch.float64
    losses = functional.binary_cross_entropy_with_logits(logits.to(precision), labels.to(precision), reduction="none")
    return losses.float()


@dataclass(frozen=True)
class WeighedLosses:
    """The losses of a batch, or of a rank's share of it, and the weights that a strategy gave them."""

    losses: Tensor  # (n,) with gradients
    weights: Tensor  # (n,)
    kept: Tensor | None = None  # how many weights are not zero on all ranks; None: count those here
    ranks: int = 1

    def share(self) -> Tensor:
        """Σ w·ℓ / (number of non-zero w on all ranks): what these losses contribute to the mean over what is kept."""
        kept = (self.weights > 0).sum() if self.kept is None else self.kept
        return (self.weights * self.losses).sum() / kept.clamp(min=1)

    def mean(self) -> Tensor:
        """The mean over what is kept; in a group, a number whose mean over the ranks is that.

        So that it needs no care in DistributedDataParallel, which averages the gradients of the ranks.
        """
        return self.ranks * self.share() if self.ranks > 1 else self.share()


class DenoisedLoss(nn.Module):
    """Mean pointwise loss over the interactions that the denoiser keeps.

    Dividing by the number of non-zero weights gives T-CE's mean over what is kept, R-CE's mean over the batch, and
    plain CE. In `eval()` mode the step, and with it the drop rate, stands still.

    Where torch.distributed is initialised, the batches of all ranks are one: their losses are gathered, the strategy
    sees all of them, and the mean divides by the count of all. `group=ALONE` keeps a rank's batch to itself.
    """

    def __init__(
        self, denoiser: Denoiser, pointwise: PointwiseLoss = binary_cross_entropy, group: Group | None = None
    ) -> None:
        super().__init__()
        self.denoiser, self.pointwise, self.step, self.group = denoiser, pointwise, 0, group

    def forward(self, logits: Tensor, labels: Tensor, **about: Any) -> Tensor:
        """The loss of a batch; `about` may give users, items, ids, and `sample_weights`."""
        return self.weigh(logits, labels, **about).mean()

    def weigh(
        self,
        logits: Tensor,
        labels: Tensor,
        *,
        users: Tensor | None = None,
        items: Tensor | None = None,
        ids: Tensor | None = None,
        sample_weights: Tensor | None = None,
        places: Tensor | None = None,
        n_all: int = 0,
    ) -> WeighedLosses:
        """The losses of a batch and their weights, not yet reduced.

        `places` says where the interactions stand among the `n_all` of all ranks; without it, those of a rank follow
        those of the rank before.
        """
        if logits.shape != labels.shape or logits.ndim != 1:
            raise ConfigError(
                f"logits have the shape {tuple(logits.shape)} and labels {tuple(labels.shape)}, but each interaction "
                "has one of both: give two vectors of the same length."
            )
        losses = self.pointwise(logits, labels)
        # The step advances first: the paper counts from T = 1. Evaluation looks at the rate of the last step.
        self.step += self.training
        batch = LossBatch(losses.detach(), labels, max(self.step, 1), users, items, ids)
        group = current() if self.group is None else self.group
        if group.size == 1:
            weights = self.denoiser.weights(batch)
            return WeighedLosses(losses, weights if sample_weights is None else weights * sample_weights)
        whole, given, own = gather_batch(batch, sample_weights, places, n_all, group)
        weights = self.denoiser.weights(whole)
        weights = weights if given is None else weights * given
        return WeighedLosses(losses, weights[own], (weights > 0).sum(), group.size)

    def get_extra_state(self) -> dict[str, Any]:
        memory = self.denoiser.state_dict() if hasattr(self.denoiser, "state_dict") else {}
        return {"step": self.step, "memory": memory}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        if hasattr(self.denoiser, "load_state_dict"):
            self.denoiser.load_state_dict(state["memory"])


def gather_batch(
    batch: LossBatch, sample_weights: Tensor | None, places: Tensor | None, n_all: int, group: Group
) -> tuple[LossBatch, Tensor | None, Tensor]:
    """The batch of all ranks and its given weights, and where this rank's interactions are in it."""
    given = (batch.losses, batch.labels, batch.users, batch.items, batch.ids, sample_weights)
    # One message for all of them: float64 holds float32 and whole numbers up to 2^53 as they are.
    columns = torch.stack([column.double() for column in given if column is not None], dim=1)
    if places is None:
        parts = group.gather(columns)
        first = sum(len(part) for part in parts[: group.rank])
        gathered, own = torch.cat(parts), torch.arange(first, first + len(columns), device=columns.device)
    else:
        gathered, own = columns.new_zeros(n_all, columns.shape[1]), places
        gathered[places] = columns
        group.add_up(gathered)  # no place is on two ranks
    rest = iter(gathered.unbind(dim=1))
    whole = [None if column is None else next(rest).to(column.dtype) for column in given]
    losses, labels, users, items, ids, weights = whole
    return LossBatch(losses, labels, batch.step, users, items, ids), weights, own  # type: ignore[arg-type]


class CascadedLoss(DenoisedLoss):
    """The loss of satisfaction, and of the click before it, on the same interactions (NMTR; Gao et al., 2019).

    `click` gives the logits of clicks. The labels say what satisfied, and `ids` what was clicked; without ids, as in
    validation, a click is a label above 0 too.
    """

    def __init__(
        self,
        denoiser: Denoiser,
        click: Callable[[Tensor, Tensor], Tensor],
        satisfaction_share: float = 0.5,
        pointwise: PointwiseLoss = binary_cross_entropy,
        group: Group | None = None,
    ) -> None:
        super().__init__(denoiser, pointwise, group)
        self.click, self.satisfaction_share = click, satisfaction_share

    def weigh(self, logits: Tensor, labels: Tensor, **about: Any) -> WeighedLosses:
        users, items, ids = (about.get(name) for name in ("users", "items", "ids"))
        if users is None or items is None:
            raise ConfigError("clicks are predicted from who met what: give `users` and `items` with the logits.")
        satisfaction = super().weigh(logits, labels, **about)
        logits = self.click(users, items).to(logits.dtype)
        clicks = self.pointwise(logits, labels if ids is None else (ids >= 0).to(labels.dtype))
        share = self.satisfaction_share
        return replace(satisfaction, losses=share * satisfaction.losses + (1 - share) * clicks)


class TruncatedBCE(DenoisedLoss):
    """Cross-entropy that drops the largest-loss positives of each batch, at a growing rate (T-CE)."""

    def __init__(self, max_drop_rate: float = 0.2, ramp_steps: int = 30_000) -> None:
        super().__init__(Truncated(max_drop_rate, ramp_steps))


class ReweightedBCE(DenoisedLoss):
    """Cross-entropy in which a large-loss interaction counts less (R-CE)."""

    def __init__(self, beta: float = 0.2) -> None:
        super().__init__(Reweighted(beta))
