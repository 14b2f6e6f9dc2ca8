"""Every model by its name, as somebody trains it who has counts beside the interactions."""

import numpy as np
import polars as pl
import pytest

from recsieve.models import MODELS, Model


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """Plays of songs, some of them often."""
    random = np.random.default_rng(0)
    users, items = np.nonzero(random.random((40, 25)) < 0.4)
    path = tmp_path_factory.mktemp("counts") / "plays.csv"
    numbers = {"plays": random.integers(1, 20, len(users)), "rating": random.integers(1, 6, len(users))}
    pl.DataFrame({"user": users, "item": items, **numbers}).write_csv(path)
    return path


@pytest.mark.parametrize("model", MODELS)
def test_a_column_of_weights_changes_what_a_model_learns(recsieve, counts, tmp_path, model):
    budget = ("--epochs", 1) if issubclass(MODELS[model], Model) else ()
    common = ("--model", model, "--false-positive", "rating < 3", *budget)
    for name, weight in (("plain", ()), ("weighted", ("--weight", "plays"))):
        assert recsieve("train", counts, *common, *weight, "--out", tmp_path / name).code == 0
    plain, weighted = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("plain", "weighted"))
    assert plain != weighted
