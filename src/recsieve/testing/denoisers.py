"""The contract of a strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS
from recsieve.denoisers import Context, Denoiser, EpochMemory, LossBatch, NextEpoch
from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.objectives import BCE, Losses
from recsieve.testing.promises import generator, promise, through_a_file

Make = Callable[[Context], Denoiser]

_USERS, _ITEMS, _INTERACTIONS = 7, 64, 64
_STEPS_PER_EPOCH, _EPOCHS = 4, 3
_COLUMNS = ("losses", "labels", "users", "items", "ids")


def check_denoiser(make: Make) -> None:
    """Check a strategy, given as a function that creates one from a `Context`: its weights, memory and requests."""
    popularity = torch.randperm(_ITEMS, generator=generator())
    context = Context(_USERS, _ITEMS, _INTERACTIONS, popularity, _STEPS_PER_EPOCH, losses_per_positive=2)
    for n, share in ((1, 0.0), (1, 1.0), (2, 1.0), (64, 0.0), (64, 0.5), (64, 1.0)):
        _check_weights(make(context), _batch(n, share))
    _check_order(make, context)
    _check_without_ids(make(context))
    _check_gradients(make(context))
    _check_course(make, context)
    if hasattr(make(context), "choose"):
        _check_choice(make(context))


def _batch(n: int, share: float = 0.5, step: int = 100) -> LossBatch:
    """Positives first, then negatives; no two losses are alike."""
    labels = (torch.arange(n) < share * n).float()
    losses = torch.rand(n, generator=generator(n + step)) * 5
    ids = torch.where(labels > 0, torch.arange(n), -1)
    return LossBatch(losses, labels, step, torch.arange(n) % _USERS, torch.arange(n) % _ITEMS, ids)


def _check_weights(denoiser: Denoiser, batch: LossBatch) -> None:
    before = {name: getattr(batch, name).clone() for name in _COLUMNS}
    weights = denoiser.weights(batch)
    promise(weights.shape == batch.losses.shape, "there is one weight for each loss.")
    promise(weights.dtype == batch.losses.dtype, "weights are of the type of the losses.")
    promise((weights.isfinite() & (weights >= 0)).all(), "weights are finite numbers from 0 on.")
    promise((weights[batch.labels == 0] > 0).all(), "negatives are never dropped.")
    same = all(torch.equal(getattr(batch, name), value) for name, value in before.items())
    promise(same, "a strategy changes nothing in the batch that it is shown.")


def _check_order(make: Make, context: Context) -> None:
    batch, order = _batch(64), torch.randperm(64, generator=generator(1))
    shuffled = replace(batch, **{name: getattr(batch, name)[order] for name in _COLUMNS})
    expected, found = (make(context).weights(given) for given in (batch, shuffled))
    promise(
        torch.allclose(found, expected[order]),
        "weights do not depend on the order of the batch, nor on chance that is not seeded.",
    )


def _check_choice(denoiser: Any) -> None:
    k = denoiser.n_candidates(10**9)
    promise(isinstance(k, int) and k >= 0, "n_candidates says how many are drawn, 0 for none.")
    losses, draws = torch.rand(64, max(k, 1), generator=generator()), torch.rand(64, generator=generator(1))
    chosen = denoiser.choose(losses, draws)
    known = chosen.shape == (64,) and 0 <= int(chosen.min()) <= int(chosen.max()) < max(k, 1)
    promise(known, "choose says for each row which of its candidates is taken, from 0.")
    promise(
        torch.equal(denoiser.choose(losses, draws), chosen), "what is chosen is a function of losses and draws alone."
    )


def _check_without_ids(denoiser: Denoiser) -> None:
    """Validation asks about interactions that were not trained on, and other people's loops may have no ids."""
    batch = replace(_batch(64), ids=None)
    try:
        kept = denoiser.weights(batch).shape == batch.losses.shape
    except ConfigError:
        kept = True  # it says what it needs
    except Exception:
        kept = False
    promise(
        kept, "a batch without ids, as of validation, gets weights too, or a ConfigError that says what is missing."
    )


def _check_gradients(denoiser: Denoiser) -> None:
    batch = _batch(64)
    logits = torch.randn(64, generator=generator(), requires_grad=True)
    losses = BCE()(logits, batch.labels)
    weighed = DenoisedLoss(denoiser, group=SINGLE_PROCESS).weigh(
        Losses(losses, losses), batch.labels, users=batch.users, items=batch.items, ids=batch.ids
    )
    promise(not weighed.weights.requires_grad, "no gradient flows through weights.")
    weighed.mean().backward()
    promise(logits.grad is not None and logits.grad.isfinite().all(), "gradients of the weighed losses are finite.")


class _Course:
    """A training as a strategy sees it: epochs of the same interactions and new negatives."""

    def __init__(self, denoiser: Denoiser) -> None:
        self.loss, self.step = DenoisedLoss(denoiser, group=SINGLE_PROCESS), 0
        if hasattr(denoiser, "end_epoch"):
            self.loss.memory = EpochMemory(_INTERACTIONS)

    def run(self, until: int) -> Iterator[list[Tensor]]:
        """What the strategy says in each step: weights, and after an epoch what it asks of the next."""
        while self.step < until:
            self.step += 1
            batch = self._batch()
            weighed = self.loss.weigh(
                Losses(batch.losses, batch.losses), batch.labels, users=batch.users, items=batch.items, ids=batch.ids
            )
            asked = self.loss.end_epoch() if self.step % _STEPS_PER_EPOCH == 0 else None
            _check_asked(asked)
            rest = [] if asked is None else [value for value in vars(asked).values() if value is not None]
            yield [weighed.weights.clone(), *(value.clone() for value in rest)]

    def _batch(self) -> LossBatch:
        size = _INTERACTIONS // _STEPS_PER_EPOCH
        ids = torch.cat([torch.arange(size) + size * (self.step % _STEPS_PER_EPOCH), torch.full((size,), -1)])
        return replace(_batch(2 * size, step=self.step), ids=ids)

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.step, "loss": self.loss.get_extra_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        self.loss.set_extra_state(state["loss"])


def _check_course(make: Make, context: Context) -> None:
    """Stop in the middle of an epoch and at its end, and go on with another of the same kind."""
    total = _EPOCHS * _STEPS_PER_EPOCH
    undisturbed = list(_Course(make(context)).run(total))
    for stop in (_STEPS_PER_EPOCH, total // 2):
        stopped, resumed = _Course(make(context)), _Course(make(context))
        said = list(stopped.run(stop))
        resumed.load_state_dict(through_a_file(stopped.state_dict()))
        said += resumed.run(total)
        same = all(
            len(one) == len(other) and all(map(torch.equal, one, other))
            for one, other in zip(said, undisturbed, strict=True)
        )
        promise(
            same,
            "a strategy that goes on from its state_dict says the same to the bit as one that was never stopped: what "
            "it remembers is in state_dict and taken up by load_state_dict.",
        )


def _check_asked(asked: NextEpoch | None) -> None:
    promise(asked is None or isinstance(asked, NextEpoch), "end_epoch gives a NextEpoch, or None.")
    if asked is None:
        return
    for name, most in (("labels", 1.0), ("weights", float("inf"))):
        values = getattr(asked, name)
        if values is not None:
            promise(values.shape == (_INTERACTIONS,), f"end_epoch gives one of `{name}` for each interaction.")
            in_range = values.isfinite().all() and (values >= 0).all() and (values <= most).all()
            promise(in_range, f"end_epoch gives `{name}` that are finite, from 0 {'to 1' if most == 1 else 'on'}.")
    if asked.chosen is not None:
        chosen = asked.chosen
        known = len(chosen) and 0 <= int(chosen.min()) <= int(chosen.max()) < _INTERACTIONS
        promise(known, "end_epoch chooses interactions by their numbers, one or more.")
