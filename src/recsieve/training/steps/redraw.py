"""Steps before which a strategy replaces each sampled interaction by another one of the same user."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recsieve.data.interactions import Interactions
from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.models import Model
from recsieve.sampling import Batch
from recsieve.training.steps.base import Stepped, Stepper


class Redraw(Stepper):
    """Samples candidates among the interactions of each row's user, and makes the step on the chosen ones.

    The samples are a function of the seed and the step, so that a resumed training continues with the same rows.
    """

    def __init__(self, inner: Stepper, model: Model, loss: DenoisedLoss, data: Interactions, seed: int) -> None:
        if data.group.size > 1:
            raise ConfigError(
                "the strategy samples from all interactions of a user, which works in one process only: start it "
                "without torchrun."
            )
        self._inner, self._model, self._loss, self._data, self._seed = inner, model, loss, data, seed
        self._by_user, self._counts = np.argsort(data.users, kind="stable"), data.user_counts()
        self._begins = np.cumsum(self._counts) - self._counts

    def __call__(self, batch: Batch) -> Stepped:
        step = self._loss.step + 1
        k = self._loss.denoiser.n_candidates(step)  # type: ignore[attr-defined]
        return self._inner(self._redrawn(batch, k, step) if k else batch)

    @torch.no_grad()
    def _redrawn(self, batch: Batch, k: int, step: int) -> Batch:
        heads = (batch.ids >= 0).nonzero().squeeze(1)
        random = np.random.default_rng([self._seed, step, 0x91D])
        candidates = self.draw(batch.users[heads].numpy(), k, random)  # (n, k)
        losses = self.losses(batch, heads, candidates)
        draws = torch.from_numpy(random.random(len(heads)))
        chosen = self._loss.denoiser.choose(losses, draws)  # type: ignore[attr-defined]
        ids = candidates[torch.arange(len(heads)), chosen]
        return self._with(batch, heads, torch.where(losses.isnan().any(1), batch.ids[heads], ids))

    def draw(self, users: NDArray[np.int32], k: int, random: np.random.Generator) -> Tensor:
        """k interactions of each user: distinct if there are enough, else with replacement (n, k)."""
        counts, numbers = self._counts[users], random.random((len(users), k))
        positions = np.zeros((len(users), k), np.int64)
        for j in range(k):  # Floyd's way to draw without replacement, for all users at once
            last = counts - k + j
            place = (numbers[:, j] * (last + 1)).astype(np.int64)
            taken = (positions[:, :j] == place[:, None]).any(1)
            positions[:, j] = np.where(
                counts < k, (numbers[:, j] * counts).astype(np.int64), np.where(taken, last, place)
            )
        return torch.from_numpy(self._by_user[self._begins[users][:, None] + positions])

    def losses(self, batch: Batch, heads: Tensor, candidates: Tensor) -> Tensor:
        """The loss of each candidate with the negatives of its row (n, k); NaN if there is none."""
        n, k = candidates.shape
        lengths = torch.diff(heads, append=heads.new_tensor([len(batch)]))
        of = torch.arange(n).repeat_interleave(k)  # each row with its negatives as often as there are candidates
        begins = lengths[of].cumsum(0) - lengths[of]
        within = torch.arange(int(lengths[of].sum())) - begins.repeat_interleave(lengths[of])
        rows = batch.take(heads[of].repeat_interleave(lengths[of]) + within)
        tried = self._with(rows, begins, candidates.reshape(-1))
        self._model.eval()  # nothing is left out of the vectors or profiles of those that are only looked at
        found = self._model.losses(tried, self._loss.objective)
        self._model.train()
        all_rows = torch.full((len(tried),), torch.nan)
        all_rows[slice(None) if found.rows is None else found.rows] = found.judged.detach()
        return all_rows[begins].reshape(n, k)

    def _with(self, batch: Batch, heads: Tensor, ids: Tensor) -> Batch:
        """The batch with other interactions in some places."""
        changed = {"items": torch.from_numpy(self._data.items[ids.numpy()]), "ids": ids}
        if batch.weights is not None and self._data.weight is not None:
            changed["weights"] = torch.from_numpy(self._data.weight[ids.numpy()])
        columns = {name: getattr(batch, name).index_copy(0, heads, values) for name, values in changed.items()}
        return replace(batch, **columns)
