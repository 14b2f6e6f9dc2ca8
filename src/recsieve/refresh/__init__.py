"""A fitted recommender and yesterday's log: what is new comes in, ids and vectors stay."""

from recsieve.refresh.grow import forgotten_ids
from recsieve.refresh.refit import refresh
from recsieve.refresh.report import Refreshed

__all__ = ["Refreshed", "forgotten_ids", "refresh"]
