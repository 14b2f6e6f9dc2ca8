"""What a fitting tells of its course."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Trained:
    """Some steps have been made."""

    step: int
    epoch: int
    total_steps: int
    loss: float


@dataclass(frozen=True)
class Validated:
    """The model was judged on validation data."""

    step: int
    epoch: int
    score: float
    best: bool


@dataclass(frozen=True)
class Began:
    """One of several fittings has begun, or what else there is to do before the last of them."""

    name: str
    number: int  # from 1
    total: int


Event = Trained | Validated | Began
