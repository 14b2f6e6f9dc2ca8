"""Errors that a user can fix: each says what was given, what it means, and what to give instead."""

from collections.abc import Iterable
from difflib import get_close_matches


class RecsieveError(Exception):
    """The base class of all errors that a user can fix."""


class DataError(RecsieveError):
    """The given interactions cannot be used."""


class ConfigError(RecsieveError):
    """An option has an invalid value, or a name that does not exist."""


class RunError(RecsieveError):
    """A run folder is missing, damaged, foreign, or in the way."""


class DivergedError(RecsieveError):
    """A training diverged at some step."""

    def __init__(self, message: str, step: int = 0) -> None:
        super().__init__(message)
        self.step = step


class GroupError(RecsieveError):
    """The processes of a run have lost their connection."""


class Interrupted(Exception):
    """The user pressed Ctrl-C, which click would turn into a silent exit."""


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Suggest the option closest to the name, or list the options."""
    known = [str(option) for option in options]
    close = get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known) or 'none'}."
