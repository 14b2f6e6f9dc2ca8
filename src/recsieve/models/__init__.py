"""Recommender models. A new one is a file here and a line in `MODELS`."""

from collections.abc import Callable

from recsieve.models.base import Model
from recsieve.models.cdae import CDAE
from recsieve.models.gmf import GMF
from recsieve.models.neumf import NeuMF

MODELS: dict[str, Callable[..., Model]] = {
    "gmf": GMF,
    "neumf": NeuMF,
    "cdae": CDAE,
}

__all__ = ["CDAE", "GMF", "MODELS", "Model", "NeuMF"]
