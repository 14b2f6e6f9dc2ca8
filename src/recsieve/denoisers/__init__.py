"""Denoising strategies: losses in, weights out. A new one is a file here and a line in the registry."""

from recsieve.denoisers.base import Denoiser, LossBatch
from recsieve.denoisers.keep_all import KeepAll
from recsieve.denoisers.registry import DENOISERS, make_denoiser
from recsieve.denoisers.reweighted import Reweighted
from recsieve.denoisers.truncated import Truncated

__all__ = ["DENOISERS", "Denoiser", "KeepAll", "LossBatch", "Reweighted", "Truncated", "make_denoiser"]
