import pytest

from recsieve.experiments.wording import answer, percent, sentences


def plain(line):
    """Without the spaces that keep a number and its sign on one line."""
    return line.replace("\u00a0", " ")


def judged(verdict, relative, low, high, against="CE"):
    return {"against": against, "relative": relative, "interval": [low, high], "smallest_detectable": 0.019,
            "verdict": verdict}  # fmt: skip


def row(strategy, **judgements):
    return {"noise": "natural", "model": "gmf", "strategy": strategy, **judgements}


def test_no_difference_is_said_with_what_could_not_have_been_shown():
    rows = [row("CE"), row("T-CE", against_baseline=judged("no difference found", 0.004, -0.008, 0.016))]
    assert [plain(line) for line in sentences(rows, "ndcg@20")] == [
        "T-CE: no difference from CE found (+0.4 % ndcg@20, 95 % interval −0.8 % … +1.6 %); a difference below 1.9 % "
        "could not have been detected with this data."
    ]


def test_what_is_the_same_is_called_the_same():
    rows = [row("again", against_baseline=judged("no difference found", 0.0, 0.0, 0.0))]
    assert sentences(rows, "ndcg@20") == ["again: exactly the same results as CE."]


def test_a_difference_that_only_correction_takes_away_is_called_so():
    rows = [row("T-CE", against_baseline=judged("no difference found", 0.13, 0.06, 0.2))]
    assert "not after correcting" in sentences(rows, "ndcg@20")[0]


@pytest.mark.parametrize(
    ("against_baseline", "against_popularity", "words"),
    [
        ("no difference found", "better", "No denoising strategy was found to be better than the same model"),
        ("better", "better", "Better than the same model without it on this data: T-CE."),
        ("better", "no difference found", "it may not have found noise"),
    ],
)
def test_the_answer_is_one_sentence_that_popularity_may_qualify(against_baseline, against_popularity, words):
    verdicts = {"against_baseline": against_baseline, "against_popularity": against_popularity}
    entry = row("T-CE", role="strategy", **{kind: judged(given, 0.1, 0, 0.2) for kind, given in verdicts.items()})
    assert words in answer([entry], "ndcg@20")


def test_a_denoiser_that_does_not_beat_popularity_has_not_denoised():
    popularity = judged("no difference found", 0.001, -0.01, 0.01, "least popular drop as T-CE")
    rows = [row("T-CE", against_baseline=judged("better", 0.05, 0.03, 0.07), against_popularity=popularity)]
    better, about_popularity = sentences(rows, "ndcg@20")
    assert plain(better) == "T-CE: better than CE (+5.0 % ndcg@20, 95 % interval +3.0 % … +7.0 %)."
    assert "was not shown to beat" in about_popularity


def test_percent_has_a_sign_and_a_true_minus():
    assert (plain(percent(0.0049)), plain(percent(-0.5))) == ("+0.5 %", "−50.0 %")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("worse", "no denoised model was found to be better than it"), ("better", "better than it: T-CE")],
)
def test_the_answer_tells_what_denoising_is_worth_beside_the_best_plain_model(verdict, words):
    best = {"noise": "natural", "model": "ease", "strategy": "plain", "role": "plain model", "best_plain": True,
            "metrics": {"ndcg@20": {"mean": 0.31}}}  # fmt: skip
    judgements = {
        "against_baseline": judged("better", 0.1, 0, 0.2),
        "against_best_plain": judged(verdict, 0.1, 0, 0.2, "ease"),
    }
    rows = [row("T-CE", role="strategy", **judgements), best]
    assert answer(rows, "ndcg@20").endswith(f"The best plain model is ease (ndcg@20 0.3100); {words}.")
    assert "T-CE with gmf" in sentences(rows, "ndcg@20")[1]
    assert "than ease (the best plain model on validation)" in sentences(rows, "ndcg@20")[1]
