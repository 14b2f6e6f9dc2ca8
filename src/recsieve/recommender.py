"""The estimator: fit, evaluate, recommend."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Literal, Self

import polars as pl

from recsieve.audit.pairs import PairNoise
from recsieve.auto import Choice, Selection, Spec
from recsieve.auto.data import PARTS, Stage, Trust, stage_data
from recsieve.auto.noise import logit_tensors
from recsieve.auto.scoring import log_popularity
from recsieve.checking import make_settings
from recsieve.communicator import Communicator
from recsieve.data.interactions import CSR, Interactions
from recsieve.data.reading.formats import read_interactions
from recsieve.data.reading.tables import Source
from recsieve.data.splitting import Split, split_interactions
from recsieve.denoisers import Denoiser
from recsieve.display import Displayed, Shown, counted_of
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.evaluation import Evaluation, evaluate
from recsieve.fidelity import Fidelity
from recsieve.fitting import BY_NAME, Fitted, Fitter, Given
from recsieve.models import Fitting, Learner, Model, Scorer
from recsieve.models.blend import Blend, Offset
from recsieve.preparation import check_possible, describe_denoiser, describe_model
from recsieve.recommendations.filters import Filters, some_of, texts
from recsieve.recommendations.frame import as_frame, as_profiles
from recsieve.recommendations.ranker import Ranker
from recsieve.refresh import Refreshed, forgotten_ids, refresh
from recsieve.saved_models import Chosen, read_chosen, read_model, settings_of, without_offset, write_models
from recsieve.settings import Engine, Settings
from recsieve.storage.damage import reading
from recsieve.storage.run_folder import RunFolder
from recsieve.training import Event, InteractionMemory, Validated

log = logging.getLogger(__name__)

DEFAULT_KS = (5, 10, 20, 50, 100)


class Recommender(Displayed):
    """Trains on noisy interactions, and recommends with the user's own ids.

    >>> recommender = Recommender(model="gmf", denoiser="truncated").fit(split)
    >>> recommender.evaluate(split).overall["recall@20"]
    >>> recommender.recommend(["alice"], k=10)

    Without a model it chooses one on validation data, with noise weights, offsets and blends, and refits the choice on
    more data; `choice` then says what was chosen and why. `model` is a name, with its options in `model_options`, a
    `Model` class, or a learner such as `EASE(l2=100)`. `denoiser` is a strategy or a name, with its options in
    `denoiser_options`, or "auto". With every strategy, the weights with the best `select_by` on validation data are
    kept. For the defaults, see `Settings`.
    """

    def __init__(
        self,
        model: str | Learner | type[Model] | None = None,
        denoiser: str | Denoiser | None = None,
        *,
        model_options: Mapping[str, int | float | str] | None = None,
        denoiser_options: Mapping[str, int | float | str] | None = None,
        objective: str | None = None,
        objective_options: Mapping[str, int | float | str] | None = None,
        select_by: str | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        negatives: int | None = None,
        seed: int | None = None,
        validate_every: int | None = None,
        validation_users: int | None = None,
        checkpoint_every: int | None = None,
        engine: Engine | None = None,
        fidelity: Fidelity | None = None,
        budget: str | None = None,
        trials: int | None = None,
        candidates: Sequence[str] | None = None,
        final: bool | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in Settings.model_fields and value is not None}
        self._model: Learner | type[Model] | None = None
        self._denoiser: Denoiser | None = None
        if model is not None and not isinstance(model, str):
            self._model = model
            given |= describe_model(model, model_options)
        if denoiser is not None and not isinstance(denoiser, str):
            self._denoiser = denoiser
            given |= describe_denoiser(denoiser)
        self.settings: Settings = make_settings(given)
        self._forget()

    def _forget(self) -> None:
        """Become as if nothing had been fitted."""
        self.model: Scorer | None = None
        self.split: Split | None = None
        self.history: pl.DataFrame | None = None
        self.validations: list[Validated] = []
        self.selected: dict[str, float] = {}
        self.converged = False  # whether the training ended because it no longer improved
        self.choice: Choice | None = None
        self.fitted_on: Stage = "train"  # what `model` was fitted on
        self.final: Scorer | None = None  # fitted on the whole log, the test too
        self.refreshed: Refreshed | None = None  # what changed, where it is an earlier one with new data
        self._trust: Trust | None = None
        self._ranker: Ranker | None = None
        self._final_of: RunFolder | None = None  # where it is, if it was not read yet

    def fit(
        self,
        data: Split | Interactions | Source,
        *,
        user: str | None = None,
        item: str | None = None,
        false_positive: str | None = None,
        time: str | None = None,
        weight: str | None = None,
        progress: Callable[[Event], None] | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        validate: Callable[[Fitting], float] | None = None,
        memory: InteractionMemory | None = None,
    ) -> Self:
        """Train on a split, or on interactions, of which a tenth of each user's is held out for validation.

        Interactions may also be a data frame (polars, pandas, Arrow and others) or a file, with columns named by
        `user`, `item`, `false_positive`, `time` and `weight`, or guessed. An earlier fit is discarded.

        With `checkpoint`, a file to write to, a training that was killed continues with `resume=True`, with the same
        results as one that was never stopped. If it diverges, a `DivergedError` is raised, and what was selected before
        is kept. `validate` replaces `select_by` as the score of a validation; `memory` records the losses and weights
        of every training interaction.
        """
        names = {"user": user, "item": item, "false_positive": false_positive, "time": time, "weight": weight}
        split = _as_split(data, names, self.settings.seed)
        self._forget()
        fitter = self._fitter(progress, checkpoint, resume)
        self.validations = fitter.validations
        try:
            fitter.fit(split, validate, memory)
        finally:  # a training that diverged may have selected something before
            if fitter.fitted is not None:
                self._become(fitter.fitted)
        return self

    def _fitter(self, progress: Callable[[Event], None] | None, checkpoint: Path | None, resume: bool) -> Fitter:
        return Fitter(self.settings, self._given(), progress, checkpoint, resume)

    def _given(self) -> Given:
        """The objects that were given; what is chosen is made by name."""
        return BY_NAME if self.settings.chooses else Given(self._model, self._denoiser)

    def _become(self, fitted: Fitted) -> None:
        """Take over what was fitted."""
        self.model, self.final, self.fitted_on = fitted.model, fitted.final, fitted.fitted_on
        self.split, self.history, self.selected = fitted.split, fitted.history, fitted.selected
        self.choice, self._trust, self.converged = fitted.choice, fitted.trust, fitted.converged

    def select(
        self,
        split: Split,
        *,
        progress: Callable[[Event], None] | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Selection:
        """Fit and score the candidates of `auto` by a plan that is saved first, and choose."""
        check_possible(self.settings, split)
        return self._fitter(progress, checkpoint, resume).select(split)

    def fit_ahead(self, split: Split, checkpoint: Path, group: Communicator, *, resume: bool = False) -> None:
        """Fit what `auto` has to choose among, a share on each rank, for the `fit` of the first to find."""
        check_possible(self.settings, split)
        self._fitter(None, checkpoint, resume).fit_ahead(split, group)

    def refit(self, spec: Spec, data: Interactions, epochs: float, stage: Stage) -> Scorer:
        """Fit one model for a given number of epochs, on the data of a stage."""
        return self._fitter(None, None, resume=False).refit(spec, data, epochs, stage)

    def offset_scores(self, popularity: float = 0.0, noise: PairNoise | None = None) -> Self:
        """From now on, rank by score + `popularity` · log popularity + log(1 − P); nothing is trained again.

        `noise` gives P, the probability of noise, for any pair, as an audit with labels does. Without arguments, the
        ranking is again that of the model alone.
        """
        model, split = self._fitted()
        if not model.is_whole:
            raise ConfigError(
                "each rank has a part of this model, so it cannot have an offset: save the run, and load it in one "
                "process."
            )
        tensors = None if noise is None else logit_tensors(noise)
        offset = Offset(popularity * log_popularity(split.train), tensors) if popularity or noise is not None else None
        served = self.serving()
        self.model = self._with_offset(model, offset)
        if served is not model:
            self.final = self._with_offset(served, offset)
        return self

    def _with_offset(self, model: Scorer, offset: Offset | None) -> Scorer:
        if self.choice is not None and isinstance(model, Blend):  # which may have several parts
            return model.with_offset(offset)
        return without_offset(model) if offset is None else Blend([without_offset(model)], offset=offset)

    def evaluate(self, test: Interactions | Split | None = None, ks: Sequence[int] = DEFAULT_KS) -> Evaluation:
        """Rank all items that a user has not seen in training or validation, and compute metrics on a test set.

        The default test set is that of the training split. With `fidelity="authors"`, a pair that the test repeats
        counts as often among the relevant items, and a user without relevant items counts as 0.
        """
        model, split = self._fitted()
        test = split if test is None else test
        wanted, unwanted = (test.test, test.test_false_positives) if isinstance(test, Split) else (test, None)
        if wanted.all_reduce_length() == 0:
            raise DataError("the test set is empty: give at least one interaction that is not known to be noise.")
        unwanted_items = None if unwanted is None else unwanted.csr
        if self.settings.fidelity == "authors":
            relevant, nothing = wanted.counted, 0.0
        else:
            relevant, nothing = wanted.csr, math.nan
        return evaluate(model, relevant, self.seen(), ks, unwanted_items, wanted.group, nothing_relevant=nothing)

    def recommend(
        self,
        users: Iterable[Any] | str | int | None = None,
        k: int = 10,
        *,
        profiles: Any = None,
        exclude_seen: bool = True,
        unknown: Literal["error", "popular"] = "error",
        allow: Any = None,
        deny: Any = None,
        min_popularity: int = 0,
        categories: Any = None,
        per_category: int = 0,
        explain: int = 0,
    ) -> pl.DataFrame:
        """The k best items of a user, of several, or of all (None): columns user, item, rank, score, popular.

        `profiles` is for new users, by their items: lists of item ids (users are then numbered from 0), a mapping from
        user to items, or a frame with both. Items that a user has interacted with in any part of the split, or in the
        profile, are left out unless `exclude_seen` is False. `allow` and `deny` are ids for all users, a mapping from
        user to ids, or a frame; `min_popularity` is a number of interactions. With `categories`, a mapping from item to
        category or a frame, a list has at most `per_category` items of each.

        A user who is not in the training data is an error or, with `unknown="popular"`, gets the most popular items,
        with `popular` true and no score; so does a profile without a known item. With `explain`, a column `reasons` has
        that many items of the profile that contribute most, and what each adds to the score.
        """
        ranker, filters = self.ranker(), Filters(exclude_seen, allow, deny, min_popularity, categories, per_category)
        if profiles is not None:
            if users is not None:
                raise ConfigError(
                    "both users and profiles are given: give users for trained users, or profiles for new ones."
                )
            lists = ranker.for_profiles(as_profiles(profiles), k, filters, explain=explain)
        else:
            asked = None if users is None else texts(users)
            if asked is not None and unknown == "error":
                _refuse_unknown(asked, ranker)
            lists = ranker.for_users(asked, k, filters, explain=explain)
        for note in lists.notes:
            log.warning(note)
        return as_frame(lists, ranker.users.ids, ranker.items.ids)

    def similar_items(self, items: Iterable[Any] | str | int, k: int = 10) -> pl.DataFrame:
        """The k items most similar to each of some: columns item, similar, rank, score."""
        ranker = self.ranker()
        frame = as_frame(ranker.similar(texts(items), k), ranker.items.ids, ranker.items.ids)
        return frame.select(item="user", similar="item", rank="rank", score="score")

    def similar_users(self, users: Iterable[Any] | str | int, k: int = 10) -> pl.DataFrame:
        """The k users most similar to each of some: columns user, similar, rank, score."""
        ranker = self.ranker()
        frame = as_frame(ranker.similar_users(texts(users), k), ranker.users.ids, ranker.users.ids)
        return frame.select(user="user", similar="item", rank="rank", score="score")

    def refresh(
        self,
        data: Split | Interactions | Source | None = None,
        *,
        forget: Any = None,
        split: str = "random",
        user: str | None = None,
        item: str | None = None,
        false_positive: str | None = None,
        time: str | None = None,
        weight: str | None = None,
        progress: Callable[[Event], None] | None = None,
    ) -> Recommender:
        """A recommender with new interactions, users and items, and without the users in `forget`.

        Ids do not change. Models with vectors continue from them for a part of the epochs, and closed-form models are
        solved again; `refreshed` says what changed. New data is split into the existing parts, as `split` says.
        """
        names = {"user": user, "item": item, "false_positive": false_positive, "time": time, "weight": weight}
        (model, own), served = self._fitted(), self.serving()
        before = Fitted(
            self.settings, own, model, self.selected, self._given(), self.fitted_on,
            None if served is model else served, self.choice, self._trust,
        )  # fmt: skip
        after, report = refresh(before, data, forgotten_ids(forget), names, split, progress)
        other = copy(self)
        other._forget()
        other._become(after)
        other.refreshed = report
        return other

    def ranker(self) -> Ranker:
        """The ranker of the model used to recommend; created once per model."""
        model, (_, split) = self.serving(), self._fitted()
        if self._ranker is None or self._ranker.scorer is not model:
            self._ranker = Ranker(model, self._fitted_on(), self.interacted(), split.train.item_counts())
        return self._ranker

    def _fitted_on(self) -> Interactions:
        """The data of the model to recommend with, with the weights of its first part."""
        _, split = self._fitted()
        stage: Stage = self.fitted_on if self.final is None else "all"
        weighted = self.choice is not None and self.choice.chosen.candidate.specs[0].weighted
        return stage_data(split, stage, self._trust if weighted else None)

    def seen(self) -> CSR:
        """The items of each user in training and validation, which `evaluate` does not rank."""
        _, split = self._fitted()
        return split.train.csr.union(split.validation.csr)

    def interacted(self) -> CSR:
        """The items of each user in any part, including the test, which `recommend` leaves out."""
        _, split = self._fitted()
        held_out = split.validation.csr.union(split.test.csr).union(split.test_false_positives.csr)
        return split.train.csr.union(held_out)  # the large one once

    def save(self, folder: Path | str) -> None:
        """Write a run folder; a folder with other contents is refused."""
        _, split = self._fitted()
        run = RunFolder(folder)
        if run.path.exists() and any(run.path.iterdir()):
            raise RunError(f"{run.path} is not empty: give a new folder.")
        run.write_config(self.settings, {})
        run.write_split(split)
        self.save_results(run)
        run.write_metrics({"selected": self.selected, **self.choice_record()})

    def save_results(self, run: RunFolder) -> None:
        """Write weights and history into a folder that has the configuration and the data; metrics follow later.

        In a group of ranks, all call it, and the first writes.
        """
        model, split = self._fitted()
        group = split.train.group
        write_models(run, model, self.serving(), Chosen(self.choice, self._trust), group)
        if group.is_first:
            run.write_frame(run.history, self.history if self.history is not None else pl.DataFrame())

    def choice_record(self) -> dict[str, Any]:
        """What metrics.json says about the data of the fit, the choice, and a refresh."""
        choice = {} if self.choice is None else {"choice": self.choice.as_dict()}
        refreshed = {} if self.refreshed is None else {"refreshed": self.refreshed.as_dict()}
        return {"fitted_on": self.fitted_on, **choice, **refreshed}

    @classmethod
    def load(cls, folder: Path | str) -> Recommender:
        """Load a run folder."""
        run = RunFolder(folder)
        with reading(run.path):
            return cls._read(run)

    @classmethod
    def _read(cls, run: RunFolder) -> Recommender:
        run.require()
        recommender = cls(**settings_of(run).model_dump())
        split = run.read_split()
        metrics = run.read_metrics()
        recommender.split, recommender.selected = split, metrics["selected"]
        recommender.history = run.read_frame(run.history)
        stage = metrics.get("fitted_on", "train")
        if stage not in PARTS:
            raise RunError(f"{run.metrics} is damaged: it says that the model was fitted on '{stage}'.")
        recommender.fitted_on, recommender._final_of = stage, run if run.final.exists() else None
        recommender.choice, recommender._trust = read_chosen(run, metrics)
        recommender.model = recommender._restored(run, run.model, stage)
        return recommender

    def _restored(self, run: RunFolder, path: Path, stage: Stage) -> Scorer:
        chosen = Chosen(self.choice, self._trust)
        assert self.split is not None
        return read_model(run, path, stage, self.settings, self.split, chosen)

    def serving(self) -> Scorer:
        """The model used to recommend: the one fitted on the whole log, if there is one."""
        if self.final is None and self._final_of is not None:
            self.final = self._restored(self._final_of, self._final_of.final, "all")
        return self.final or self.trained()

    def shown(self) -> Shown:
        """The model and whether it is fitted."""
        settings = self.settings
        rows: list[tuple[str, Any]] = [("model", settings.model), *settings.model_options.items()]
        rows += [("strategy", settings.denoiser), *settings.denoiser_options.items()]
        rows += [(f"{settings.select_by} on validation", self.selected.get("score"))] if self.selected else []
        return Shown("Recommender" if self.model else "Recommender, not fitted", ("", ""), rows)

    def trained(self) -> Scorer:
        """The model, if it is fitted."""
        return self._fitted()[0]

    def _fitted(self) -> tuple[Scorer, Split]:
        if self.model is None or self.split is None:
            raise RunError("this recommender has not been trained: call fit first.")
        return self.model, self.split


def _as_split(data: Split | Interactions | Source, names: Mapping[str, str | None], seed: int) -> Split:
    """A split as it is; of interactions, whatever they are in, a tenth of each user's for validation."""
    given: dict[str, Any] = {name: value for name, value in names.items() if value is not None}
    if isinstance(data, Split | Interactions):
        if given:
            raise ConfigError(f"{', '.join(given)} only apply to a data frame or file, which this is not.")
        return data if isinstance(data, Split) else split_interactions(data, ratios=(0.9, 0.1, 0.0), seed=seed)
    return split_interactions(read_interactions(data, **given), ratios=(0.9, 0.1, 0.0), seed=seed)


def _refuse_unknown(asked: Sequence[str], ranker: Ranker) -> None:
    missing = [user for user, code in zip(asked, ranker.users.codes(asked), strict=True) if code < 0]
    if missing:
        raise DataError(
            f"{counted_of(len(missing), len(asked), 'user')} not in the training data ({some_of(missing)}): leave them "
            "out, or ask for popular items with unknown='popular' (--unknown popular)."
        )
