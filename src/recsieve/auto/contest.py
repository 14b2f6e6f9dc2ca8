"""Train what there is to choose among, judge it on validation, and choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from recsieve.audit.labelled import labels_of
from recsieve.auto.choice import Candidate, Choice, pick, rate
from recsieve.auto.judging import Judge, Shift, best_shifts, log_popularity, truth_of
from recsieve.auto.noise import NoiseEstimate, estimate_noise, logit_tensors, visible
from recsieve.auto.recipes import PLAIN, RECIPES, WEIGHTED, Recipe, weighed
from recsieve.data.interactions import UNKNOWN
from recsieve.data.splitting import Split
from recsieve.models import Scorer
from recsieve.models.offset import Offset, OffsetScorer
from recsieve.settings import AutoOptions
from recsieve.training import Began, Event, Validated


class Fitted(Protocol):
    """A recommender that was trained by one recipe."""

    history: pl.DataFrame | None
    validations: list[Validated]
    selected: dict[str, float]
    converged: bool

    def trained(self) -> Scorer: ...


Train = Callable[[Recipe, Split], Fitted]


@dataclass(frozen=True)
class Contest:
    """The trained recommenders, what is known of noise, and the choice."""

    fitted: Mapping[str, Fitted]  # by recipe
    noise: NoiseEstimate | None
    split: Split
    choice: Choice

    def model(self, candidate: Candidate) -> Scorer:
        """A candidate's trained model, with its ranking offset."""
        model = self.fitted[candidate.training].trained()
        if candidate.shift == Shift():
            return model
        tensors = logit_tensors(self.noise.pairs) if self.noise else None
        return OffsetScorer(model, candidate.shift.offset(log_popularity(self.split.train), tensors))


def hold_contest(
    split: Split,
    options: AutoOptions,
    k: int,
    seed: int,
    train: Train,
    *,
    cache: Path | None = None,
    progress: Callable[[Event], None] | None = None,
) -> Contest:
    """Choose among trainings and ranking offsets by NDCG@k on validation; the test is never looked at."""
    seen = visible(split, options.labels, seed)
    begin = _announcer(progress, len(RECIPES) + 2 * seen.train.has_flags)
    noise, evidence = None, "nothing is known of it, so that every held-out interaction counts in full."
    if seen.train.has_flags:
        begin("looking for noise")
        noise, evidence = estimate_noise(seen.train, seed, control=options.evidence == "popularity", cache=cache)
    fitted: dict[str, Fitted] = {}
    for recipe in RECIPES if noise is None else (*RECIPES, WEIGHTED):
        begin(recipe.name)
        given = replace(seen, train=weighed(seen.train, noise.observed)) if recipe.weighted and noise else seen
        fitted[recipe.name] = train(recipe, given)
    candidates = _judged(fitted, noise, seen, k, seed)
    criterion = f"NDCG@{k}" if noise is None else f"expected clean NDCG@{k}"
    chosen, reason = pick(candidates, criterion)
    labels = int((labels_of(seen.train) != UNKNOWN).sum())
    choice = Choice(chosen, reason, criterion, labels, evidence, fitted[PLAIN.name].converged, candidates)
    return Contest(fitted, noise, split, choice)


def _announcer(progress: Callable[[Event], None] | None, total: int) -> Callable[[str], None]:
    """Tells what is begun, and which of how many it is."""
    numbers = count(1)

    def begin(name: str) -> None:
        if progress is not None:
            progress(Began(name, next(numbers), total))

    return begin


def _judged(
    fitted: Mapping[str, Fitted], noise: NoiseEstimate | None, split: Split, k: int, seed: int
) -> tuple[Candidate, ...]:
    held_out = split.validation
    doubts = None if noise is None else noise.pairs.probability(held_out.users, held_out.items)
    judge = Judge(held_out, split.train, truth_of(held_out, doubts), k, seed)
    log_true = None if noise is None else Offset(torch.zeros(split.train.n_items), logit_tensors(noise.pairs))
    values: dict[tuple[str, Shift], NDArray[np.float64]] = {}
    for name, recommender in fitted.items():
        of_shifts = judge.values(recommender.trained(), log_true)
        values |= {(name, shift): of_shifts[shift] for shift in best_shifts(of_shifts)}
    return tuple(rate(values))
