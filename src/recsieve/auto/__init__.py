"""`auto`: the choice of a model, noise weights, ranking offsets and blends on validation data."""

from recsieve.auto.candidates import Candidate, Spec
from recsieve.auto.choice import Choice
from recsieve.auto.plan import Plan, make_plan
from recsieve.auto.selection import Search, Selection

__all__ = ["Candidate", "Choice", "Plan", "Search", "Selection", "Spec", "make_plan"]
