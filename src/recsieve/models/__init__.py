"""Recommender models. A new one is a file here and a line in `MODELS`."""

from collections.abc import Callable

from recsieve.models.base import Model
from recsieve.models.cdae import CDAE
from recsieve.models.gmf import GMF
from recsieve.models.neumf import NeuMF
from recsieve.models.nmtr import NMTR

MODELS: dict[str, Callable[..., Model]] = {
    "gmf": GMF,
    "neumf": NeuMF,
    "cdae": CDAE,
    "nmtr": NMTR,
}

__all__ = ["CDAE", "GMF", "MODELS", "NMTR", "Model", "NeuMF"]
