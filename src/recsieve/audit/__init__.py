"""The audit: which interactions of a log are probably noise, and why."""

from recsieve.audit.find import find_noisy_interactions, train_ahead
from recsieve.audit.pairs import PairNoise
from recsieve.audit.result import Audit

__all__ = ["Audit", "PairNoise", "find_noisy_interactions", "train_ahead"]
