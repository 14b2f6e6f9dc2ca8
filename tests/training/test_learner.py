"""What is looked at before models are trained by gradients."""

from dataclasses import replace
from functools import partial

import pytest

from recsieve.communicator import Communicator
from recsieve.errors import ConfigError
from recsieve.models import GMF
from recsieve.training.learner import require_memory


def test_tables_that_do_not_fit_into_memory_are_refused_and_torchrec_needs_a_part_on_each_rank(small_data, monkeypatch):
    data, require = small_data(), partial(require_memory, "gmf", GMF, {"factors": 8})
    whole = 4 * 4 * 8 * (data.n_users + data.n_items)  # weights, two moments, the best weights
    on_two = replace(data, group=Communicator(0, 2))

    monkeypatch.setattr("recsieve.training.learner.free_memory", lambda: whole)
    require("auto", data)
    monkeypatch.setattr("recsieve.training.learner.free_memory", lambda: whole // 2)
    require("torchrec", on_two)
    for engine, given in (("auto", data), ("auto", on_two), ("torchrec", data)):
        with pytest.raises(ConfigError, match=r"gmf with 8 factors for .* is free: use fewer factors"):
            require(engine, given)
