import pytest

from research.docs import claim_evidence
from research.docs.claim_evidence import CONFIRMED, OPEN, REFUTED, Finding
from research.docs.claims import Claim, anchor, claims, count, in_words, page
from research.docs.paper_results import DOCS


def test_the_page_shows_what_is_in_the_result_files():
    assert (DOCS / "claims.md").read_text(encoding="utf-8") == page()


def test_every_claim_has_a_rule_and_a_row_of_numbers_and_pictures_that_are_there():
    given = claims()
    assert len(given) >= 15
    assert len({anchor(claim.title) for claim in given}) == len(given)
    for claim in given:
        assert claim.rule
        assert claim.findings
        assert {one.verdict for one in claim.findings} <= {CONFIRMED, REFUTED, OPEN}
        assert not claim.picture or (DOCS / "images" / claim.picture).exists()


def finding(verdict, span=None):
    return Finding("shop", "gmf", verdict, "Table 3: so many", span)


@pytest.mark.parametrize(
    ("verdicts", "heading"),
    [
        ((CONFIRMED, OPEN), "Reproduced where it can be decided"),
        ((CONFIRMED, REFUTED), "refuted on others"),
        ((REFUTED, OPEN), "Refuted where it can be decided"),
        ((OPEN,), "Not decidable here"),
    ],
)
def test_a_claim_stands_under_the_heading_that_its_verdicts_allow(verdicts, heading):
    claim = Claim("It is so", "it is", "Table 9", "As it is.", [finding(verdict) for verdict in verdicts])
    assert f"{heading}**: [It is so](claims.md#it-is-so) ({count(claim.findings)})" in in_words([claim])
    assert count(claim.findings).count(" in ") == len(set(verdicts))


@pytest.mark.parametrize(
    ("truncated", "reweighted", "verdict"),
    [
        ((1.0, 2.0), (-1.0, 0.5), CONFIRMED),
        ((-3.0, -2.0), (-1.0, 0.5), REFUTED),
        ((0.0, 2.0), (-1.0, 0.5), OPEN),
        (None, (-1.0, 0.5), OPEN),
    ],
)
def test_two_strategies_are_told_apart_only_where_their_intervals_are(monkeypatch, truncated, reweighted, verdict):
    spans = {"T-CE": truncated, "R-CE": reweighted}
    monkeypatch.setattr(claim_evidence, "against_ce", lambda method: [finding(OPEN, spans[method])])
    (found,) = claim_evidence.truncating_over_reweighting()
    assert found.verdict == verdict


ENTRY = {"data": {"name": "shop"}}
TESTED = {"metric": "ndcg@50", "relative": 2.0, "interval": [1.0, 3.0], "adjusted": 0.01, "users": 9, "seeds": 5}


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [(("better", "better"), CONFIRMED), (("better", "worse"), OPEN), (("worse", "worse"), REFUTED), ((), OPEN)],
)
def test_a_cell_that_the_other_selection_reverses_has_no_verdict(verdicts, expected):
    tested = [TESTED | {"verdict": verdict} for verdict in verdicts] or [None, None]
    found = claim_evidence._of_table(ENTRY, "gmf", "RI", tested)
    assert found.verdict == expected
    assert ("one seed" in found.numbers) == (not verdicts)


def of_models(monkeypatch, **model):
    """One model on one data set is all that the result files hold."""
    monkeypatch.setattr(claim_evidence, "models_in", lambda name: [(ENTRY, {"model": "gmf", **model})])


@pytest.mark.parametrize(
    ("recall", "rate_before", "verdict"),
    [(0.39, 0.2, REFUTED), (0.4, 0.2, CONFIRMED), (0.6, 0.2, CONFIRMED), (0.61, 0.2, REFUTED), (0.5, 0.19, OPEN)],
)
def test_half_of_the_noise_is_asked_for_once_the_drop_rate_has_reached_its_maximum(
    monkeypatch, recall, rate_before, verdict
):
    last = {"recall": recall, "random_recall": 0.4, "paper_random_recall": 0.2}
    of_models(monkeypatch, curve=[{**last, "paper_random_recall": rate_before}, last])
    (found,) = claim_evidence.discarded("recall", 0.4, 0.6)
    assert found.verdict == verdict
    assert ("still rises" in found.numbers) == (verdict == OPEN)


def test_the_precision_is_asked_for_whether_or_not_the_drop_rate_still_rises(monkeypatch):
    last = {"precision": 0.31, "random_precision": 0.2, "paper_random_recall": 0.2}
    of_models(monkeypatch, curve=[{**last, "paper_random_recall": 0.1}, last])
    assert [one.verdict for one in claim_evidence.discarded("precision", 0.0, 0.3)] == [REFUTED]


def of_groups(**changes):
    """Figure 6 with a change for each group, the same for all strategies and selections but where it is given."""
    row = {"model": "gmf", "users": 100}
    groups = [
        {**row, "method": method, "select_by": by, "group": group, "ndcg@50": {"mean": 1.0 + change}}
        for group in (0, 1)
        for by in ("own-loss", "ndcg@20")
        for method, change in (("CE", 0.0), ("T-CE", changes.get(f"{by} {group}", 0.1)), ("R-CE", 0.1))
    ]
    few = [{**one, "group": 2, "users": 99, "ndcg@50": {"mean": 2.0 - one["ndcg@50"]["mean"]}} for one in groups[:6]]
    return {**ENTRY, "metrics": ["recall@50", "recall@100", "ndcg@50"], "groups": [*groups, *few]}


@pytest.mark.parametrize(
    ("changes", "of_all", "of_least_active"),
    [
        ({}, CONFIRMED, CONFIRMED),
        ({"own-loss 1": -0.1}, OPEN, CONFIRMED),
        ({"own-loss 1": -0.1, "ndcg@20 1": -0.1}, REFUTED, CONFIRMED),
        ({"own-loss 0": -0.1, "ndcg@20 0": -0.1}, REFUTED, REFUTED),
        ({"own-loss 0": -0.1, "ndcg@20 1": -0.1}, OPEN, OPEN),
    ],
)
def test_inactive_users_are_judged_alone_and_all_groups_together(monkeypatch, changes, of_all, of_least_active):
    monkeypatch.setattr(claim_evidence, "entries", lambda name: [of_groups(**changes)])
    assert [one.verdict for one in claim_evidence.groups_gain(100)] == [of_all]
    (least,) = claim_evidence.groups_gain(100, least_active=True)
    assert least.verdict == of_least_active
    assert "+10.0" in least.numbers


@pytest.mark.parametrize(
    ("gap", "true_positives", "verdict"),
    [(0.03, 0.5, CONFIRMED), (0.02, 0.5, REFUTED), (0.02, 0.69, OPEN), (0.05, 0.69, CONFIRMED)],
)
def test_a_model_that_has_not_begun_to_learn_does_not_refute_a_gap(monkeypatch, gap, true_positives, verdict):
    known = {"true_positives": true_positives, "gap_same_popularity": 0.0}
    late = {"step": 21, "gap": 1.0, **known}
    of_models(monkeypatch, course=[{"step": 20, "gap": gap, **known}, late], last={"step": 100})
    assert [one.verdict for one in claim_evidence.early_gap()] == [verdict]


@pytest.mark.parametrize(
    ("method", "false_positives", "training", "verdict"),
    [
        ("T-CE", (0.5, 0.56), (0.5, 0.4), CONFIRMED),
        ("T-CE", (0.5, 0.54), (0.5, 0.4), REFUTED),
        ("T-CE", (0.5, 0.56), (0.5, 0.5), REFUTED),
        ("R-CE", (0.5, 0.54), (0.5, 0.4), CONFIRMED),
        ("R-CE", (0.5, 0.56), (0.5, 0.4), REFUTED),
        ("R-CE", (0.5, 0.4), (0.5, 0.41), REFUTED),
    ],
)
def test_curves_are_judged_by_their_minimum_and_end(monkeypatch, method, false_positives, training, verdict):
    curve = [
        {"false_positive_loss": one, "true_positive_loss": 0.3, "loss": loss}
        for one, loss in zip(false_positives, training, strict=True)
    ]
    panels = [{"model": "gmf", "method": name, "curve": curve} for name in ("CE", method)]
    monkeypatch.setattr(claim_evidence, "entries", lambda name: [{**ENTRY, "panels": panels}])
    assert [one.verdict for one in claim_evidence.loss_of_false_positives(method)] == [verdict]


@pytest.mark.parametrize(
    ("halfway", "gap", "verdict"),
    [(0.1, 0.03, CONFIRMED), (0.0, -0.03, CONFIRMED), (0.1, 0.04, OPEN), (0.04, 0.043, OPEN), (0.04, 0.05, REFUTED)],
)
def test_losses_that_end_within_a_tenth_are_close_and_a_gap_that_widens_refutes_it(monkeypatch, halfway, gap, verdict):
    course = [{"step": step, "gap": one, "true_positives": 0.3} for step, one in ((1, 0.9), (5, halfway), (9, gap))]
    of_models(monkeypatch, course=course, last={**course[-1], "false_positives": 0.3 + gap})
    assert [one.verdict for one in claim_evidence.memorised()] == [verdict]


@pytest.mark.parametrize(
    ("own_loss", "ndcg", "ce", "verdict"),
    [
        (0.1, 0.3, 0.0, CONFIRMED), (0.05, 0.3, 0.0, OPEN), (0.05, 0.4, 0.0, REFUTED),
        (0.1, 0.3, 2.0, OPEN), (0.05, 0.4, 2.0, REFUTED),
    ],
)  # fmt: skip
def test_the_best_value_has_to_lie_in_the_range_for_both_selections_and_beat_ce(
    monkeypatch, own_loss, ndcg, ce, verdict
):
    best = {"own-loss": own_loss, "ndcg@20": ndcg}
    rows = [
        {
            "model": "gmf",
            "hyperparameter": "ε_max",
            "value": value,
            "select_by": by,
            "ndcg@50": {"mean": value == best[by]},
        }
        for by in best
        for value in (0.05, 0.1, 0.3, 0.4)
    ]
    plain = [{"select_by": by, "ndcg@50": {"mean": ce}} for by in best]
    entry = {**ENTRY, "metrics": ["recall@50", "recall@100", "ndcg@50"], "rows": rows, "plain": plain}
    monkeypatch.setattr(claim_evidence, "entries", lambda name: [entry])
    assert [one.verdict for one in claim_evidence.best_between("ε_max", 0.1, 0.3)] == [verdict]


@pytest.mark.parametrize(
    ("neumf", "verdict"),
    [((3.0, 3.0, 3.0, 3.0), CONFIRMED), ((3.0, 1.5, 3.0, 3.0), OPEN), ((1.5, 1.5, 1.5, 1.5), REFUTED)],
)
def test_a_model_gains_most_only_with_both_strategies_and_selections(monkeypatch, neumf, verdict):
    gains = iter(neumf)
    rows = [
        {"method": method, "model": model, "ours": {
            by: {"mean": next(gains) if model == "neumf" else of} for by in ("own-loss", "ndcg@20")}}
        for method in ("T-CE", "R-CE")
        for model, of in (("gmf", 1.0), ("neumf", None), ("cdae", 2.0))
    ]  # fmt: skip
    monkeypatch.setattr(claim_evidence, "entries", lambda name: [{**ENTRY, "improvement": rows}])
    assert [one.verdict for one in claim_evidence.order_of_gains("neumf", largest=True)] == [verdict]
