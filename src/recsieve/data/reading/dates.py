"""Dates written as text, with the day or the month first."""

from __future__ import annotations

import logging

import polars as pl

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.errors import DataError

logger = logging.getLogger(__name__)

_YEAR_LAST = r"^\s*(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})"  # 05/03/2025: 5 March to some, 3 May to others
_MONTHS = 12


def parsed_dates(column: pl.Series, what: str, group: Communicator = SINGLE_PROCESS) -> pl.Series:
    """Text as timestamps; `what` names the column in errors. In a group, the rows of all ranks decide the order."""
    if group.all(bool(column.str.contains(_YEAR_LAST).all())):
        column = _year_first(column, what, group)
    try:
        return column.str.to_datetime(time_unit="us")
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{what} holds text such as '{column[0]}' that is not a time: give numbers or ISO dates."
        ) from error


def _year_first(column: pl.Series, what: str, group: Communicator) -> pl.Series:
    """Dates with the year last as ISO dates, if there is one order of day and month that fits them all."""
    numbers = [column.str.extract(_YEAR_LAST, place).cast(pl.Int32) for place in (1, 2)]
    day_first, month_first = (group.any(bool((number > _MONTHS).any())) for number in numbers)
    example = f"dates such as '{column[0]}'" if len(column) else "dates with the year last"
    if day_first == month_first:
        both = "with the day first in some rows and the month first in others"
        either = "where the day or the month may come first, and no row makes it clear"
        known = both if day_first else either
        raise DataError(f"{what} holds {example}, {known}: give ISO dates, e.g. 2025-03-31.")
    logger.warning("%s holds %s, read with the %s first", what, example, "day" if day_first else "month")
    day, month = numbers if day_first else reversed(numbers)
    padded = [number.cast(pl.String).str.zfill(2) for number in (month, day)]
    return column.str.extract(_YEAR_LAST, 3) + "-" + padded[0] + "-" + padded[1] + column.str.replace(_YEAR_LAST, "")
