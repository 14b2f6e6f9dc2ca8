"""Models, objectives and so on by name: those of this package, and those of other packages by entry points."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from recsieve.errors import ConfigError, did_you_mean

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Models, objectives, denoisers or checks by name.

    Another package adds its own with an entry point in the group `recsieve.models`, `recsieve.objectives`,
    `recsieve.denoisers` or `recsieve.checks`. It is imported when it is needed, and cannot replace a built-in one.
    """

    def __init__(self, kind: str, ours: Mapping[str, T]) -> None:
        self.kind, self._ours, self._loaded = kind, dict(ours), dict(ours)

    @cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        points = entry_points(group=f"recsieve.{self.kind}s")
        return {point.name: point for point in points if point.name not in self._ours}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            if name not in self._offered:
                raise ConfigError(f"there is no {self.kind} '{name}': {did_you_mean(name, self)}")
            self._loaded[name] = self._load(self._offered[name])
        return self._loaded[name]

    def __setitem__(self, name: str, thing: T) -> None:
        """Add something in this process alone, as a notebook does."""
        self._ours[name] = self._loaded[name] = thing

    def _load(self, point: EntryPoint) -> T:
        try:
            loaded: T = point.load()
        except Exception as error:  # whatever somebody else's module raises
            raise ConfigError(
                f"the {self.kind} '{point.name}' comes from {point.value}, which cannot be imported "
                f"({type(error).__name__}: {error}): fix or uninstall that package."
            ) from error
        return loaded

    def __contains__(self, name: object) -> bool:
        return name in self._ours or name in self._offered

    def __iter__(self) -> Iterator[str]:
        return iter([*self._ours, *self._offered])

    def __len__(self) -> int:
        return len(self._ours) + len(self._offered)


def options_of(kind: type) -> list[str]:
    """The options of an objective or a denoiser, by name."""
    return [name for name in inspect.signature(kind).parameters if name != "context"]
