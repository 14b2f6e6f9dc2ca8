import numpy as np
import pytest

from recsieve.models import GMF
from research.paper.probe import Probe, matched_gap, within_auc


def test_a_gap_that_is_only_popularity_goes_within_strata():
    strata = np.array([0, 0, 0, 1, 1, 1])
    losses = np.array([1.0, 1.0, 1.0, 3.0, 3.0, 3.0])
    noise = np.array([False, False, True, False, True, True])  # more noise where losses are large
    assert losses[noise].mean() > losses[~noise].mean()
    assert matched_gap(losses, noise, strata) == 0
    assert within_auc(losses, noise, strata) == 0.5


def test_a_gap_within_strata_is_weighed_by_false_positives():
    strata = np.array([0, 0, 1, 1, 1, 2])
    losses = np.array([1.0, 2.0, 1.0, 5.0, 5.0, 9.0])
    noise = np.array([False, True, False, True, True, True])  # the last stratum has no true positive
    assert matched_gap(losses, noise, strata) == pytest.approx((1 * 1 + 2 * 4) / 3)
    assert within_auc(losses, noise, strata) == 1


def test_before_training_all_losses_are_alike(small_data):
    import torch

    data = small_data()
    probe = Probe(data)
    found = probe.look(GMF(data.csr, torch.Generator().manual_seed(0)))
    assert probe.usable
    assert found["true_positives"] == pytest.approx(np.log(2), abs=0.01)
    assert abs(found["gap"]) < 0.01
    assert found["gap_same_item"] == pytest.approx(0, abs=0.01)


def test_without_flags_there_is_nothing_to_look_at(small_data):
    from dataclasses import replace

    assert not Probe(replace(small_data(), false_positive=None)).usable
