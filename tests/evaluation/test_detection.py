import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recsieve.errors import ConfigError, DataError
from recsieve.evaluation.detection import detection, roc_auc

# Few different scores, so that ties are the rule.
SCORED = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40)


def columns(scored):
    return np.array([score for score, _ in scored], float), np.array([noise for _, noise in scored])


def test_the_numbers_of_a_list_ranked_by_hand():
    scores = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    noise = np.isin(scores, [9, 7, 2])
    found = detection(scores, noise, share=0.3)
    assert found == {
        "n": 10,
        "base_rate": 0.3,
        "roc_auc": pytest.approx((7 + 6 + 2) / 21),
        "average_precision": pytest.approx((1 / 1 + 2 / 3 + 3 / 8) / 3),
        "selected": pytest.approx(0.3),
        "precision": pytest.approx(2 / 3),
        "recall": pytest.approx(2 / 3),
    }


def test_without_a_share_the_top_tenth_is_looked_at():
    found = detection(np.arange(20), np.arange(20) >= 19)
    assert (found["selected"], found["precision"], found["recall"]) == pytest.approx((0.1, 0.5, 1.0))


def test_drops_are_measured_at_the_share_that_was_dropped():
    dropped = np.array([True, True, False, False, False])
    found = detection(dropped, [True, False, True, False, False], share=dropped.mean())
    assert (found["precision"], found["recall"]) == pytest.approx((0.5, 0.5))


def test_ties_at_the_border_count_by_their_part():
    found = detection([1.0, 0.0, 0.0, 0.0], [True, True, False, False], share=0.5)
    assert found["precision"] == pytest.approx((1 + 1 / 3) / 2)
    assert found["recall"] == pytest.approx((1 + 1 / 3) / 2)


def test_a_constant_score_finds_nothing_beyond_chance():
    found = detection(np.zeros(8), np.arange(8) < 2, share=0.5)
    assert (found["roc_auc"], found["average_precision"], found["precision"], found["recall"]) == (0.5, 0.25, 0.25, 0.5)


def test_groups_are_measured_apart_among_what_is_selected_overall():
    scores, noise = [5, 4, 3, 2, 1, 0], [True, True, False, False, True, False]
    found = detection(scores, noise, ["tail", "tail", "head", "tail", "head", "head"], share=0.5)["groups"]
    assert list(found) == ["head", "tail"]
    assert (found["tail"]["selected"], found["tail"]["precision"], found["tail"]["recall"]) == pytest.approx(
        (2 / 3, 1, 1)
    )
    assert (found["head"]["selected"], found["head"]["precision"], found["head"]["recall"]) == pytest.approx(
        (1 / 3, 0, 0)
    )
    assert found["head"]["roc_auc"] == 0.5
    assert found["tail"]["roc_auc"] == 1.0


def test_interactions_of_which_nothing_is_known_are_left_out():
    flags = np.array([1, -1, 0, -1, 0], np.int8)
    assert detection([3, 9, 1, 0, 2], flags) == detection([3, 1, 2], [True, False, False])


def test_what_is_not_defined_is_nan():
    found = detection([1.0, 2.0], [False, False])
    assert np.isnan([found["roc_auc"], found["average_precision"], found["recall"]]).all()
    assert (found["precision"], found["base_rate"]) == (0.0, 0.0)
    assert np.isnan(detection([1.0], [-1])["base_rate"])


@given(SCORED)
def test_turning_the_scores_around_turns_the_area_around(scored):
    scores, noise = columns(scored)
    assume(noise.any() and not noise.all())
    assert roc_auc(-scores, noise) == pytest.approx(1 - roc_auc(scores, noise))


@given(SCORED)
def test_the_area_is_the_share_of_pairs_in_the_right_order(scored):
    scores, noise = columns(scored)
    assume(noise.any() and not noise.all())
    pairs = np.sign(scores[noise][:, None] - scores[~noise])
    assert roc_auc(scores, noise) == pytest.approx((pairs.mean() + 1) / 2)


@given(SCORED)
def test_average_precision_is_the_sum_of_precision_over_steps_of_recall(scored):
    scores, noise = columns(scored)
    assume(noise.any())
    total, recall_before = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        selected = scores >= threshold
        recall = noise[selected].sum() / noise.sum()
        total += (recall - recall_before) * noise[selected].mean()
        recall_before = recall
    assert detection(scores, noise)["average_precision"] == pytest.approx(total)


@given(SCORED, st.floats(0, 1))
def test_only_the_order_of_the_scores_matters_and_the_whole_share_is_selected(scored, share):
    scores, noise = columns(scored)
    found = detection(scores, noise, share=share)
    assert found["selected"] == pytest.approx(share)
    np.testing.assert_equal(found, detection(np.exp(scores) - 7, noise, share=share))


@pytest.mark.parametrize(
    ("scores", "noise", "groups", "words"),
    [
        ([1.0, 2.0], [True], None, "one for each interaction"),
        ([1.0, 2.0], [True, False], ["a"], "one for each interaction"),
        ([1.0, np.nan], [True, False], None, "1 scores are not numbers"),
    ],
)
def test_what_does_not_fit_together_is_one_clear_error(scores, noise, groups, words):
    with pytest.raises(DataError, match=words):
        detection(scores, noise, groups)


def test_an_impossible_share_says_what_to_give():
    with pytest.raises(ConfigError, match="give 0 to 1"):
        detection([1.0], [True], share=2)
