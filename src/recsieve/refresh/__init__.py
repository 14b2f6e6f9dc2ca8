"""Adding new data to a fitted recommender: ids and vectors stay, and what is new is added."""

from recsieve.refresh.grow import forgotten_ids
from recsieve.refresh.refit import refresh
from recsieve.refresh.report import Refreshed

__all__ = ["Refreshed", "forgotten_ids", "refresh"]
