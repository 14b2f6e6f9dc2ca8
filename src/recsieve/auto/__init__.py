"""Choosing on validation among trainings, weights and ranking offsets: what `denoiser="auto"` does."""

from recsieve.auto.choice import Candidate, Choice
from recsieve.auto.contest import Contest, hold_contest

__all__ = ["Candidate", "Choice", "Contest", "hold_contest"]
