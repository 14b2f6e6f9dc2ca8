"""Denoising strategies: losses in, weights out. A new one is a file here and a line in the registry."""

from recsieve.denoisers.base import Context, Denoiser, LossBatch, NextEpoch
from recsieve.denoisers.dcf import DCF
from recsieve.denoisers.eard import EARD
from recsieve.denoisers.keep_all import KeepAll
from recsieve.denoisers.known_positives import FineTuning, WarmUp
from recsieve.denoisers.least_popular_drop import LeastPopularDrop
from recsieve.denoisers.memory import EpochMemory, InteractionMemory
from recsieve.denoisers.negative_feedback import NegativeFeedback
from recsieve.denoisers.pld import PLD
from recsieve.denoisers.random_drop import RandomDrop
from recsieve.denoisers.registry import DENOISERS, denoiser_options, make_denoiser
from recsieve.denoisers.reweighted import Reweighted
from recsieve.denoisers.reweighted_by_owner import ReweightedByOwner
from recsieve.denoisers.search import Range, SearchSpace
from recsieve.denoisers.truncated import Truncated
from recsieve.denoisers.truncated_by_owner import TruncatedByOwner
from recsieve.denoisers.udt import UDT

__all__ = [
    "DCF",
    "DENOISERS",
    "EARD",
    "PLD",
    "UDT",
    "Context",
    "Denoiser",
    "EpochMemory",
    "FineTuning",
    "InteractionMemory",
    "KeepAll",
    "LeastPopularDrop",
    "LossBatch",
    "NegativeFeedback",
    "NextEpoch",
    "RandomDrop",
    "Range",
    "Reweighted",
    "ReweightedByOwner",
    "SearchSpace",
    "Truncated",
    "TruncatedByOwner",
    "WarmUp",
    "denoiser_options",
    "make_denoiser",
]
