"""Refits the models of a recommender on the new data: each continues from its vectors or is solved again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from recsieve.auto import Spec
from recsieve.auto.data import PARTS, Stage, Trust, stage_data
from recsieve.auto.scoring import log_popularity
from recsieve.checking import make_settings
from recsieve.data.interactions import UNLABELLED, Interactions
from recsieve.data.reading.tables import Source
from recsieve.data.splitting import Split
from recsieve.display import counted
from recsieve.fitting import Fitted, begin, fitted_until
from recsieve.models import Earlier, Fitting, Scorer
from recsieve.models.blend import NOISE, Blend, Offset
from recsieve.preparation import criterion
from recsieve.refresh.grow import Grown, grow, new_parts
from recsieve.refresh.report import Refreshed, make_report
from recsieve.settings import Settings
from recsieve.training import Driver, Event, Validated

FEWEST = 3  # epochs that a model goes on for at least, where nothing speaks against it
# Of the best validation score, old and new data together, that a model which goes on has to keep.
KEPT = 0.98


@dataclass
class Refresh:
    """Fits the parts of a recommender to the new data, and records how."""

    before: Fitted
    grown: Grown
    progress: Callable[[Event], None] | None = None
    told: dict[str, str] = field(default_factory=dict)  # by model: what was done
    epochs: dict[str, int] = field(default_factory=dict)  # by model: for how many it went on, where validation said so

    def run(self) -> Fitted:
        before, trust = self.before, None
        if before.trust is not None:
            trust = _grown_trust(before, self.grown)
        model = self._stage(before.model, before.fitted_on, trust)
        final = None if before.final is None else self._stage(before.final, "all", trust)
        return Fitted(
            before.settings, self.grown.split, model, {"epoch": before.selected["epoch"]}, before.given,
            before.fitted_on, final, before.choice, trust,
        )  # fmt: skip

    def _stage(self, scorer: Scorer, stage: Stage, trust: Trust | None) -> Scorer:
        """One of the models, fitted on the data of a stage as it was before."""
        parts = scorer.scorers if isinstance(scorer, Blend) else [scorer]
        fitted = [
            self._fit(spec, part, stage, trust if spec.weighted else None)
            for spec, part in zip(self.before.specs, parts, strict=True)
        ]
        return scorer.of(fitted, self._offset(scorer.offset, stage)) if isinstance(scorer, Blend) else fitted[0]

    def _fit(self, spec: Spec, before: Scorer, stage: Stage, trust: Trust | None) -> Scorer:
        data = stage_data(self.grown.split, stage, trust)
        settings = make_settings(self.before.settings.model_dump() | spec.settings() | {"final": False})
        fitting = begin(settings, self.before.given, data)
        last, goes_on = self._start(fitting, before, spec, settings, stage)
        validation = self.grown.split.validation
        if not (goes_on and fitting.forgets and stage == "train" and len(validation)):
            return fitted_until(Driver(fitting, settings.patience), last, self.progress)
        nothing = validation.take(slice(0))
        self._hold_back(fitting, spec, criterion(settings, Split(data, validation, nothing, nothing)))
        return fitting.scorer()

    def _start(
        self, fitting: Fitting, before: Scorer, spec: Spec, settings: Settings, stage: Stage
    ) -> tuple[int, bool]:
        """Begin where a model was, if it can be; gives the step to go on to, and whether it does go on."""
        epochs = _epochs_of(self.before, spec)
        anew = min(epochs + settings.patience, max(1, fitting.total // fitting.steps_per_epoch))
        more = self.epochs.get(spec.slug, max(FEWEST, anew // fitting.anew_per_refresh))
        fresh = self._fresh(stage)
        if fitting.start_from(Earlier(before, self.grown.users, self.grown.items, epochs, more, fresh)):
            self.told[spec.name] = f"continued from its vectors for {more} of {anew} epochs"
            return fitting.total, True
        self.told[spec.name] = (
            "was solved again" if fitting.total == 1 else f"was fitted from scratch for {epochs} epochs"
        )
        return epochs * fitting.steps_per_epoch, False

    def _hold_back(self, fitting: Fitting, spec: Spec, judge: Callable[[Fitting], float]) -> None:
        """Go on as long as it costs next to nothing on all that is held out, and one epoch at least."""
        best, done = -math.inf, 0
        kept: dict[str, torch.Tensor] = {}
        for event in Driver(fitting, fitting.total).run(judge):
            if not isinstance(event, Validated):
                if self.progress is not None:
                    self.progress(event)
                continue
            if event.score < best - (1 - KEPT) * abs(best):
                fitting.scorer().load_state_dict(kept)
                fitting.scorer().prepare()
                break
            best, done = max(best, event.score), done + 1
            kept = {name: tensor.clone() for name, tensor in fitting.scorer().state_dict().items()}
        self.epochs[spec.slug] = done
        self.told[spec.name] = f"continued from its vectors for {counted(done, 'epoch')}"

    def _fresh(self, stage: Stage) -> NDArray[np.bool_]:
        """Which interactions of a stage are new."""
        parts = [(getattr(self.grown.split, name), getattr(self.grown.added, name)) for name in PARTS[stage]]
        return np.concatenate([np.arange(len(all_)) >= len(all_) - len(added) for all_, added in parts])

    def _offset(self, offset: Offset | None, stage: Stage) -> Offset | None:
        """The offset of more users and items: its popularity is that of today, new ones are noise as the mean is."""
        if offset is None:
            return None
        chosen = self.before.choice is not None

        def popularity(split: Split) -> torch.Tensor:
            return log_popularity(stage_data(split, stage if chosen else "train"))

        old = popularity(self.before.split)
        gamma = (offset.item @ old) / (old @ old).clamp(min=1e-12)
        noise = None
        if offset.noise_users is not None:
            codes = {"users": self.grown.users, "items": self.grown.items}
            noise = {name: _grown_rows(getattr(offset, f"noise_{name}"), codes[_whose(name)]) for name in NOISE}
        return Offset(gamma * popularity(self.grown.split), noise, float(offset.strength))


def refresh(
    before: Fitted, data: Split | Interactions | Source | None, forget: list[str], names: Mapping[str, str | None],
    how: str, progress: Callable[[Event], None] | None = None,
) -> tuple[Fitted, Refreshed]:  # fmt: skip
    """A recommender with new data and without some users, and a report."""
    started = time.perf_counter()
    new = None if data is None else new_parts(data, before.split, names, how, before.settings.seed)
    grown = grow(before.split, new, forget)
    work = Refresh(before, grown, progress)
    after = work.run()
    seconds = time.perf_counter() - started
    return after, make_report(grown, work.told, before.model, after.model, seconds)


def _epochs_of(fitted: Fitted, spec: Spec) -> int:
    """The epochs for which a model was fitted."""
    return max(1, round(fitted.selected["epoch"] if fitted.choice is None else fitted.choice.epochs[spec.slug]))


def _whose(name: str) -> str:
    return "users" if name.startswith("user") else "items"


def _grown_rows(rows: torch.Tensor, codes: NDArray[np.int64]) -> torch.Tensor:
    """The rows of those who were there, and their mean for those who were not."""
    grown = rows.mean(dim=0).expand(len(codes), *rows.shape[1:]).clone()
    known = codes >= 0
    grown[known] = rows[codes[known]]
    return grown


def _grown_trust(before: Fitted, grown: Grown) -> dict[str, NDArray[np.float32]]:
    """1 − P of every interaction: as it was, and of new ones by their label, else as their item's mean was."""
    assert before.trust is not None
    known = stage_data(before.split, "all")
    values = np.concatenate([before.trust[name] for name in PARTS["all"]]).astype(np.float64)
    n_items = grown.split.train.n_items
    counts = np.bincount(known.items, minlength=n_items)
    sums = np.bincount(known.items, values, minlength=n_items)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), values.mean())
    trust = {}
    for name in PARTS["all"]:
        part, added = getattr(before.split, name), getattr(grown.added, name)
        new = _by_label(added, means[added.items])
        trust[name] = np.concatenate([before.trust[name][grown.stayed[part.users]], new]).astype(np.float32)
    return trust


def _by_label(part: Interactions, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    if part.false_positive is None:
        return otherwise
    return np.where(part.false_positive == UNLABELLED, otherwise, ~part.is_false_positive)
