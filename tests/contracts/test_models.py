"""What every registered model promises, and some with other options."""

import pytest

from recsieve.models import EASE, IALS, MODELS, ItemKNN, Model
from recsieve.objectives import BPR, Softmax
from recsieve.testing import check_learner, check_model

TRAINED = [name for name in MODELS if issubclass(MODELS[name], Model)]
OTHERS = {
    "ease on targets": EASE(l2=5.0, weights="targets"),
    "bm25": ItemKNN("bm25", 5),
    "all neighbours": ItemKNN("bm25", 0),
    "ials": IALS(factors=4, sweeps=3),
}
LEARNERS = {name: MODELS[name]() for name in MODELS if name not in TRAINED} | OTHERS


@pytest.mark.parametrize("name", TRAINED)
def test_a_model_keeps_its_promises(name):
    check_model(MODELS[name])


@pytest.mark.parametrize(
    ("name", "options", "objective"),
    [
        ("mf", {"dropout": 0.3, "l2": 1e-3}, BPR()),
        ("lightgcn", {"layers": 2}, BPR()),
        ("neumf", {}, Softmax()),
        ("cdae", {"corruption": 0.0}, BPR()),
    ],
)
def test_a_model_keeps_its_promises_with_options_and_pairwise_objectives(name, options, objective):
    check_model(MODELS[name], options, objective)


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_a_learner_keeps_its_promises(learner):
    check_learner(learner)
