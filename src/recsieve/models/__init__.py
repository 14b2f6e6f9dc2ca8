"""Recommender models. A new one is a file here and a line in `MODELS`.

A model that is trained by gradients is a `Model`; any other is a `Learner`, which fits itself.
"""

from recsieve.models.base import Model
from recsieve.models.cdae import CDAE
from recsieve.models.gmf import GMF
from recsieve.models.learner import Fitting, Learner, Run
from recsieve.models.mf import MF
from recsieve.models.neumf import NeuMF
from recsieve.models.nmtr import NMTR
from recsieve.models.scorer import Factors, Scorer
from recsieve.registry import Registry

MODELS: Registry[type[Model] | type[Learner]] = Registry(
    "model",
    {
        "gmf": GMF,
        "neumf": NeuMF,
        "cdae": CDAE,
        "nmtr": NMTR,
        "mf": MF,
    },
)

__all__ = [
    "CDAE",
    "GMF",
    "MF",
    "MODELS",
    "NMTR",
    "Factors",
    "Fitting",
    "Learner",
    "Model",
    "NeuMF",
    "Run",
    "Scorer",
]
