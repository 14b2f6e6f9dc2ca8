import numpy as np
import polars as pl
import pytest
import torch

from recsieve.cores import one_thread
from recsieve.data.interactions import CSR, Interactions
from recsieve.errors import ConfigError
from recsieve.evaluation import metrics as metrics_module
from recsieve.evaluation.metrics import evaluate, ranking_metrics
from recsieve.models import GMF

METRICS = ("recall", "ndcg", "precision", "hit_rate", "mrr", "false_positives_recommended", "coverage")


def csr(rows, n_items=10):
    users = np.concatenate([[u] * len(items) for u, items in enumerate(rows)]).astype(np.int32)
    return CSR.from_pairs(users, np.concatenate(rows).astype(np.int32), len(rows), n_items)


def metrics(top, relevant, ks):
    users = np.arange(len(top), dtype=np.int32)
    return {
        name: values.tolist()
        for name, values in ranking_metrics(np.array(top, np.int32), users, csr(relevant), ks).items()
    }


def test_recall_divides_by_the_number_of_relevant_items():
    assert metrics([[1, 2, 3]], [[2, 5, 6, 7]], [1, 3])["recall@3"] == [0.25]


def test_ndcg_is_that_of_the_formula_written_out():
    found = metrics([[1, 2, 3]], [[1, 3, 7, 8]], [3])["ndcg@3"][0]
    gain = 1 / np.log2(2) + 1 / np.log2(4)
    ideal = 1 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4)
    assert found == pytest.approx(gain / ideal)


def test_ndcg_has_an_ideal_of_no_more_items_than_are_relevant():
    assert metrics([[4, 1, 2]], [[4]], [3])["ndcg@3"] == [1.0]


def test_precision_hit_rate_and_mrr():
    found = metrics([[9, 4, 2], [1, 0, 3]], [[4, 2], [5]], [2])
    assert found["precision@2"] == [0.5, 0]
    assert found["hit_rate@2"] == [1, 0]
    assert found["mrr@2"] == [0.5, 0]


def test_a_user_with_nothing_relevant_has_no_value():
    assert np.isnan(metrics([[1], [1]], [[1], []], [1])["recall@1"][1])


def test_an_empty_place_in_a_list_is_never_a_hit():
    assert metrics([[-1, 0]], [[0]], [2])["hit_rate@2"] == [1]
    assert metrics([[-1, -1]], [[0]], [2])["hit_rate@2"] == [0]


class Fixed:
    """A model whose scores are given."""

    def __init__(self, scores):
        import torch

        self.scores = torch.tensor(scores)
        self.n_users, self.n_items = self.scores.shape

    def score(self, users):
        return self.scores[users].clone()

    def factors(self, users):
        return None

    def materialise(self, users):
        return self, users


def test_seen_items_are_not_ranked_and_means_are_over_users_with_relevant_items():
    model = Fixed([[5.0, 4.0, 3.0], [1.0, 2.0, 3.0], [0.0, 0.0, 1.0]])
    found = evaluate(model, csr([[1], [0], []], 3), csr([[0], [], []], 3), [1])
    assert found.users.tolist() == [0, 1]
    assert found.overall["recall@1"] == 0.5
    assert found.overall["coverage@1"] == pytest.approx(2 / 3)


def test_held_out_false_positives_that_are_recommended_are_counted():
    model = Fixed([[5.0, 4.0, 3.0], [1.0, 2.0, 3.0]])
    found = evaluate(model, csr([[1], [1]], 3), None, [1], false_positives=csr([[0], [0]], 3))
    assert found.overall["false_positives_recommended@1"] == 0.5


def test_a_user_of_whom_only_false_positives_are_held_out_counts_for_those_alone():
    model = Fixed([[5.0, 4.0, 3.0], [5.0, 4.0, 3.0], [5.0, 4.0, 3.0]])
    found = evaluate(model, csr([[0], [], []], 3), None, [1], false_positives=csr([[], [0], []], 3))
    assert found.users.tolist() == [0, 1]
    assert found.overall["recall@1"] == 1
    assert found.per_user["false_positives_recommended@1"].tolist()[1] == 1
    assert np.isnan(found.per_user["false_positives_recommended@1"][0])


def test_what_a_user_without_anything_relevant_counts_may_be_given():
    model = Fixed([[5.0, 4.0], [5.0, 4.0]])
    found = evaluate(model, csr([[0], []], 2), None, [1], csr([[], [1]], 2), nothing_relevant=0.0)
    assert found.overall["recall@1"] == 0.5
    assert found.overall["false_positives_recommended@1"] == 0


def test_without_any_false_positive_nothing_is_said_of_them():
    found = evaluate(Fixed([[5.0, 4.0]]), csr([[0]], 2), None, [1], false_positives=csr([[]], 2))
    assert set(found.overall) == {f"{name}@1" for name in METRICS if name != "false_positives_recommended"}


def test_all_metrics_are_measured_and_named():
    found = evaluate(Fixed([[5.0, 4.0]]), csr([[0]], 2), None, [1, 2], false_positives=csr([[1]], 2))
    assert set(found.overall) == {f"{name}@{k}" for name in METRICS for k in (1, 2)}


def test_coverage_counts_each_item_once_and_only_within_the_list():
    model = Fixed([[5.0, 4.0, 3.0, 0.0], [5.0, 3.0, 4.0, 0.0]])
    found = evaluate(model, csr([[0], [0]], 4), None, [1, 2])
    assert (found.overall["coverage@1"], found.overall["coverage@2"]) == (0.25, 0.75)


def test_nobody_to_measure_has_no_means():
    found = evaluate(Fixed([[5.0, 4.0]]), csr([[]], 2), None, [1])
    assert len(found.users) == 0
    assert np.isnan(found.overall["recall@1"])
    assert found.overall["coverage@1"] == 0


def test_a_frame_has_the_users_own_ids_and_their_metrics():
    found = evaluate(Fixed([[5.0, 4.0], [5.0, 4.0]]), csr([[], [0]], 2), None, [1])
    frame = found.frame(pl.Series(["ann", "bob"]))
    assert frame["user"].to_list() == ["bob"]
    assert frame["recall@1"].to_list() == [1.0]


def test_an_evaluation_shows_how_many_users_and_each_metric_by_length():
    shown = evaluate(Fixed([[5.0, 4.0]] * 2), csr([[0], [0]], 2), None, [1, 2]).shown()
    text = str(shown)
    assert "2 users" in text
    assert "recall" in text


def test_lists_longer_than_the_catalogue_are_fine():
    model = Fixed([[5.0, 4.0, 3.0]])
    assert evaluate(model, csr([[2]], 3), None, [2, 50]).overall["recall@50"] == 1


def test_torch_keeps_as_many_threads_as_it_had():
    import torch

    with one_thread():
        evaluate(Fixed([[5.0, 4.0, 3.0]]), csr([[2]], 3), None, [2])
        assert torch.get_num_threads() == 1


def test_no_or_impossible_list_lengths_are_an_error():
    with pytest.raises(ConfigError, match="from 1"):
        evaluate(Fixed([[1.0]]), csr([[0]], 1), None, [0])


def test_users_are_measured_block_by_block_with_the_same_result(monkeypatch):
    random = np.random.default_rng(0)
    model = GMF(csr([[0]] * 23, n_items=40), torch.Generator().manual_seed(0))
    relevant, regretted = (csr([random.choice(40, 3, replace=False) for _ in range(23)], 40) for _ in range(2))
    whole = evaluate(model, relevant, None, [2, 5], regretted)
    monkeypatch.setattr(metrics_module, "MOST_PLACES", 20)  # four users at a time
    in_blocks = evaluate(model, relevant, None, [2, 5], regretted)
    assert in_blocks.overall == pytest.approx(whole.overall, rel=1e-14)
    assert (in_blocks.users == whole.users).all()
    assert list(in_blocks.per_user) == list(whole.per_user)


def plain_metrics(ranked, test_items, k):
    """Recall and NDCG as the authors have them: a hit counts once, what there is to find with its repeats."""
    gains = [item in test_items for item in ranked[:k]]
    found = sum(gain / np.log2(rank + 2) for rank, gain in enumerate(gains))
    ideal = sum(1 / np.log2(rank + 2) for rank in range(min(k, len(test_items))))
    return (sum(gains) / len(test_items), found / ideal) if test_items else (0.0, 0.0)


def test_a_repeated_test_pair_counts_once_as_a_hit_and_as_often_as_it_stands_in_what_there_is_to_find():
    users, items = np.array([0, 0, 0, 1, 1], np.int32), np.array([3, 3, 5, 2, 2], np.int32)
    test = Interactions(users, items, pl.Series(range(3)), pl.Series(range(10)))
    top = np.array([[3, 1, 5], [0, 1, 2]], np.int32)
    found = ranking_metrics(top, np.array([0, 1], np.int32), test.counted, [3])
    for user, own in enumerate([[3, 3, 5], [2, 2]]):
        assert (found["recall@3"][user], found["ndcg@3"][user]) == pytest.approx(plain_metrics(top[user], own, 3))
    assert ranking_metrics(top, np.array([0, 1], np.int32), test.csr, [3])["recall@3"].tolist() == [1.0, 1.0]


def test_what_is_held_at_once_is_bounded(monkeypatch):
    """Lists of as many users as fit are made at a time, and of one user at least."""
    asked = []
    usual = metrics_module.rank_items

    def rank(model, users, k, seen):
        asked.append(len(users))
        return usual(model, users, k, seen)

    monkeypatch.setattr(metrics_module, "rank_items", rank)
    model, relevant = Fixed([[5.0, 4.0, 3.0]] * 5), csr([[0]] * 5, 3)
    for places, blocks in ((6, [2, 2, 1]), (3, [1] * 5), (1, [1] * 5)):
        asked.clear()
        monkeypatch.setattr(metrics_module, "MOST_PLACES", places)
        evaluate(model, relevant, None, [3])
        assert asked == blocks


def test_the_lists_held_at_once_fit_into_64_megabytes():
    assert metrics_module.MOST_PLACES * np.dtype(np.int32).itemsize == 64 << 20
