"""The random control: what T-CE gains beyond it is due to its choice, not to dropping."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor

from recsieve.denoisers.base import LossBatch
from recsieve.denoisers.schedule import DropSchedule


@dataclass(frozen=True)
class RandomDrop(DropSchedule):
    """Drop observed interactions at random, at the rate and ramp of T-CE, others in each step.

    The choice is a hash of `seed`, step and the id of the interaction (or its position in the batch without ids), so a
    resumed training gives the same result to the bit.
    """

    _: KW_ONLY
    seed: int = 0

    def weights(self, batch: LossBatch) -> Tensor:
        positions = torch.arange(len(batch.losses), device=batch.losses.device)
        ids = positions if batch.ids is None else batch.ids.long()
        key = mix(mix(torch.tensor(self.seed)) + batch.step).to(ids.device)
        return self.drop_highest(mix(mix(ids) ^ key).double(), batch)


def mix(x: Tensor) -> Tensor:
    """Turn counters into 32 random bits; no product exceeds 63 bits, so the result is the same on every device."""
    x = (x ^ (x >> 32)) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    return x ^ (x >> 16)
