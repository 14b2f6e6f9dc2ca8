import numpy as np
import pytest
from scipy.special import expit

from recsieve.audit.logistic import LEAST_SLOPE, calibrate, calibration, platt_scaling


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    logits = rng.normal(-1, 1.5, 20_000)
    return logits, rng.random(len(logits)) < expit(logits)


def test_a_line_undoes_what_was_done_to_logits(drawn):
    logits, noise = drawn
    line = platt_scaling(2 * logits + 1, noise)
    assert (line.slope, line.intercept) == pytest.approx((0.5, -0.5), abs=0.05)


def test_true_probabilities_are_calibrated_and_wrong_ones_are_not(drawn):
    logits, noise = drawn
    assert calibration(expit(logits), noise)["ece"] < 0.02
    assert calibration(expit(3 * logits), noise)["ece"] > 0.05


def test_the_brier_score_of_the_base_rate_is_its_variance(drawn):
    _, noise = drawn
    found = calibration(np.full(len(noise), noise.mean()), noise)
    assert found["brier"] == pytest.approx(found["brier_of_base_rate"])
    assert found["ece"] < 0.1
    assert sum(entry["n"] for entry in found["reliability"]) == len(noise)


def test_calibration_never_turns_the_order_round(drawn):
    logits, noise = drawn
    assert calibrate(-logits, noise).slope == pytest.approx(LEAST_SLOPE, abs=0.02)


def test_few_labels_leave_the_slope_near_one():
    assert calibrate(np.array([-1.0, -0.9]), np.array([True, False])).slope == pytest.approx(1, abs=0.1)
