"""The settings of a comparison and of tuning; those shared by all trainings are in `recsieve.settings`.

As there, nothing here imports torch.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from recsieve.experiments.source import DataSource
from recsieve.settings import Common, Options, Positive, Rate, SelectBy, Settings

NATURAL = "natural"  # the noise that the data has, known or not


class Strategy(BaseModel):
    """A denoising strategy with its options and related settings."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    denoiser: str
    denoiser_options: Options = {}
    learning_rate: Rate | None = None  # None: that of the comparison
    model_options: Options = {}  # beside those of the comparison
    objective: str | None = None  # None: that of the comparison
    objective_options: Options = {}
    select_by: SelectBy | None = None  # None: that of the comparison


class Noise(BaseModel):
    """The noise of the data itself, or noise added to clean data up to a given share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mechanism: str = NATURAL
    rate: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @property
    def name(self) -> str:
        return NATURAL if self.mechanism == NATURAL else f"{self.mechanism} {100 * self.rate:g} %"


# In a person's terms, and written out, so that a result says what it is the result of.
DEFAULT_STRATEGIES = {
    "CE": Strategy(denoiser="keep-all"),
    "T-CE": Strategy(denoiser="truncated", denoiser_options={"drop_positives": 0.1, "ramp_epochs": 5}),
    "R-CE": Strategy(denoiser="reweighted", denoiser_options={"beta": 0.2}),
}
# A gain over a weak model is no gain: these are in every comparison, without denoising.
PLAIN_MODELS = ["ease", "ials", "itemknn", "rp3beta", "popularity"]
# Strategies are compared and tuned on a model that takes all of them: that of the paper.
MODEL = "gmf"


class ComparisonConfig(Common):
    """Everything that affects the results of a comparison, and how many processes it may use."""

    data: DataSource | None = None  # None: a split that is given in Python
    models: list[str] = Field(default=[MODEL], description="Models, separated by commas.")
    model_options: dict[str, Options] = Field(default={})  # by model
    strategies: dict[str, Strategy] = DEFAULT_STRATEGIES
    plain_models: list[str] = Field(
        default=PLAIN_MODELS, description="Plain models to compare with, separated by commas."
    )
    noise: list[Noise] = Field(default=[Noise()])
    # With one, chance cannot be told from effect.
    seeds: Annotated[int, Field(ge=2)] = Field(default=5, description="Runs of each strategy.")
    metric: str = Field(default=Settings().select_by, description="Test metric for the verdicts.")
    learning_rate: Rate = Settings.model_fields["learning_rate"]  # type: ignore[assignment]
    workers: Positive | None = Field(default=None, description="Parallel processes. [number of cores]")


class TuningConfig(Common):
    """What to tune, on what, and for how long."""

    data: DataSource | None = None
    model: str = Field(default=MODEL, description="Model to tune.")
    model_options: Options = Field(default={})
    learning_rate: Rate | None = Field(default=None, description="Learning rate of Adam. [searched]")
    strategies: list[str] = Field(
        default=["keep-all", "truncated", "reweighted"],
        description="Strategies, separated by commas; plain training is always tuned too.",
    )
    trials: Positive = Field(default=20, description="Trials for each strategy.")
    seed: Annotated[int, Field(ge=0)] = Settings.model_fields["seed"]  # type: ignore[assignment]
    workers: Positive | None = Field(default=None, description="Strategies to tune in parallel. [number of cores]")
