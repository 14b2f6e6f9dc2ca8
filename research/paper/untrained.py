"""What needs no training: Table 2, and Figure 5, which follows from its formula alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from recsieve.denoisers import LossBatch, Reweighted
from research.paper import published
from research.paper.data_sets import DataSet
from research.paper.runs import RunSpec, Study

BETAS = (0.0, 0.1, 0.2, 0.4, 1.0)
POINTS = 100


@dataclass(frozen=True)
class Untrained:
    """A result without runs; what is counted of every data set stands beside it (`DataSet.facts`)."""

    shown: Callable[[DataSet], dict[str, Any]]

    def runs(self, study: Study) -> list[RunSpec]:
        return []

    def collect(self, study: Study) -> dict[str, Any]:
        return self.shown(study.data)


def published_counts(data: DataSet) -> dict[str, Any]:
    """The published counts of one of the paper's data sets, or of the one that a simulated one has the shape of."""
    alike = data.is_papers or data.name.startswith("simulated")
    return {"published": published.TABLE2[data.preset]} if alike else {}


def reweighting() -> dict[str, Any]:
    """Weight and weighed loss of an observed interaction against its predicted probability, for several β."""
    predicted = np.linspace(1, POINTS, POINTS) / POINTS
    losses = torch.from_numpy(-np.log(predicted))
    rows = []
    for beta in BETAS:
        weights = Reweighted(beta).weights(LossBatch(losses, torch.ones(POINTS), step=1))
        rows += [
            {"beta": beta, "predicted": p, "weight": w, "loss": loss}
            for p, w, loss in zip(predicted.tolist(), weights.tolist(), (weights * losses).tolist(), strict=True)
        ]
    return {"curves": rows}


TABLE2, FIGURE5 = Untrained(published_counts), Untrained(lambda data: {})
