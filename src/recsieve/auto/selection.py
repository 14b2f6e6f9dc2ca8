"""Model selection: fit the planned models, score them on validation data, add offsets and blends, and choose."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from recsieve.audit.noise_model import labels_of
from recsieve.auto.candidates import Candidate, Spec
from recsieve.auto.choice import Choice, RatedCandidate, best_plain, pick, rate, rate_one, score_of
from recsieve.auto.data import Stage, Trust, stage_data, trust_of
from recsieve.auto.noise import NoiseEstimate, estimate_noise, logit_tensors, noise_seconds, visible
from recsieve.auto.plan import SEARCH_SHARE, Plan, Planned, cost
from recsieve.auto.scoring import CandidateScorer, Values, log_popularity, truth_of
from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.data.splitting import Split
from recsieve.errors import DivergedError, Interrupted
from recsieve.files import replacing, write_text
from recsieve.models import MODELS, Scorer, fits_itself
from recsieve.models.blend import Blend, Offset
from recsieve.settings import AutoOptions
from recsieve.storage.damage import reading
from recsieve.training import Began, Event

log = logging.getLogger(__name__)

MOST_DENOISED = 4  # models that are fitted again with noise weights: the two best, each in at most two ways
NOISE_SHARE = 0.4  # of the budget that looking for noise may take
SHORTLIST = 3  # models that get offsets and are blended
STOPPED = (
    "the search was stopped before P, the probability of noise, was estimated from the labels, so every validation "
    "interaction without a label counts in full."
)


class Begin(Protocol):
    """Reports what has started."""

    def __call__(self, name: str, last: bool = False) -> None: ...


Ranked = tuple[Spec, NDArray[np.int32], float]  # a fitted model, the list of each user, and for how many epochs
# On a training part, with early stopping on validation: the model, and for how many epochs it was fitted.
Fit = Callable[[Spec, Split], tuple[Scorer, float]]
Refit = Callable[[Spec, Interactions, float, Stage], Scorer]  # for so many epochs


@dataclass(frozen=True)
class Selection:
    """The choice, and what is needed to fit it again on more data."""

    choice: Choice
    split: Split
    noise: NoiseEstimate | None
    trust: Trust | None  # where a chosen model counts interactions by it

    def scorer(self, stage: Stage, refit: Refit, candidate: Candidate | None = None) -> Blend:
        """The choice, or another candidate without noise weights, fitted on the data of a stage."""
        one, epochs = candidate or self.choice.chosen.candidate, self.choice.epochs
        parts = [
            refit(spec, stage_data(self.split, stage, self.trust if spec.weighted else None), epochs[spec.slug], stage)
            for spec in one.specs
        ]
        return Blend(parts, one.weights, self._offset(one, stage_data(self.split, stage)))

    def _offset(self, one: Candidate, data: Interactions) -> Offset | None:
        """What is added to the scores, where anything is."""
        if not one.c and not one.gamma:
            return None
        tensors = logit_tensors(self.noise.pairs) if one.c and self.noise is not None else None
        return Offset(one.gamma * log_popularity(data), tensors, one.c or 1.0)


class Search:
    """Fits and scores candidates; results that are already in the folder are reused."""

    def __init__(
        self, split: Split, options: AutoOptions, k: int, seed: int, fit: Fit,
        *, folder: Path | None = None, progress: Callable[[Event], None] | None = None,
    ) -> None:  # fmt: skip
        self._given, self._options, self._k, self._seed, self._fit = split, options, k, seed, fit
        self._folder, self._progress, self._started = folder, progress, time.monotonic()
        self._split = visible(split, options.labels, seed)
        self._values: Values = {}
        self._epochs: dict[str, float] = {}
        self._best: dict[str, tuple[float, Spec]] = {}  # of each model
        self._scorers: dict[str, Scorer] = {}  # of the best of each model, with and without noise weights
        self._stopped = False

    def run(self, plan: Plan) -> Selection:
        """Follow the plan as far as time allows, and choose. Ctrl-C ends the search with the best so far."""
        denoised = MOST_DENOISED if self._split.train.has_flags else 0
        begin = self._announcer(len(plan.fits) + 1 + self._split.train.has_flags + denoised)
        fits = iter(plan.fits)
        noise, evidence, first = None, STOPPED, None
        with self._interruptible():
            first = self._try_the_first(fits, begin)
            noise, evidence = self._look_for_noise(begin, plan)
        trust = None if noise is None else trust_of(self._split, noise)
        candidate_scorer = self._candidate_scorer(noise)
        if first is not None:  # it was judged without what is now known of noise
            self._best.clear()
            self._judge(*first, candidate_scorer)
        with self._interruptible():
            for planned in fits:
                affordable = self._is_kept(planned.spec) or self._affords(planned.seconds, plan, SEARCH_SHARE)
                if self._values and not affordable:
                    continue
                begin(planned.spec.name)
                self._try(planned.spec, candidate_scorer, trust)
            self._try_denoised(plan, candidate_scorer, trust, begin)
        tried = len(self._epochs)
        begin("offsets, blends and the final fit", last=True)
        log_true = None if noise is None else Offset(torch.zeros(self._split.train.n_items), logit_tensors(noise.pairs))
        with self._interruptible():
            self._try_rankings(candidate_scorer, trust, log_true)
        return self._choose(candidate_scorer, noise, trust, evidence, tried, len(plan.fits))

    def fit_ahead(self, specs: Sequence[Spec]) -> None:
        """Fit models for a `run` to find in the folder: without noise weights, which another rank may have to learn."""
        candidate_scorer = self._candidate_scorer(None)  # what is written are lists, which no label changes
        for spec in specs:
            if self._read(spec, candidate_scorer) is None:
                with suppress(DivergedError):  # the run will see that again, and say so
                    scorer, epochs = self._fit(spec, self._split)
                    self._write(spec, candidate_scorer.rank(scorer), epochs)

    def _look_for_noise(self, begin: Begin, plan: Plan) -> tuple[NoiseEstimate | None, str]:
        if not self._split.train.has_flags:
            return None, "none is known, so every validation interaction counts in full."
        seconds = noise_seconds(self._split.train)
        if plan.trials is None and seconds > NOISE_SHARE * plan.budget:
            enough = math.ceil(seconds / NOISE_SHARE / 60)
            return None, f"there is not enough time to learn from the labels: --budget {enough}m is enough."
        begin("looking for noise")
        return self._estimate_noise()

    def _estimate_noise(self) -> tuple[NoiseEstimate | None, str]:
        cache = None if self._folder is None else self._folder / "audit"
        control = self._options.evidence == "popularity"
        return estimate_noise(self._split.train, self._seed, control=control, cache=cache)

    def _candidate_scorer(self, noise: NoiseEstimate | None) -> CandidateScorer:
        held_out = self._split.validation
        doubts = None if noise is None else noise.pairs.probability(held_out.users, held_out.items)
        return CandidateScorer(held_out, self._split.train, truth_of(held_out, doubts), self._k, self._seed)

    def _affords(self, seconds: float, plan: Plan, share: float) -> bool:
        """Whether there is time for more; with a number of trials there always is, so that no number depends on it."""
        in_time = plan.trials is not None or time.monotonic() - self._started + seconds <= share * plan.budget
        return in_time and not self._stopped

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, Interrupted):
            if not self._values:
                raise
            log.warning("stopped: the best model so far is chosen and fitted.")
            self._stopped = True

    def _try_the_first(self, fits: Iterator[Planned], begin: Begin) -> Ranked | None:
        """Fit the first planned model, so that there is one if the search is stopped while it looks for noise."""
        candidate_scorer = self._candidate_scorer(None)
        for planned in fits:
            begin(planned.spec.name)
            ranked = self._try(planned.spec, candidate_scorer, None)
            if ranked is not None:
                return ranked
        return None

    def _try(self, spec: Spec, candidate_scorer: CandidateScorer, trust: Trust | None) -> Ranked | None:
        """Fit and judge one model, unless that was done before; one that diverges is left out."""
        kept = self._read(spec, candidate_scorer)
        if kept is None:
            try:
                scorer, epochs = self._fit(spec, self._data(spec, trust))
            except DivergedError as error:
                log.warning("%s is left out: %s", spec.name, error)
                return None
            kept = candidate_scorer.rank(scorer), epochs
            self._write(spec, *kept)
            self._scorers[spec.slug] = scorer
        ranked = spec, *kept
        self._judge(*ranked, candidate_scorer)
        return ranked

    def _judge(self, spec: Spec, lists: NDArray[np.int32], epochs: float, candidate_scorer: CandidateScorer) -> None:
        one, of_users = Candidate((spec,)), candidate_scorer.ndcg(lists)
        self._values[one.name], self._epochs[spec.slug] = (one, of_users), epochs
        personal = getattr(MODELS[spec.model], "personal", True)
        if personal and score_of(of_users) > self._best.get(spec.model, (-1.0,))[0]:
            self._best[spec.model] = score_of(of_users), spec
        self._forget_all_but_the_best()

    def _forget_all_but_the_best(self) -> None:
        """Keep the fitted models that will be needed again: a full matrix of items may be all that memory holds."""
        best = [spec for _, spec in self._best.values()]
        needed = {one.slug for spec in best for one in (spec, spec.without_denoising())}
        self._scorers = {slug: scorer for slug, scorer in self._scorers.items() if slug in needed}

    def _scorer(self, spec: Spec, trust: Trust | None) -> Scorer:
        """A model as it was judged: fitted again where it is not kept."""
        kept = self._scorers.get(spec.slug)
        return self._fit(spec, self._data(spec, trust))[0] if kept is None else kept

    def _data(self, spec: Spec, trust: Trust | None) -> Split:
        return replace(self._split, train=stage_data(self._split, "train", trust)) if spec.weighted else self._split

    def _try_denoised(self, plan: Plan, candidate_scorer: CandidateScorer, trust: Trust | None, begin: Begin) -> None:
        """The two best models again with noise weights, and the best with strategies, if it takes any."""
        best = sorted(self._best.values(), key=lambda one: -one[0])[:2]
        denoised = [] if trust is None else [one for _, spec in best for one in _weighted(spec)]
        denoised += [one for _, spec in best[:1] for one in _with_strategies(spec)]
        for spec in denoised:
            if self._affords(cost(spec, self._split.train), plan, SEARCH_SHARE + 0.1):
                begin(spec.name)
                self._try(spec, candidate_scorer, trust)

    def _try_rankings(self, candidate_scorer: CandidateScorer, trust: Trust | None, log_true: Offset | None) -> None:
        """Offsets on the best models, and blends of them."""
        shortlist = sorted(self._best.values(), key=lambda one: -one[0])[:SHORTLIST]
        scored = [candidate_scorer.score(spec, self._scorer(spec, trust)) for _, spec in shortlist]
        offset = (0.0, 0.0)
        if log_true is not None and scored:  # without labels, an offset that suits the noisy validation misleads
            for of_model in scored:
                self._values |= candidate_scorer.offsets(of_model, log_true)
            rated = [(one, score_of(of)) for one, of in self._values.values() if one.c or one.gamma]
            best = max(rated, key=lambda pair: pair[1])[0]
            offset = best.c, best.gamma
        self._values |= candidate_scorer.blends(scored, log_true, offset)

    def _choose(
        self,
        candidate_scorer: CandidateScorer,
        noise: NoiseEstimate | None,
        trust: Trust | None,
        evidence: str,
        tried: int,
        planned: int,
    ) -> Selection:
        criterion = f"NDCG@{self._k}" if noise is None else f"expected clean NDCG@{self._k}"
        rated = rate(self._values, self._seed)
        chosen, reason = pick(rated, criterion, labelled=noise is not None)
        by_name = {one.name: one for one in rated}
        popularity = by_name.get("popularity")
        choice = Choice(
            chosen, by_name[best_plain(self._values)], self._without_denoising(chosen, by_name, candidate_scorer),
            None if popularity is None else popularity.score, reason, criterion,
            int((labels_of(self._split.train) != UNLABELLED).sum()), evidence, tried, planned,
            self._epochs, rated,
        )  # fmt: skip
        if self._folder is not None:
            write_text(self._folder / "choice.json", json.dumps(choice.as_dict()) + "\n")
        weighted = any(spec.weighted for spec in chosen.candidate.specs)
        return Selection(choice, self._given, noise, trust if weighted else None)

    def _without_denoising(
        self, chosen: RatedCandidate, by_name: dict[str, RatedCandidate], candidate_scorer: CandidateScorer
    ) -> RatedCandidate | None:
        """What was chosen without what it does about noise, where it does anything."""
        if not chosen.candidate.denoises:
            return None
        one = chosen.candidate.without_denoising()
        if one.name in by_name:
            return by_name[one.name]
        parts = [self._scorer(spec, None) for spec in one.specs]
        offset = Offset(one.gamma * log_popularity(self._split.train)) if one.gamma else None
        of_users = candidate_scorer.ndcg(candidate_scorer.rank(Blend(parts, one.weights, offset)))
        plain = self._values[best_plain(self._values)][1]
        return rate_one(one, of_users, plain, p_value=1.0)

    def again(self) -> Selection | None:
        """The choice made before this run was stopped, if there was one."""
        path = None if self._folder is None else self._folder / "choice.json"
        if path is None or not path.exists():
            return None
        with reading(path, advice="start again in another folder"):
            choice = Choice.from_dict(json.loads(path.read_text(encoding="utf-8")))
        candidate = choice.chosen.candidate
        weighted = any(spec.weighted for spec in candidate.specs)
        noise = self._estimate_noise()[0] if weighted or candidate.c else None
        return Selection(choice, self._given, noise, trust_of(self._split, noise) if weighted and noise else None)

    def _announcer(self, total: int) -> Begin:
        """Tells what is begun, and which of how many it is."""
        numbers = count(1)

        def begin(name: str, last: bool = False) -> None:
            number = total if last else min(next(numbers), total)
            if self._progress is not None:
                self._progress(Began(name, number, total))

        return begin

    def _write(self, spec: Spec, lists: NDArray[np.int32], epochs: float) -> None:
        if self._folder is not None:
            with replacing(_lists_path(self._folder, spec)) as temporary:
                save_file({"lists": lists}, temporary, metadata={"epochs": repr(epochs)})

    def _is_kept(self, spec: Spec) -> bool:
        return self._folder is not None and _lists_path(self._folder, spec).exists()

    def _read(self, spec: Spec, candidate_scorer: CandidateScorer) -> tuple[NDArray[np.int32], float] | None:
        if self._folder is None:
            return None
        try:
            with safe_open(_lists_path(self._folder, spec), framework="numpy") as file:
                lists, epochs = file.get_tensor("lists"), float(file.metadata()["epochs"])
        except (OSError, SafetensorError, KeyError, TypeError, ValueError):
            return None  # missing or damaged: fitted again
        return (lists, epochs) if candidate_scorer.could_have_ranked(lists) else None


def _lists_path(folder: Path, spec: Spec) -> Path:
    """Where the lists of a model are kept: those of a plain one are the same whatever the labels."""
    return folder / ("plain" if spec.plain else "denoised") / f"{spec.slug}.safetensors"


def _weighted(spec: Spec) -> list[Spec]:
    """A model with noise weights, in each way that it knows."""
    ways: tuple[dict[str, Any], ...] = getattr(MODELS[spec.model], "weight_options", ({},))
    return [replace(spec, weighted=True, model_options={**spec.model_options, **way}) for way in ways]


def _with_strategies(spec: Spec) -> list[Spec]:
    """A model that is trained by gradients with T-CE and R-CE: for others trimming by loss has never helped."""
    if fits_itself(spec.model):
        return []
    plain = spec.without_denoising()
    return [
        replace(plain, denoiser="truncated", denoiser_options={"drop_positives": 0.1, "ramp_epochs": 5}),
        replace(plain, denoiser="reweighted", denoiser_options={"beta": 0.25}),
    ]
