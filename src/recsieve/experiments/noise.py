"""The data of a comparison: with its own noise, or cleaned and with noise added at a known rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recsieve.data.interactions import concatenated
from recsieve.data.splitting import Split
from recsieve.experiments.settings import NATURAL, Noise
from recsieve.simulation.injection import inject


def with_noise(split: Split, noise: Noise) -> Split:
    """The split unchanged, or with known noise removed from training and validation and other noise added.

    Noise is added to both, as to a log before it is split, so that validation is not cleaner than training. Pairs held
    out for the test are never used, and the test does not change.
    """
    if noise.mechanism == NATURAL:
        return split
    parts = split.train, split.validation
    liked_train, liked_validation = (part.take(~part.is_false_positive) for part in parts)
    liked = replace(concatenated([liked_train, liked_validation]), false_positive=None)
    dislikes = concatenated([part.take(part.is_false_positive) for part in parts])
    rng = np.random.default_rng(0)
    noisy = inject(liked, noise.rate, noise.mechanism, rng, [split.test, split.test_false_positives], dislikes)
    in_validation = np.arange(len(noisy)) >= len(liked_train)
    share = len(liked_validation) / max(len(liked), 1)
    in_validation[len(liked) :] = rng.random(len(noisy) - len(liked)) < share
    return replace(split, train=noisy.take(~in_validation), validation=noisy.take(in_validation))
