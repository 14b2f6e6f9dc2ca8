"""What `auto` knows about noise: a share of the labels, and the probabilities estimated from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logit
from torch import Tensor

from recsieve.audit.dynamics import observe_training
from recsieve.audit.evidence import gather_evidence
from recsieve.audit.mixed_model import MOST_FOR_SLOPES
from recsieve.audit.noise_model import MODEL, enough_labels, labels_of, learn_from_labels
from recsieve.audit.pairs import PairNoise, PairScores
from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.data.splitting import Split
from recsieve.models.cost import STEP

LEARNING = 1e-4  # seconds a label, over all cross-validation


@dataclass(frozen=True)
class NoiseEstimate:
    """P, the probability of noise: of each training interaction, and of any pair."""

    observed: NDArray[np.floating]
    pairs: PairNoise


def visible(split: Split, share: float, seed: int) -> Split:
    """The split with a random share of the labels of its training and validation part."""
    rng = np.random.default_rng([seed, 0x1ABE1])
    return replace(
        split, train=_with_labels(split.train, share, rng), validation=_with_labels(split.validation, share, rng)
    )


def _with_labels(part: Interactions, share: float, rng: np.random.Generator) -> Interactions:
    if part.false_positive is None or share == 1:
        return part
    shown = rng.random(len(part)) < share
    return replace(part, false_positive=np.where(shown, part.false_positive, np.int8(UNLABELLED)))


def by_popularity(train: Interactions, estimate: NoiseEstimate) -> NoiseEstimate:
    """A control: the same probabilities, assigned by unpopularity, the largest to the least popular items."""
    counts = train.item_counts()
    order = np.argsort(-counts[train.items], kind="stable")  # the most popular first
    observed = np.empty(len(train))
    observed[order] = np.sort(estimate.observed)
    sums = np.bincount(train.items, observed, minlength=train.n_items)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), observed.max())
    none = np.zeros(train.n_users, np.float32)
    items = logit(means.clip(1e-6, 1 - 1e-6)).astype(np.float32)
    scores = PairScores(none, items, none[:, None], np.zeros((train.n_items, 1), np.float32))
    return NoiseEstimate(observed, PairNoise(scores))


def logit_tensors(noise: PairNoise) -> dict[str, Tensor]:
    """The parts of P's logit, for a ranking offset."""
    return {name: torch.from_numpy(np.array(part, np.float32)) for name, part in noise.logits.arrays().items()}


def noise_seconds(train: Interactions) -> float:
    """About how long it takes to estimate noise: three trainings on two thirds, one on everything, and the labels."""
    trainings = 3 * 10 * STEP * 2 * len(train)  # of about 10 epochs each, with a negative for each interaction
    labels = int((labels_of(train) != UNLABELLED).sum())
    return trainings + LEARNING * min(labels, MOST_FOR_SLOPES)


def estimate_noise(
    train: Interactions, seed: int, *, control: bool, cache: Path | None
) -> tuple[NoiseEstimate | None, str]:
    """P, estimated from the labels, or None if there are too few, and a sentence about it."""
    known = labels_of(train) != UNLABELLED
    if not enough_labels(train):
        return None, f"{known.sum():,} labels are too few to estimate P, the probability of noise."
    dynamics = observe_training(train, seed=seed, cache=cache)
    found = learn_from_labels(train, dynamics, gather_evidence(train, dynamics), seed=seed, report=lambda part: None)
    estimate = NoiseEstimate(found.probability, found.pairs)
    by = "a mixed model" if found.method == MODEL else "popularity, because nothing else was better on these labels"
    about = f"P, the probability that an interaction is noise, is estimated from {known.sum():,} labels by {by}"
    if control:
        return by_popularity(train, estimate), f"{about}, and then assigned by unpopularity (the control)."
    return estimate, f"{about}."
