"""What is looked at before models are trained by gradients."""

from dataclasses import replace

import pytest

from recsieve.communicator import Communicator
from recsieve.errors import ConfigError
from recsieve.models import GMF
from recsieve.settings import TrainingPlan
from recsieve.training.learner import GradientLearner


def test_tables_that_do_not_fit_into_memory_are_refused_and_torchrec_needs_a_part_on_each_rank(small_data, monkeypatch):
    data = small_data()
    whole = 4 * 4 * 8 * (data.n_users + data.n_items)  # weights, two moments, the best weights
    on_two = replace(data, group=Communicator(0, 2))
    auto, torchrec = (GradientLearner(GMF, {"factors": 8}, TrainingPlan(engine=name)) for name in ("auto", "torchrec"))

    monkeypatch.setattr("recsieve.training.learner.free_memory", lambda: whole)
    auto.require_memory(data)
    monkeypatch.setattr("recsieve.training.learner.free_memory", lambda: whole // 2)
    torchrec.require_memory(on_two)
    for learner, given in ((auto, data), (auto, on_two), (torchrec, data)):
        with pytest.raises(ConfigError, match=r"GMF with 8 factors for .* is free: use fewer factors"):
            learner.require_memory(given)
