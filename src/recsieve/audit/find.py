"""The audit from start to end, and the tables it returns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from recsieve.audit.checks import CHECKS, run_checks
from recsieve.audit.cross_fit import cross_fitted_scores, usual_models
from recsieve.audit.dynamics import CURVE, Dynamics, observe_training, train_folds
from recsieve.audit.evidence import Evidence, adjusted_for_popularity, gather_evidence
from recsieve.audit.noise_model import enough_labels, labels_of, learn_from_labels
from recsieve.audit.reasons import reasons_with_labels, reasons_without_labels
from recsieve.audit.result import Audit
from recsieve.audit.summary import summarise
from recsieve.communicator import Communicator
from recsieve.data.filtering import pair_keys
from recsieve.data.interactions import NOISY, UNLABELLED, Interactions
from recsieve.data.repeats import merge_repeats
from recsieve.errors import DataError
from recsieve.models import MODELS
from recsieve.progress import Advanced, Progress, unheard

FEWEST_INTERACTIONS = 20
TRAINING_PART = 0.9  # of the time that an audit takes, about
SHOWN = 2_000  # interactions of which more is written down
ALIKE = 5  # items of the same profile that are told of each
TYPICAL = 20_000  # interactions from which a typical loss curve is known


def find_noisy_interactions(
    data: Interactions,
    *,
    scores: ArrayLike | None = None,
    models: Sequence[str] | None = None,
    seed: int = 0,
    cache: Path | None = None,
    progress: Progress = unheard,
) -> Audit:
    """Rank interactions by how likely they are to be noise, with reasons.

    Labels in `data.false_positive` are used for learning. If there are enough of them, interactions without one
    (UNLABELLED) get a probability. `scores` are your own evidence, one per row of `data`; a higher score means more
    likely noise. `models` are the registered models whose cross-fitted scores are used as evidence (EASE by default),
    only with labels. Both are used only if they help on held-out labels. `cache` is a folder for finished trainings,
    which are then not repeated.
    """
    for name in models or ():
        MODELS[name]  # says what there is instead, before anything is trained
    given, data = data, merge_repeats(data)
    own = None if scores is None else _of_pairs(np.asarray(scores, np.float64), given, data)
    if len(data) < FEWEST_INTERACTIONS:
        raise DataError(
            f"there are {len(data)} interactions, but an audit compares many: give at least {FEWEST_INTERACTIONS}."
        )

    def report(what: str, share: float) -> None:
        progress(Advanced(what, share, 1))

    def report_training(event: Advanced) -> None:
        report(event.what, TRAINING_PART * event.done / event.total)

    dynamics = observe_training(data, seed=seed, cache=cache, progress=report_training)
    report("comparing with profiles", TRAINING_PART)
    learns, labelled = enough_labels(data), None
    asked = usual_models(data) if models is None else models
    of_models = cross_fitted_scores(
        data, dynamics.fold, asked, seed=seed, cache=cache, progress=lambda event: report(event.what, TRAINING_PART)
    ) if learns else {}  # fmt: skip
    evidence = gather_evidence(data, dynamics, of_models, own)
    if learns:
        labelled = learn_from_labels(
            data, dynamics, evidence, seed=seed,
            report=lambda done: report("learning from labels", TRAINING_PART + (0.95 - TRAINING_PART) * done),
        )  # fmt: skip
    report("looking for bots, duplicates and drift", 0.95)
    findings = run_checks(data, CHECKS)
    report("writing reasons", 0.98)
    flags = labels_of(data)
    counts = _label_counts(data, flags)
    if labelled is None:
        suspicion, probability, reasons = evidence.suspicion(), None, reasons_without_labels(evidence)
    else:
        suspicion = labelled.probability.astype(np.float32)
        probability = np.where(flags == UNLABELLED, suspicion, flags == NOISY).astype(np.float32)
        overall = float((flags == NOISY).sum() / (flags != UNLABELLED).sum())
        reasons = reasons_with_labels(evidence, labelled.parts, counts, overall)
    table = _interaction_table(data, flags, suspicion, probability, evidence, counts, reasons)
    some = np.random.default_rng(seed).permutation(len(data))[:TYPICAL]
    summary = summarise(data, evidence, suspicion, labelled) | {
        "seed": seed,
        "checks": {name: finding.summary() for name, finding in findings.items()},
        "trainings": {"folds": [run.best_epoch for run in dynamics.folds], "full": dynamics.full.best_epoch},
        "typical_losses": _typical_curves(dynamics, some),
    }
    shown = _shown_table(data, table, dynamics)
    report("done", 1.0)
    pairs = None if labelled is None else labelled.pairs
    checks = {name: finding.table for name, finding in findings.items() if finding.table is not None}
    return Audit(data, table, summary, shown, suspicion, probability, pairs, checks)


def train_ahead(data: Interactions, *, seed: int, cache: Path, group: Communicator) -> None:
    """Make the trainings of an audit that do not depend on each other, a share on each rank, for the first to find."""
    train_folds(merge_repeats(data), seed=seed, cache=cache, group=group)


def _of_pairs(scores: NDArray[np.float64], given: Interactions, data: Interactions) -> NDArray[np.float64]:
    """Scores of the rows that were given as scores of distinct pairs: the mean, where a pair is repeated."""
    if scores.shape != (len(given),):
        raise DataError(
            f"scores have the shape {scores.shape}, but there are {len(given):,} interactions: give one for each."
        )
    if not np.isfinite(scores).all():
        missing = int((~np.isfinite(scores)).sum())
        raise DataError(f"{missing:,} scores are missing or infinite: give a number for each interaction.")
    _, pair, counts = np.unique(pair_keys(given), return_inverse=True, return_counts=True)
    means = np.bincount(pair, scores) / counts
    return means[np.unique(pair_keys(data), return_inverse=True)[1]]


def _interaction_table(
    data: Interactions,
    flags: NDArray[np.int8],
    scores: NDArray[np.float32],
    probability: NDArray[np.float32] | None,
    evidence: Evidence,
    counts: pl.DataFrame,
    reasons: pl.Series,
) -> pl.DataFrame:
    """A row for each interaction, what is not labelled and most suspicious first; `row` is its place in the data."""
    known = flags != UNLABELLED
    ranked = ~known if not known.all() else np.ones(len(data), bool)
    order = np.lexsort((-scores, ~ranked))
    rank = np.zeros(len(data), np.int32)
    rank[order] = np.arange(1, len(data) + 1)
    columns = {
        "user": data.user_ids.gather(data.users),
        "item": data.item_ids.gather(data.items),
        "rank": pl.Series(rank).zip_with(pl.Series(ranked), pl.Series([None], dtype=pl.Int32)),
        "noise_score": scores,
        "popularity_adjusted": adjusted_for_popularity(scores, evidence.popularity),
        "probability": pl.Series([None] * len(data), dtype=pl.Float32) if probability is None else probability,
        "labelled_noise": pl.Series(flags == NOISY).zip_with(pl.Series(known), pl.Series([None], dtype=pl.Boolean)),
        "reason": reasons,
        "popularity": evidence.popularity,
        "activity": evidence.activity,
        "profile_fit": evidence.profile_fit,
        "unfitting_in_profile": evidence.unfitting_in_profile,
        "mean_loss": evidence.mean_loss,
        "held_out_loss": np.logaddexp(np.float32(0), -evidence.held_out_logit),
        "unpopular": evidence.unpopular,
        "unfitting": evidence.unfitting,
        "unexpected": evidence.unexpected,
    }
    given = {name: column for name in ("weight", "time") if (column := getattr(data, name)) is not None}
    frame = pl.DataFrame({**columns, **given, "row": np.arange(len(data), dtype=np.int32)})
    return pl.concat([frame, counts], how="horizontal")[order]


def _label_counts(data: Interactions, flags: NDArray[np.int8]) -> pl.DataFrame:
    """How many labels the item and the user of each interaction have, and how many of noise, its own left out."""
    known, noise = flags != UNLABELLED, flags == NOISY
    counts = {}
    for of, codes, n in (("item", data.items, data.n_items), ("user", data.users, data.n_users)):
        counts[f"{of}_labelled"] = np.bincount(codes[known], minlength=n)[codes] - known
        counts[f"{of}_regretted"] = np.bincount(codes[noise], minlength=n)[codes] - noise
    return pl.DataFrame(counts).cast(pl.Int32)


def _shown_table(data: Interactions, table: pl.DataFrame, dynamics: Dynamics) -> pl.DataFrame:
    """Of the first rows of the table: losses over the epochs, and what in the user's profile is most like the item."""
    rows = table["row"].head(SHOWN).to_numpy().astype(np.int64)
    return pl.DataFrame(
        {
            "row": rows.astype(np.int32),
            "held_out_losses": _lists(dynamics.held_out_curves(rows)),
            "training_losses": _lists(dynamics.full.curve[:, rows]),
            "alike": _alike(data, rows, dynamics.full.scores.item_factors),
        }
    )


def _typical_curves(dynamics: Dynamics, some: NDArray[np.int64]) -> dict[str, list[float | None]]:
    """Quartiles of the held-out losses of some interactions, at each epoch of the curve."""
    curves = dynamics.held_out_curves(some)
    seen = [losses[~np.isnan(losses)] for losses in curves]  # some trainings end sooner than others
    quartiles = {"low": 0.25, "middle": 0.5, "high": 0.75}
    curve: dict[str, list[float | None]] = {
        name: [float(np.quantile(losses, share)) if len(losses) else None for losses in seen]
        for name, share in quartiles.items()
    }
    return {"epochs": [*CURVE], **curve}


def _lists(curves: NDArray[np.float32]) -> pl.Series:
    """A list for each interaction; null where a training had ended."""
    return pl.Series([[None if np.isnan(loss) else float(loss) for loss in curve] for curve in curves.T])


def _alike(data: Interactions, rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> pl.Series:
    """The user's other items whose vectors point most nearly the same way, the nearest first, as text."""
    directions = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12)
    names = data.item_ids.cast(pl.String)
    lists = []
    for row in rows:
        profile = data.csr.row(int(data.users[row]))
        others = profile[profile != data.items[row]]
        nearest = np.argsort(-(directions[others] @ directions[data.items[row]]), kind="stable")[:ALIKE]
        lists.append(names.gather(others[nearest]).to_list())
    return pl.Series(lists, dtype=pl.List(pl.String))
