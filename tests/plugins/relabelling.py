"""A strategy as somebody else would write it: it remembers losses over epochs, and relabels what stays hard."""

from dataclasses import KW_ONLY, dataclass, field

import torch

from recsieve.denoisers import Context, NextEpoch


@dataclass
class Relabelling:
    """Learn as disliked, from the next epoch on, the interactions with the largest mean losses so far."""

    share: float = 0.1
    _: KW_ONLY
    context: Context = field(repr=False, compare=False)

    def __post_init__(self):
        self.total, self.epochs = torch.zeros(self.context.n_interactions), 0

    def weights(self, batch):
        return torch.ones_like(batch.losses)

    def end_epoch(self, memory):
        self.total += memory.losses.nan_to_num()
        self.epochs += 1
        hardest = self.total.argsort(descending=True, stable=True)[: int(self.share * len(self.total))]
        return NextEpoch(labels=torch.ones_like(self.total).index_fill(0, hardest, 0.0))

    def state_dict(self):
        return {"total": self.total, "epochs": self.epochs}

    def load_state_dict(self, state):
        self.total, self.epochs = state["total"], state["epochs"]
