"""Checks of the promises that models, objectives and strategies make, for those of this package and for anybody's.

>>> check_objective(MyObjective())
>>> check_denoiser(lambda context: MyStrategy(context=context))
>>> check_model(MyModel, {"factors": 8})  # trained by gradients
>>> check_learner(MyClosedForm())  # fits itself

Each raises an AssertionError that says in one sentence which promise is broken.
"""

from recsieve.testing.denoisers import check_denoiser
from recsieve.testing.learners import check_learner
from recsieve.testing.models import check_model
from recsieve.testing.objectives import check_objective

__all__ = ["check_denoiser", "check_learner", "check_model", "check_objective"]
