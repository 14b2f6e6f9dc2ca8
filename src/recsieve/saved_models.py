"""Saving the fitted models of a run to its folder, and loading them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from recsieve.auto import Candidate, Choice
from recsieve.auto.data import Stage, Trust, stage_data
from recsieve.checking import make_settings
from recsieve.communicator import Communicator
from recsieve.data.splitting import Split
from recsieve.errors import RunError
from recsieve.models import Scorer
from recsieve.models.blend import Blend, Offset
from recsieve.preparation import make_learner
from recsieve.settings import Settings
from recsieve.storage.damage import reading
from recsieve.storage.run_folder import RunFolder

log = logging.getLogger(__name__)


class Chosen(NamedTuple):
    """What `auto` chose, and the trust in each interaction, if its models are weighted by it."""

    choice: Choice | None = None
    trust: Trust | None = None


def settings_of(run: RunFolder) -> Settings:
    """The settings of a run."""
    with reading(run.config):
        settings = dict(run.read_config()["settings"])
        settings.pop("table_learning_rate", None)  # version 0.1 had two settings for what is an engine now
        if settings.pop("shard_tables", False):
            settings["engine"] = "torchrec"
        return make_settings(settings)


def write_models(run: RunFolder, model: Scorer, served: Scorer, chosen: Chosen, group: Communicator) -> None:
    """Write the model to evaluate and, if it differs, the one to recommend with; in a group the first rank writes."""
    if chosen.choice is not None:
        if chosen.trust is not None:
            run.write_weights({name: torch.from_numpy(part) for name, part in chosen.trust.items()}, run.trust)
        run.write_weights(model.state_dict())
        if served is not model:
            run.write_weights(served.state_dict(), run.final)
        return
    if isinstance(model, Blend) and model.offset is not None:
        run.write_weights(model.offset.state_dict(), run.offset, group)
    run.write_weights(without_offset(model).saved_weights(), group=group)
    if served is not model:
        run.write_weights(without_offset(served).saved_weights(), run.final, group)


def read_chosen(run: RunFolder, metrics: Mapping[str, Any]) -> Chosen:
    """The choice of `auto`, if there was one."""
    if "choice" not in metrics:
        return Chosen()
    if isinstance(metrics["choice"], dict) and isinstance(metrics["choice"].get("chosen"), str):
        log.warning("%s was chosen by version 0.1: the reason is only in its metrics.json.", run.path)
        return Chosen()
    with reading(run.metrics, "of this version"):
        choice = Choice.from_dict(metrics["choice"])
    trust = (
        {name: tensor.numpy() for name, tensor in run.read_weights(run.trust).items()} if run.trust.exists() else None
    )
    return Chosen(choice, trust)


def read_model(run: RunFolder, path: Path, stage: Stage, settings: Settings, split: Split, chosen: Chosen) -> Scorer:
    """The model in a file of a run, which was fitted on the data of a stage."""
    if chosen.choice is not None:
        return _read_blend(run, path, stage, settings, split, chosen.choice.chosen.candidate, chosen.trust)
    try:
        model = make_learner(settings).restore(stage_data(split, stage), run.read_weights(path))
    except RunError as error:
        raise RunError(f"{path} does not fit its config.toml: {error}") from None
    return Blend([model], offset=_read_offset(run, model)) if run.offset.exists() else model


def _read_blend(
    run: RunFolder,
    path: Path,
    stage: Stage,
    settings: Settings,
    split: Split,
    candidate: Candidate,
    trust: Trust | None,
) -> Blend:
    state = run.read_weights(path)
    try:
        parts = [
            make_learner(make_settings(settings.model_dump() | spec.settings())).restore(
                stage_data(split, stage, trust if spec.weighted else None), _below(state, f"parts.{number}.")
            )
            for number, spec in enumerate(candidate.specs)
        ]
        of_offset = _below(state, "offset.")
        offset = Offset.from_state(of_offset) if of_offset else None
    except (RunError, KeyError, ValueError) as error:
        raise RunError(f"{path} does not fit the chosen model: {error}") from None
    if offset is not None:
        _check_offset(offset, parts[0], path)
    return Blend(parts, candidate.weights, offset)


def without_offset(model: Scorer) -> Scorer:
    """A named model without its score offset."""
    return model.scorers[0] if isinstance(model, Blend) else model


def _read_offset(run: RunFolder, model: Scorer) -> Offset:
    """The score offset in a run folder, if it fits the model."""
    try:
        offset = Offset.from_state(run.read_weights(run.offset))
    except (KeyError, ValueError):
        raise RunError(f"{run.offset} is damaged or belongs to another run: train again in another folder.") from None
    _check_offset(offset, model, run.offset)
    return offset


def _check_offset(offset: Offset, model: Scorer, path: Path) -> None:
    try:
        fits = offset(torch.arange(model.n_users)[-1:]).shape == (1, model.n_items)
    except (RuntimeError, IndexError):
        fits = False
    if not fits:
        raise RunError(f"{path} is damaged or belongs to another run: train again in another folder.")


def _below(state: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """The entries whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
