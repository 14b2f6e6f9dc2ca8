"""Denoising strategies: losses in, weights out. A new one is a file here and a line in the registry."""

from recsieve.denoisers.base import Context, Denoiser, LossBatch, NextEpoch
from recsieve.denoisers.interaction_memory import InteractionMemory
from recsieve.denoisers.keep_all import KeepAll
from recsieve.denoisers.least_popular_drop import LeastPopularDrop
from recsieve.denoisers.memory import EpochMemory
from recsieve.denoisers.negative_feedback import NegativeFeedback
from recsieve.denoisers.random_drop import RandomDrop
from recsieve.denoisers.registry import DENOISERS, denoiser_options, make_denoiser
from recsieve.denoisers.reweighted import Reweighted
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.denoisers.truncated import Truncated

__all__ = [
    "DENOISERS",
    "Context",
    "Denoiser",
    "EpochMemory",
    "InteractionMemory",
    "KeepAll",
    "LeastPopularDrop",
    "LossBatch",
    "NegativeFeedback",
    "NextEpoch",
    "RandomDrop",
    "Range",
    "Reweighted",
    "SearchSpace",
    "Truncated",
    "denoiser_options",
    "make_denoiser",
]
