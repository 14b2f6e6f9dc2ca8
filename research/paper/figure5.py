"""Figure 5: the loss and the weights of R-CE, which follow from its formula alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from recsieve.denoisers import LossBatch, Reweighted
from research.paper.data_sets import DataSet
from research.paper.runs import Options, Records, RunSpec

BETAS = (0.0, 0.1, 0.2, 0.4, 1.0)
POINTS = 100


def runs(data: DataSet, options: Options, records: Records) -> list[RunSpec]:
    return []


def collect(data: DataSet, options: Options, records: Records) -> dict[str, Any]:
    return {}


def curves() -> dict[str, Any]:
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
