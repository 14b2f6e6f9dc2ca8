"""What the paper printed, and the settings behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recsieve.simulation.config import TABLE2

MODELS = ("gmf", "neumf", "cdae")
METHODS = ("CE", "T-CE", "R-CE")
BATCH = 1024
EPOCHS = 10  # of the authors' trainings, without early stopping

# Table 1: Recall@20 and NDCG@20 of NeuMF under clean and normal training.
TABLE1 = {
    "adressa": {"clean": (0.4040, 0.1963), "CE": (0.3159, 0.1886)},
    "amazon-book": {"clean": (0.0293, 0.0159), "CE": (0.0265, 0.0145)},
}

CUTOFFS = {"adressa": (3, 20), "amazon-book": (50, 100), "yelp": (50, 100)}

# Table 3: Recall and NDCG at the data set's two cutoffs, in the order R, R, N, N.
TABLE3 = {
    "adressa": {
        "gmf": {
            "CE": (0.0880, 0.2141, 0.0780, 0.1237),
            "T-CE": (0.0892, 0.2170, 0.0790, 0.1254),
            "R-CE": (0.0891, 0.2142, 0.0765, 0.1229),
        },
        "neumf": {
            "CE": (0.1416, 0.3159, 0.1267, 0.1886),
            "T-CE": (0.1418, 0.3106, 0.1227, 0.1840),
            "R-CE": (0.1414, 0.3185, 0.1266, 0.1896),
        },
        "cdae": {
            "CE": (0.1394, 0.3208, 0.1168, 0.1808),
            "T-CE": (0.1406, 0.3220, 0.1176, 0.1839),
            "R-CE": (0.1388, 0.3164, 0.1200, 0.1827),
        },
    },
    "amazon-book": {
        "gmf": {
            "CE": (0.0609, 0.0949, 0.0256, 0.0331),
            "T-CE": (0.0707, 0.1113, 0.0292, 0.0382),
            "R-CE": (0.0682, 0.1075, 0.0275, 0.0362),
        },
        "neumf": {
            "CE": (0.0512, 0.0829, 0.0211, 0.0282),
            "T-CE": (0.0725, 0.1158, 0.0289, 0.0385),
            "R-CE": (0.0628, 0.1018, 0.0248, 0.0334),
        },
        "cdae": {
            "CE": (0.0989, 0.1507, 0.0414, 0.0527),
            "T-CE": (0.1088, 0.1645, 0.0454, 0.0575),
            "R-CE": (0.1022, 0.1560, 0.0424, 0.0542),
        },
    },
    "yelp": {
        "gmf": {
            "CE": (0.0840, 0.1339, 0.0352, 0.0465),
            "T-CE": (0.0871, 0.1437, 0.0359, 0.0486),
            "R-CE": (0.0861, 0.1361, 0.0366, 0.0480),
        },
        "neumf": {
            "CE": (0.0750, 0.1226, 0.0304, 0.0411),
            "T-CE": (0.0825, 0.1396, 0.0323, 0.0451),
            "R-CE": (0.0788, 0.1304, 0.0320, 0.0436),
        },
        "cdae": {
            "CE": (0.1112, 0.1732, 0.0471, 0.0611),
            "T-CE": (0.1165, 0.1806, 0.0504, 0.0652),
            "R-CE": (0.1161, 0.1801, 0.0488, 0.0632),
        },
    },
}

# The last column of Table 3, as printed: the mean relative improvement over CE, in percent.
IMPROVEMENT = {
    "gmf": {"T-CE": 7.14, "R-CE": 4.34},
    "neumf": {"T-CE": 15.62, "R-CE": 8.77},
    "cdae": {"T-CE": 5.36, "R-CE": 2.46},
}

# Table 4: GMF on Amazon-book, R@50, R@100, N@50, N@100.
TABLE4_DATA = "amazon-book"
TABLE4 = {
    "CE": (0.0609, 0.0949, 0.0256, 0.0331),
    "T-CE": (0.0707, 0.1113, 0.0292, 0.0382),
    "R-CE": (0.0682, 0.1075, 0.0275, 0.0362),
    "NMTR": (0.0616, 0.0967, 0.0254, 0.0332),
    "NR": (0.0615, 0.0958, 0.0254, 0.0331),
}

# Where the paper searched.
DROP_RATES = (0.05, 0.1, 0.2)
RAMPS = (1_000, 5_000, 10_000, 20_000, 30_000)
BETAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 1.0)
# Figure 8 goes beyond the grid: "if ε_max exceeds 0.4, the performance drops significantly".
SENSITIVITY_RATES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.45)


@dataclass(frozen=True)
class Preset:
    """The settings behind a model's cells of Table 3, and the iterations at which they were chosen."""

    max_drop_rate: float
    ramp_steps: int
    beta: float
    chosen: dict[str, int] | None = None  # None: no log of it was released


# From the released logs, with which all 18 cells of GMF and NeuMF agree. CDAE has none: it takes those of GMF.
_LOGGED = {
    "adressa": {
        "gmf": Preset(0.05, 30_000, 0.2, {"CE": 800, "T-CE": 900, "R-CE": 1_400}),
        "neumf": Preset(0.2, 1_000, 0.25, {"CE": 100, "T-CE": 200, "R-CE": 100}),
    },
    "amazon-book": {
        "gmf": Preset(0.1, 30_000, 0.3, {"CE": 16_000, "T-CE": 30_000, "R-CE": 52_000}),
        "neumf": Preset(0.2, 30_000, 0.25, {"CE": 10_000, "T-CE": 36_000, "R-CE": 36_000}),
    },
    "yelp": {
        "gmf": Preset(0.1, 30_000, 0.2, {"CE": 16_000, "T-CE": 30_000, "R-CE": 16_000}),
        "neumf": Preset(0.2, 30_000, 0.2, {"CE": 8_000, "T-CE": 28_000, "R-CE": 16_000}),
    },
}


def preset(data: str, model: str) -> Preset:
    """The settings behind a model's cells of Table 3 on one of the paper's data sets."""
    logged = _LOGGED[data]
    if model in logged:
        return logged[model]
    other = logged["gmf"]
    return Preset(other.max_drop_rate, other.ramp_steps, other.beta)


def steps_per_epoch(data: str) -> int:
    """The iterations of an epoch on one of the paper's data sets: a negative for each positive, 1,024 samples each."""
    return -(-2 * TABLE2[data]["interactions"] // BATCH)


def validation_steps(data: str) -> int:
    """How often the authors looked for the lowest validation loss."""
    return 100 if data == "adressa" else 2_000


def improvement(values: Mapping[str, Sequence[float]], method: str) -> float:
    """The mean relative change of a method's metrics against those of CE, in percent."""
    plain, other = np.array(values["CE"]), np.array(values[method])
    return float(((other - plain) / plain).mean() * 100)
