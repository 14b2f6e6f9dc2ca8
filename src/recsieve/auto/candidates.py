"""What `auto` can choose: a model to fit, and a ranking from one or several fitted models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

# How a strategy is called after the model it is put on.
TITLES = {"truncated": "T", "reweighted": "R"}


@dataclass(frozen=True)
class Spec:
    """A model to fit: its options, its strategy, and whether interactions are weighted by 1 − P."""

    model: str
    model_options: Mapping[str, Any] = field(default_factory=dict)
    denoiser: str = "keep-all"
    denoiser_options: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)  # settings of gradient descent, where not the usual ones
    weighted: bool = False

    @property
    def plain(self) -> bool:
        """Whether it does nothing about noise."""
        return self.denoiser == "keep-all" and not self.weighted

    @property
    def name(self) -> str:
        given = {**self.training, **self.model_options}
        on = f" on {given.pop('weights')}" if "weights" in given else ""
        options = ", ".join(f"{key} {_short(value)}" for key, value in given.items())
        strategy = "" if self.denoiser == "keep-all" else f" {TITLES.get(self.denoiser, self.denoiser)}"
        values = " ".join(_short(value) for value in self.denoiser_options.values())
        strategy += f" {values}" if strategy and values else ""
        weights = f", weights 1−P{on}" if self.weighted else ""
        return f"{self.model}{f' ({options})' if options else ''}{strategy}{weights}"

    @property
    def slug(self) -> str:
        """A name for its files."""
        return f"{self.model}-{sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:10]}"

    def settings(self) -> dict[str, Any]:
        """The corresponding settings."""
        return {
            "model": self.model,
            "model_options": dict(self.model_options),
            "denoiser": self.denoiser,
            "denoiser_options": dict(self.denoiser_options),
            **self.training,
        }

    def without_denoising(self) -> Spec:
        # How weights enter says nothing where there are none.
        options = {name: value for name, value in self.model_options.items() if name != "weights"}
        return Spec(self.model, options, training=self.training)


@dataclass(frozen=True)
class Candidate:
    """A ranking: one fitted model or a blend of several, with the score offset c · log(1 − P) + γ · log popularity."""

    specs: tuple[Spec, ...]
    weights: tuple[float, ...] = (1.0,)
    c: float = 0.0
    gamma: float = 0.0

    @property
    def plain(self) -> bool:
        """Whether it is a single model without denoising and offsets."""
        return len(self.specs) == 1 and self.specs[0].plain and not self.c and not self.gamma

    @property
    def denoises(self) -> bool:
        """Whether it does anything about noise."""
        return bool(self.c) or not all(spec.plain for spec in self.specs)

    @property
    def name(self) -> str:
        parts = [
            f"{weight:g} · {spec.name}" if len(self.specs) > 1 else spec.name
            for spec, weight in zip(self.specs, self.weights, strict=True)
        ]
        offset = f" {self.c:+g} log(1−P)" if self.c else ""
        offset += f" {self.gamma:+g} log popularity" if self.gamma else ""
        return " + ".join(parts) + offset

    def without_denoising(self) -> Candidate:
        """The same candidate without its denoising."""
        return Candidate(tuple(spec.without_denoising() for spec in self.specs), self.weights, 0.0, self.gamma)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Candidate:
        specs = tuple(Spec(**spec) for spec in values["specs"])
        return cls(specs, tuple(values["weights"]), values["c"], values["gamma"])


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
