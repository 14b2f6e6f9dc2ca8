import polars as pl
import pytest

from recsieve.storage.run_folder import RunFolder
from research.paper.runs import NDCG, OWN_LOSS, PROBES, VALIDATIONS, Study, spec
from research.paper.training import seen_before_test, train_run


@pytest.fixture
def train(tiny_data, tiny_options, tmp_path):
    """A function that trains one method and gives its record."""

    def run(method="CE", **changes):
        study = Study(tiny_data, tiny_options, tmp_path)
        wanted = study.seeds("gmf", method)[0]
        train_run(tiny_data.split, wanted, RunFolder(study.path(wanted)))
        return study[wanted]

    return run


def test_a_run_is_tested_under_both_ways_to_select(train):
    record = train()
    assert set(record.metrics["selected"]) == {OWN_LOSS, NDCG}
    for select_by in (OWN_LOSS, NDCG):
        assert 0 <= record.test(select_by)["ndcg@20"] <= 1
        assert sum(row["users"] for row in record.metrics["groups"][select_by]) > 0


def test_the_step_chosen_has_the_lowest_loss_or_the_highest_ndcg(train):
    record = train()
    course = record.frame(VALIDATIONS)
    assert course.height == 3
    assert record.metrics["selected"][OWN_LOSS] == course.sort(OWN_LOSS)["step"][0]
    assert record.metrics["selected"][NDCG] == course.sort(NDCG, "step", descending=[True, False])["step"][0]


def test_truncation_records_its_drop_rate_and_a_threshold(train):
    course = train("T-CE").frame(VALIDATIONS)
    assert course["drop_rate"].to_list() == pytest.approx(sorted(course["drop_rate"]))
    assert {"threshold", "drop_rate"} <= set(course.columns)


def test_losses_are_looked_at_from_the_first_epoch_on(train):
    probes = train().frame(PROBES)
    assert probes["step"][0] == 1
    assert probes["gap"].is_not_null().all()


def test_clean_training_trains_on_no_false_positive_and_ranks_the_same_items(train, tiny_data):
    history = train("clean").history()
    clean = int((~tiny_data.split.train.is_false_positive).sum())
    per_epoch = history.group_by("epoch").agg(pl.col("positives").sum())["positives"]
    assert set(per_epoch) == {clean}


def test_the_paper_masks_what_was_trained_on_and_the_authors_validation_too(tiny_data):
    split = tiny_data.split
    assert len(seen_before_test(split, "paper").items) == len(split.train)
    assert len(seen_before_test(split, "authors").items) == len(split.train) + len(split.validation)


def test_groups_have_about_equally_many_interactions(train, tiny_data):
    from recsieve.evaluation.groups import sparsity_groups

    counts = tiny_data.split.train.user_counts()
    groups = sparsity_groups(tiny_data.split.train)
    totals = [counts[groups == number].sum() for number in range(4)]
    assert max(totals) - min(totals) <= 2 * counts.max()


@pytest.mark.parametrize("select_by", [OWN_LOSS, NDCG])
def test_what_each_user_got_is_kept_and_has_the_mean_of_the_test(train, select_by):
    record = train()
    users = record.per_user(select_by)
    assert users["user"].is_unique().all()
    assert users["ndcg@50"].mean() == pytest.approx(record.test(select_by)["ndcg@50"])


def test_clean_training_gets_as_many_steps_as_normal_training_and_no_more(train, tiny_data, tiny_options, monkeypatch):
    monkeypatch.setattr("research.paper.published.BATCH", 32)  # for an epoch of more than one
    normal, clean = (spec(tiny_data, tiny_options, "gmf", method, 0) for method in ("CE", "clean"))
    assert clean.epochs > normal.epochs
    assert clean.steps == normal.epochs * tiny_data.steps_per_epoch
    course = train("clean").frame(VALIDATIONS)
    assert course["step"].max() <= clean.steps
    assert course.height == train().frame(VALIDATIONS).height
