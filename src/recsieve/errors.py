"""Errors that a user can fix: each says what was given, what that means and what to give."""

from collections.abc import Iterable
from difflib import get_close_matches


class RecsieveError(Exception):
    """The base of every error that the user of recsieve can put right."""


class DataError(RecsieveError):
    """The interactions that were given cannot be used as they are."""


class ConfigError(RecsieveError):
    """An option has a value or a name that does not exist."""


class RunError(RecsieveError):
    """A run folder is missing, damaged, foreign, or in the way."""


class DivergedError(RecsieveError):
    """A training left the numbers that can be learned from, at a step."""

    def __init__(self, message: str, step: int = 0) -> None:
        super().__init__(message)
        self.step = step


class GroupError(RecsieveError):
    """The processes of a run can no longer talk to each other."""


class Interrupted(Exception):
    """The user of the command line pressed Ctrl-C, which click would take for an end without a word."""


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Say which option is close to the name, or list the options there are."""
    known = [str(option) for option in options]
    close = get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known) or 'none'}."
