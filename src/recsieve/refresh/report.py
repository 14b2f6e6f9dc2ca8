"""What a refresh changed, and its score on held-out new interactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recsieve.display import counted
from recsieve.evaluation import evaluate
from recsieve.models import Scorer
from recsieve.refresh.grow import Grown

METRIC, K = "ndcg@20", 20
NO_WORSE = 0.98  # of the score of a training from scratch


@dataclass(frozen=True)
class Refreshed:
    """What was added and removed, what was done to each model, and NDCG@20 on held-out new interactions."""

    interactions: int
    users: int
    items: int
    known: int  # rows of pairs that the run had already
    forgotten: int
    unknown: int  # ids to forget that nobody had
    models: Mapping[str, str]
    held_out: int
    before: float | None = None  # of the users who were there before, by the run before
    after: float | None = None  # of the same users, refreshed
    everybody: float | None = None  # of all users, refreshed
    anew: float | None = None  # of all users, trained from scratch, where that was asked for
    seconds: float | None = None
    anew_seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """The report in sentences."""
        said = []
        if self.interactions or not self.forgotten:
            users, items = counted(self.users, "new user"), counted(self.items, "new item")
            said.append(f"{counted(self.interactions, 'interaction')} added, with {users} and {items}.")
        if self.known:
            said.append(f"ignored: {counted(self.known, 'row')} of pairs that are already in the run.")
        if self.forgotten or self.unknown:
            unknown = f"; not in the run: {counted(self.unknown, 'id')}" if self.unknown else ""
            said.append(f"forgotten: {counted(self.forgotten, 'user')}{unknown}.")
        said += [f"{name} {done}." for name, done in self.models.items()]
        return said + self._worth()

    def _worth(self) -> list[str]:
        if self.everybody is None:
            return ["no new interactions are held out, so the refreshed run cannot be compared."]
        said = []
        if self.before is not None:
            said.append(
                f"{METRIC} on {self.held_out:,} held-out new interactions, for users who were there before: "
                f"{self.before:.4f} before, {self.after:.4f} now."
            )
        if self.anew is None:
            return [*said, f"{METRIC} for all users: {self.everybody:.4f}."]
        verdict = (
            "no worse" if self.everybody >= NO_WORSE * self.anew else "worse: keep the one that is trained from scratch"
        )
        return [
            *said,
            f"{METRIC} for all users: {self.everybody:.4f}, and {self.anew:.4f} trained from scratch: {verdict}.",
        ]


def make_report(grown: Grown, models: Mapping[str, str], before: Scorer, after: Scorer, seconds: float) -> Refreshed:
    """Count what changed, and evaluate on the held-out new data."""
    return Refreshed(
        sum(map(len, grown.added.parts)), int((grown.users < 0).sum()), int((grown.items < 0).sum()), grown.known,
        int((~grown.stayed).sum()), grown.unknown, models, seconds=round(seconds, 2), **_measured(grown, before, after),
    )  # fmt: skip


def _measured(grown: Grown, before: Scorer, after: Scorer) -> dict[str, Any]:
    """NDCG@20 on the new interactions of the test part, before and after."""
    test = grown.added.test
    if not len(test):
        return {"held_out": 0}
    seen = grown.split.train.csr.union(grown.split.validation.csr)
    old = test.take(grown.users[test.users] >= 0)

    def ndcg(scorer: Scorer, part: Any) -> float | None:
        return evaluate(scorer, part.csr, seen, [K]).overall[METRIC] if len(part) else None

    widened = Widened(before, grown)
    return {
        "held_out": len(test), "before": ndcg(widened, old), "after": ndcg(after, old), "everybody": ndcg(after, test),
    }  # fmt: skip


class Widened(Scorer):
    """A model before its refresh, with the new codes; it does not recommend items that it does not know."""

    def __init__(self, before: Scorer, grown: Grown) -> None:
        super().__init__()
        self.n_users, self.n_items = grown.split.train.n_users, grown.split.train.n_items
        self._before, self._codes = before.prepare(), torch.from_numpy(np.maximum(grown.users, 0))

    def score(self, users: Tensor) -> Tensor:
        scores = torch.full((len(users), self.n_items), -torch.inf)
        scores[:, : self._before.n_items] = self._before.score(self._codes[users])
        return scores
