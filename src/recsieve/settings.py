"""All settings of a training, as written to a run's config.toml: the one place of defaults.

The command line, `compare`, `tune` and `auto` use these defaults. torch is not imported here, so that `--help` is
quick; options of models and strategies are checked in `checking`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from recsieve.errors import ConfigError, did_you_mean
from recsieve.fidelity import Fidelity

CUSTOM = "custom"  # a model or strategy of the user's own, given as an object: it has no name to be made from
SELECT_BY = "ndcg@20"  # what is held against each other on validation, where nothing else is said
VALIDATION_LOSS = "validation-loss"  # of the strategy itself
TRIMMED = "trimmed-loss"  # the validation loss without the largest losses of positives
AUTO = "auto"  # no strategy, but a choice among them and ranking offsets on validation

Kind = TypeVar("Kind", bound=BaseModel)
Engine = Literal["auto", "fused", "lazy", "dense", "exact", "torchrec"]
Options = dict[str, int | float | str]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, lt=float("inf"))]
# What decides which weights are kept; "own-loss" is the name that version 0.1 had for the validation loss.
SelectBy = Annotated[str, AfterValidator(lambda given: VALIDATION_LOSS if given == "own-loss" else given)]


def usual_denoiser(model: Any) -> str:
    """The default strategy: chosen together with the model, or none for a named model."""
    return AUTO if model == AUTO else "keep-all"


class TrainingSize(BaseModel):
    """The amount of training; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    epochs: Positive = Field(default=100, description="Maximum number of epochs.")
    batch_size: Positive = Field(default=1024, description="Positives and negatives per batch.")
    negatives: Positive = Field(default=1, description="Negatives to sample for each positive.")
    engine: Engine = Field(
        default="auto",
        description="How training steps are computed: auto, fused, lazy, dense or exact, whose results differ by "
        "rounding, which may add up; or torchrec, for tables larger than the memory of a host.",
    )


class TrainingPlan(TrainingSize):
    """How to train by gradients."""

    learning_rate: Rate = Field(default=1e-3, description="Learning rate of Adam.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(default=0, description="The same seed gives the same results.")
    fidelity: Fidelity = Field(
        default="paper",
        description="Follow the 'paper', or the code of its 'authors' where the two differ.",
    )
    validate_every: Positive | None = Field(default=None, description="Steps between validations. [an epoch]")
    checkpoint_every: Positive | None = Field(default=None, description="Steps between checkpoints. [an epoch]")


class Common(TrainingSize):
    """What all trainings of a study share, so that none is favoured."""

    objective: str = Field(
        default="bce", description="Loss: bce, square or hinge (pointwise); bpr, softmax or bsl (against negatives)."
    )
    objective_options: Options = {}
    select_by: SelectBy = Field(
        default=SELECT_BY,
        description="Which epoch to keep, by validation: a metric such as ndcg@20 or clean-ndcg@20, validation-loss or "
        "trimmed-loss.",
    )
    patience: Positive = Field(default=10, description="Stop after this many validations without progress.")
    validation_users: Positive | None = Field(
        default=None, description="Validate on a random sample of this many users. [all users]"
    )


class Settings(TrainingPlan, Common):
    """What to train and how."""

    model: str = Field(
        default=AUTO,
        description="auto (chosen on validation), ease, ials, itemknn, rp3beta, popularity, mf, lightgcn, gmf, neumf, "
        "cdae, nmtr (uses noise labels), or one from a plug-in.",
    )
    model_options: Options = {}
    denoiser: str = Field(
        default=AUTO,
        description="auto (chosen on validation), keep-all (plain training), truncated (T-CE), reweighted (R-CE), "
        "eard, udt, dcf, pld, truncated-by-owner, reweighted-by-owner, random-drop, least-popular-drop, "
        "negative-feedback (NR: uses noise labels), fine-tuning and warm-up (use clean labels), or one from a "
        "plug-in. [auto; keep-all if you name a model]",
    )
    denoiser_options: Options = {}
    budget: str = Field(default="2m", description="auto: time limit, e.g. 30s, 2m or 1h.")
    trials: Positive | None = Field(default=None, description="auto: number of models, instead of a time limit.")
    candidates: list[str] = Field(default=[], description="auto: the models to choose from. [all]")
    final: bool | None = Field(
        default=None, description="Refit the model with validation data, and then on the whole log. [for auto]"
    )

    @model_validator(mode="before")
    @classmethod
    def _name_strategy(cls, values: Any) -> Any:
        """Whoever names a model and no strategy wants that model as it is."""
        if isinstance(values, Mapping) and "denoiser" not in values:
            return {**values, "denoiser": usual_denoiser(values.get("model", AUTO))}
        return values

    @property
    def chooses(self) -> bool:
        """Whether something is chosen on validation data."""
        return AUTO in (self.model, self.denoiser)


class AutoOptions(BaseModel):
    """The options of `auto`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The share of the known labels of noise that it may look at, drawn at random: less than all is for experiments.
    labels: Annotated[float, Field(ge=0, le=1)] = 1.0
    # "popularity" is the control: the same probabilities of noise, handed out by how unpopular items are.
    evidence: Literal["labels", "popularity"] = "labels"


def auto_options(options: Mapping[str, Any]) -> AutoOptions:
    """Check the options of `auto`; a problem is reported in one line."""
    return validated(AutoOptions, options, of="denoiser auto: ")


def parse_criterion(select_by: str) -> tuple[str, int, bool]:
    """Split "ndcg@20" or "clean-recall@50" into metric, list length, and whether only true positives count."""
    clean = select_by.startswith("clean-")
    metric, _, k = select_by.removeprefix("clean-").partition("@")
    if metric not in ("ndcg", "recall", "precision", "hit_rate", "mrr") or not re.fullmatch("[1-9][0-9]{0,8}", k):
        raise ConfigError(
            f"select_by is '{select_by}', but it says which epoch to keep: give a metric on validation data such as "
            "'ndcg@20', 'clean-ndcg@20' (known false positives left out), 'validation-loss' or 'trimmed-loss'."
        )
    return metric, int(k), clean


def is_loss(select_by: str) -> bool:
    """Whether the criterion is a loss and not a metric."""
    return select_by == VALIDATION_LOSS or select_by.startswith(TRIMMED)


def trimmed_share(select_by: str) -> float:
    """The share of the validation positives that "trimmed-loss" (a tenth) or "trimmed-loss@0.2" leaves out."""
    share = select_by.removeprefix(TRIMMED).removeprefix("@") or "0.1"
    if not re.fullmatch(r"0(\.[0-9]{1,6})?", share) or select_by == f"{TRIMMED}@":
        raise ConfigError(
            f"select_by is '{select_by}', but it is the share of validation positives to leave out: "
            "give a number from 0 to below 1, e.g. 'trimmed-loss@0.1'."
        )
    return float(share)


def parse_duration(text: str | float) -> float:
    """Seconds from "90", "90s", "2m" or "1h"."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([smh]?)\s*", str(text))
    if match is None or float(match[1]) <= 0:
        raise ConfigError(f"budget is '{text}', but it is a time: give e.g. 30s, 2m or 1h.")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def validated(kind: type[Kind], values: Mapping[str, Any], of: str = "") -> Kind:
    """Settings of a kind; what is wrong comes back as one line, which begins with what they are of."""
    try:
        return kind(**values)
    except ValidationError as error:
        raise ConfigError(f"{of}{_first_problem(error, kind)}") from None


def _first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    """What is wrong with the first of the settings that are, in one line."""
    problem = error.errors()[0]
    name = ".".join(str(part) for part in problem["loc"])
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"there is no setting '{name}': {did_you_mean(name, setting_names(model))}"
    if problem["type"].startswith("missing"):
        return f"{name} is missing: give it."
    return f"{name} is {problem['input']!r}, but {problem['msg'][0].lower()}{problem['msg'][1:]}."


def setting_names(model: type[BaseModel]) -> list[str]:
    """The names of all settings; those of a nested table as "table.name"."""
    names = []
    for name, field in model.model_fields.items():
        tables = [kind for kind in (field.annotation, *get_args(field.annotation)) if is_dataclass(kind)]
        names += [f"{name}.{inner.name}" for table in tables for inner in fields(table)] or [name]
    return names
