"""Checks of the contracts of models, objectives, strategies and checks, for ours and for yours.

>>> check_objective(MyObjective())
>>> check_denoiser(lambda context: MyStrategy(context=context))
>>> check_model(MyModel, {"factors": 8})  # trained by gradients
>>> check_learner(MyClosedForm())  # fits itself
>>> check_check(MyCheck)  # of an audit

Each raises an AssertionError that says in one sentence what is wrong.
"""

from recsieve.testing.checks import check_check
from recsieve.testing.denoisers import check_denoiser
from recsieve.testing.learners import check_learner
from recsieve.testing.models import check_model
from recsieve.testing.objectives import check_objective

__all__ = ["check_check", "check_denoiser", "check_learner", "check_model", "check_objective"]
