from dataclasses import replace

import numpy as np
import pytest

from recsieve.audit.evidence import gather_evidence
from recsieve.audit.mixed_model import fit_mixed_model
from recsieve.audit.noise_model import MODEL, POPULARITY, enough_labels, labels_of, learn_from_labels
from recsieve.data.interactions import UNLABELLED
from recsieve.evaluation.detection import detection


@pytest.fixture(scope="module")
def learn(regretful, dynamics, evidence):
    def run(data):
        return learn_from_labels(data, dynamics, evidence, seed=0, report=lambda done: None)

    return run


def test_a_third_of_the_labels_finds_noise_far_better_than_none(regretful, evidence, learn, labels):
    data = labels(regretful, 0.33)
    unknown, noise = labels_of(data) == UNLABELLED, regretful.is_false_positive
    learnt = learn(data)
    assert learnt.method == MODEL
    with_labels = detection(learnt.logits[unknown], noise[unknown])
    without = detection(evidence.suspicion()[unknown], noise[unknown])
    assert with_labels["precision"] > 1.2 * without["precision"]
    assert learnt.calibration["ece"] < 0.1
    assert learnt.cross_validation[MODEL]["roc_auc"] > learnt.cross_validation[POPULARITY]["roc_auc"]


def test_a_labelled_interaction_is_judged_without_its_label(regretful, learn, labels):
    data = labels(regretful, 0.33)
    row = np.flatnonzero(labels_of(data) != UNLABELLED)[0]
    flags = labels_of(data).copy()
    flags[row] = 1 - flags[row]
    turned = replace(data, false_positive=flags)
    before, after = learn(data).logits[row], learn(turned).logits[row]
    assert after == pytest.approx(before, abs=0.15)  # only the calibration of the other folds can have moved


def test_a_model_that_does_not_beat_popularity_on_labels_it_has_not_seen_is_not_used(
    regretful, learn, labels, monkeypatch
):
    def overfitted(design, users, items, logits, noise):
        model = fit_mixed_model(design, users, items, logits, noise)
        return replace(model, user_effects=np.random.default_rng(len(users)).normal(0, 3, len(model.user_effects)))

    monkeypatch.setattr("recsieve.audit.noise_model.fit_mixed_model", overfitted)
    data = labels(regretful, 0.33)
    learnt = learn(data)
    assert learnt.method == POPULARITY
    users, items = np.arange(10, dtype=np.int32), np.full(10, 7, np.int32)
    assert np.ptp(learnt.pairs.probability(users, items)) == 0  # popularity is the item's alone


def test_pairs_agree_with_the_interactions_and_know_the_unobserved(regretful, learn, labels):
    learnt = learn(labels(regretful, 0.33))
    probability = learnt.pairs.probability(regretful.users, regretful.items)
    assert np.corrcoef(probability, learnt.probability)[0, 1] > 0.9
    users = np.array([20, 21], np.int32)
    block = learnt.pairs.log_clean(users)
    assert block.shape == (2, regretful.n_items)
    one = learnt.pairs.probability(np.array([21], np.int32), np.array([7], np.int32))[0]
    assert block[1, 7] == pytest.approx(np.log1p(-one), abs=1e-4)


def test_too_few_labels_of_either_kind_are_not_enough(regretful, labels):
    assert not enough_labels(replace(regretful, false_positive=None))
    assert not enough_labels(labels(regretful, 0.005))
    assert enough_labels(labels(regretful, 0.33))


def test_evidence_is_made_without_labels(regretful, dynamics, evidence):
    blind = gather_evidence(replace(regretful, false_positive=None), dynamics)
    np.testing.assert_array_equal(blind.suspicion(), evidence.suspicion())
