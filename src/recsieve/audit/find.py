"""The audit from end to end."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recsieve.audit.dynamics import observe_training
from recsieve.audit.evidence import gather_evidence
from recsieve.audit.labelled import enough_labels, labels_of, learn_from_labels
from recsieve.audit.reasons import reasons_with_labels, reasons_without_labels
from recsieve.audit.result import Audit
from recsieve.audit.summary import summarise
from recsieve.audit.tables import interaction_table, label_counts, shown_table, typical_curves
from recsieve.data.interactions import NOISY, UNLABELLED, Interactions
from recsieve.data.repeats import merge_repeats
from recsieve.errors import DataError
from recsieve.progress import Advanced, Progress, unheard

FEWEST_INTERACTIONS = 20
TRAINING_PART = 0.9  # of the time that an audit takes, about
TYPICAL = 20_000  # interactions from which a typical loss curve is known


def find_noisy_interactions(
    data: Interactions, *, seed: int = 0, cache: Path | None = None, progress: Progress = unheard
) -> Audit:
    """Rank interactions by how probably they are noise, with reasons.

    What `data.false_positive` says of some interactions is learnt from; of those it leaves UNLABELLED, a probability is
    told if there are labels enough. With `cache`, a folder, trainings that have ended are not repeated.
    """
    data = merge_repeats(data)
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
    evidence = gather_evidence(data, dynamics)
    labelled = None
    if enough_labels(data):
        labelled = learn_from_labels(
            data, dynamics, evidence, seed=seed,
            report=lambda done: report("learning from labels", TRAINING_PART + (0.98 - TRAINING_PART) * done),
        )  # fmt: skip
    report("writing reasons", 0.98)
    flags = labels_of(data)
    counts = label_counts(data, flags)
    if labelled is None:
        scores, probability, reasons = evidence.suspicion(), None, reasons_without_labels(evidence)
    else:
        scores = labelled.probability.astype(np.float32)
        probability = np.where(flags == UNLABELLED, scores, flags == NOISY).astype(np.float32)
        overall = float((flags == NOISY).sum() / (flags != UNLABELLED).sum())
        reasons = reasons_with_labels(evidence, labelled.parts, counts, overall)
    table = interaction_table(data, flags, scores, probability, evidence, counts, reasons)
    some = np.random.default_rng(seed).permutation(len(data))[:TYPICAL]
    summary = summarise(data, evidence, scores, labelled) | {
        "seed": seed,
        "trainings": {"folds": [run.best_epoch for run in dynamics.folds], "full": dynamics.full.best_epoch},
        "typical_losses": typical_curves(dynamics, some),
    }
    shown = shown_table(data, table, dynamics)
    report("done", 1.0)
    return Audit(data, table, summary, shown, scores, probability, None if labelled is None else labelled.pairs)
