"""Recommender models. A new one is a file here and a line in `MODELS`.

A model that is trained by gradients is a `Model`; any other is a `Learner`, which fits itself.
"""

from recsieve.memory import free_memory
from recsieve.models.base import Model
from recsieve.models.cdae import CDAE
from recsieve.models.ease import EASE
from recsieve.models.gmf import GMF
from recsieve.models.ials import IALS
from recsieve.models.itemknn import ItemKNN
from recsieve.models.learner import Earlier, Fitting, Learner, Run
from recsieve.models.lightgcn import LightGCN
from recsieve.models.mf import MF
from recsieve.models.neumf import NeuMF
from recsieve.models.nmtr import NMTR
from recsieve.models.popularity import Popularity
from recsieve.models.rp3beta import RP3Beta
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
        "lightgcn": LightGCN,
        "ials": IALS,
        "ease": EASE,
        "itemknn": ItemKNN,
        "rp3beta": RP3Beta,
        "popularity": Popularity,
    },
)


def fits_itself(name: str) -> bool:
    """Whether a model has its own fitting method, without a learning rate and an objective."""
    return not issubclass(MODELS[name], Model)


def fits_memory(name: str, n_items: int) -> bool:
    """Whether a model fits into memory with this many items; models that do not say count as fitting."""
    needed = getattr(MODELS[name], "memory", None)
    return needed is None or needed(n_items) <= free_memory()


__all__ = [
    "CDAE",
    "EASE",
    "GMF",
    "IALS",
    "MF",
    "MODELS",
    "NMTR",
    "Earlier",
    "Factors",
    "Fitting",
    "ItemKNN",
    "Learner",
    "LightGCN",
    "Model",
    "NeuMF",
    "Popularity",
    "RP3Beta",
    "Run",
    "Scorer",
    "fits_itself",
    "fits_memory",
]
