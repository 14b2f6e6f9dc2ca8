"""Evaluation by full ranking."""

from recsieve.evaluation.metrics import Evaluation, evaluate
from recsieve.evaluation.ranking import rank_items

__all__ = ["Evaluation", "evaluate", "rank_items"]
