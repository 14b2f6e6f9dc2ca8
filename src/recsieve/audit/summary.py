"""What an audit found, in numbers and sentences, as written to audit.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import beta, t

from recsieve.audit.evidence import MOSTLY_POPULARITY, Evidence, popularity_share
from recsieve.audit.noise_model import FEWEST, MODEL, POPULARITY, STRONG, Labelled, labels_of
from recsieve.data.interactions import UNLABELLED, Interactions

PERIODS = 20
TENTHS = 10
LEVEL = 0.9  # of the interval of the share of noise
NOT_AT_RANDOM = 0.2  # a difference of means in deviations, from which labels are called not random


def summarise(
    data: Interactions, evidence: Evidence, scores: NDArray[np.float32], labelled: Labelled | None
) -> dict[str, Any]:
    """The summary, with the notes that a reader must see first."""
    flags = labels_of(data)
    known = flags != UNLABELLED
    facts: dict[str, Any] = {
        "users": int((data.user_counts() > 0).sum()),
        "items": int((data.item_counts() > 0).sum()),
        "interactions": len(data),
        "labelled": int(known.sum()),
        "labelled_noise": int(data.is_false_positive.sum()),
        "method": "no labels" if labelled is None else labelled.method,
        "evidence": [*evidence.cross_fitted, *(["your scores"] if evidence.given is not None else [])],
        "popularity_correlation": popularity_share(scores, evidence.popularity),
        "noise_share": _noise_share(data, labelled),
        "labels_differ": _labels_differ(evidence, known),
        "cross_validation": None if labelled is None else labelled.cross_validation,
        "calibration": None if labelled is None else labelled.calibration,
        "where": _where(data, evidence, scores),
    }
    return {"notes": list(_notes(facts)), **facts}


def _noise_share(data: Interactions, labelled: Labelled | None) -> dict[str, float] | None:
    known = labels_of(data) != UNLABELLED
    if known.sum() < 2:
        return None
    noise = data.is_false_positive[known]
    if labelled is None:
        return noise_share(noise, np.full(len(noise), noise.mean()), len(data), None)
    probability = labelled.probability
    rest = None if known.all() else float(probability[~known].mean())
    return noise_share(noise, probability[known], len(data), rest)


def noise_share(noise: NDArray[np.bool_], expected: NDArray, n: int, mean_of_rest: float | None) -> dict[str, float]:
    """Estimate the share of noise among n interactions, with an interval, from labels of a random part.

    Labelled interactions count as they are. The others count as the model predicts, corrected by its error on the
    labelled ones (the difference estimator, which is unbiased however bad the model is). `expected` are probabilities
    of the labelled ones from fits without their label; `mean_of_rest` is the mean probability of the others.
    """
    known, total = len(noise), float(noise.sum())
    rest = n - known
    if rest == 0:
        return _result(total / n, total / n, total / n)
    error = noise - expected
    of_rest = (expected.mean() if mean_of_rest is None else mean_of_rest) + error.mean()
    estimate = float(np.clip((total + rest * of_rest) / n, 0.5 / n, 1 - 0.5 / n))
    # The rest is a sample too: its own share scatters about what the labels tell.
    deviation = rest / n * np.sqrt(error.var(ddof=1) * (1 / known + 1 / rest))
    if total == 0 or total == known or deviation == 0:
        return _result(estimate, *_of_one_kind(total, known))
    reach = float(t.ppf((1 + LEVEL) / 2, known - 1)) * deviation / (estimate * (1 - estimate))
    return _result(estimate, float(expit(logit(estimate) - reach)), float(expit(logit(estimate) + reach)))


def _of_one_kind(total: float, known: int) -> tuple[float, float]:
    """Clopper and Pearson's interval, where all labels are alike and tell nothing of how they scatter."""
    outside = (1 - LEVEL) / 2
    low = float(beta.ppf(outside, total, known - total + 1)) if total else 0.0
    return low, float(beta.ppf(1 - outside, total + 1, known - total)) if total < known else 1.0


def _result(estimate: float, low: float, high: float) -> dict[str, float]:
    return {"estimate": estimate, "low": low, "high": high, "level": LEVEL}


def _labels_differ(evidence: Evidence, known: NDArray[np.bool_]) -> dict[str, float] | None:
    """How far labelled interactions differ from the others on average, in deviations: 0 if labels are at random."""
    if not known.any() or known.all():
        return None
    facts = {
        "item popularity": np.log(evidence.popularity),
        "user activity": np.log(evidence.activity),
        "loss": evidence.mean_loss,
    }
    return {
        name: float((values[known].mean() - values[~known].mean()) / (values.std() + 1e-12))
        for name, values in facts.items()
    }


def _notes(facts: Mapping[str, Any]) -> Iterator[str]:
    """What a reader has to know before the list."""
    correlation = facts["popularity_correlation"]
    if abs(correlation) >= MOSTLY_POPULARITY:
        direction = "unpopular" if correlation > 0 else "popular"
        yield (
            f"On this data the noise score mostly reflects popularity: its rank correlation with {direction} items is "
            f"{abs(correlation):.2f}. The column popularity_adjusted compares only items of similar popularity."
        )
    if facts["labelled"] == 0:
        yield (
            "No interaction is labelled. The scores rank interactions by how unusual they are. They are not "
            "probabilities, and the share of noise in the log is unknown. Labels for 1 % or more of the interactions "
            "make both possible."
        )
        return
    share = facts["noise_share"]
    if facts["labelled"] == facts["interactions"]:
        yield f"Every interaction is labelled: {_percent(share['estimate'])} of the log is noise."
    elif share:
        yield (
            f"Estimated noise in the whole log: {_percent(share['estimate'])} ({100 * share['level']:.0f} % interval "
            f"{_percent(share['low'])} to {_percent(share['high'])}), if the labels are a random sample."
        )
    yield from _notes_on_labels(facts)


def _notes_on_labels(facts: Mapping[str, Any]) -> Iterator[str]:
    differences = facts["labels_differ"] or {}
    far = [name for name, difference in differences.items() if abs(difference) >= NOT_AT_RANDOM]
    if far:
        yield (
            f"The labels are not a random sample: labelled interactions differ from the others in {' and '.join(far)}, "
            "so estimates for the whole log may be wrong."
        )
    if facts["method"] == "no labels":
        yield (
            f"There are fewer than {FEWEST} labels of noise, or of clean interactions, which is too few to learn from: "
            "the scores do not use them."
        )
        return
    order = {name: found["roc_auc"] for name, found in facts["cross_validation"].items()}
    model = order[facts["method"]] if facts["method"] != POPULARITY else order[MODEL]
    compared = f"(ROC AUC on held-out labels: {model:.3f}, popularity alone {order[POPULARITY]:.3f})"
    told = " and ".join(facts["evidence"])
    if facts["method"] == STRONG:
        yield (
            f"The probabilities come from a model of users, items, losses and scores ({told}) fitted to the labels "
            f"{compared}; without the scores: {order[MODEL]:.3f}."
        )
    elif facts["method"] == POPULARITY:
        yield (
            f"With these labels, the model does not beat the popularity of items {compared}: the probabilities are "
            "based on popularity only."
        )
    else:
        yield f"The probabilities come from a model of users, items and losses fitted to the labels {compared}."
    if STRONG in order and facts["method"] != STRONG:
        yield f"Scores ({told}) did not help on held-out labels and are not used."


def _where(data: Interactions, evidence: Evidence, scores: NDArray[np.float32]) -> dict[str, Any]:
    """The mean score, and the noise among labels, by popularity, by activity and over time."""
    facts = {"popularity": evidence.popularity, "activity": evidence.activity}
    found = {name: _by_tenths(values, scores, data) for name, values in facts.items()}
    if data.time is not None and np.ptp(data.time) > 0:
        start, width = int(data.time.min()), int(np.ptp(data.time)) + 1
        period = ((data.time - start) * PERIODS // width).astype(np.int64)
        found["time"] = _groups(period, data.time, scores, data)
    return found


def _by_tenths(values: NDArray, scores: NDArray[np.float32], data: Interactions) -> list[dict[str, Any]]:
    """Groups of about as many interactions each; equal values are not torn apart."""
    limits = np.unique(np.quantile(values, np.arange(1, TENTHS) / TENTHS))
    return _groups(np.searchsorted(limits, values, side="right"), values, scores, data)


def _groups(
    group: NDArray[np.int64], values: NDArray, scores: NDArray[np.float32], data: Interactions
) -> list[dict[str, Any]]:
    flags = labels_of(data)
    frame = pl.DataFrame(
        {
            "group": group,
            "value": values,
            "score": scores,
            "known": flags != UNLABELLED,
            "noise": data.is_false_positive,
        }
    )
    found = frame.group_by("group").agg(
        low=pl.col("value").min(),
        high=pl.col("value").max(),
        interactions=pl.len(),
        mean_score=pl.col("score").mean(),
        labelled=pl.col("known").sum(),
        regretted=pl.col("noise").sum(),
    )
    return found.sort("group").drop("group").to_dicts()


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
