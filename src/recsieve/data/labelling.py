"""Rules that turn a rating, a dwell time or a return into "this interaction was a false positive"."""

from __future__ import annotations

import logging

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED
from recsieve.data.reading.delimited import MISSING
from recsieve.data.rules import EXAMPLES, parse_rule
from recsieve.errors import DataError, did_you_mean

logger = logging.getLogger(__name__)

_YES_AND_NO = {
    **dict.fromkeys(("yes", "y", "true", "t", "1"), True),
    **dict.fromkeys(("no", "n", "false", "f", "0"), False),
    **dict.fromkeys(MISSING, None),
}


def false_positive_flags(frame: pl.DataFrame, rule: str, group: Communicator = SINGLE_PROCESS) -> NDArray[np.int8]:
    """Whether the rule marks each row as a false positive; UNLABELLED if a value that it needs is missing.

    The rows may be those of one rank; the types of columns then depend on all ranks.
    """
    marks = marked(frame, rule, group)
    flag = pl.when(pl.col("marks")).then(NOISY).when(~pl.col("marks")).then(CLEAN).otherwise(UNLABELLED)
    flags = marks.to_frame("marks").select(flag.cast(pl.Int8)).to_series().to_numpy()
    _refuse_useless(flags, rule, group)
    return flags


def marked(frame: pl.DataFrame, rule: str, group: Communicator = SINGLE_PROCESS) -> pl.Series:
    """The result of a rule for each row: true, false, or null if a value that it needs is missing."""
    expression = parse_rule(rule)
    for name in expression.meta.root_names():
        refuse_unknown_column(rule, name, frame.columns)
    return _evaluate(frame, expression, rule, group)


def refuse_unknown_column(rule: str, name: str, columns: list[str]) -> None:
    """Raise an error if a rule uses a column that does not exist."""
    if name not in columns:
        raise DataError(f"the rule '{rule}' uses a column '{name}': {did_you_mean(name, columns)}")


def is_zero_or_one(column: pl.Series, group: Communicator = SINGLE_PROCESS) -> bool:
    """Whether a numeric column has only 0, 1 and missing values, on all ranks."""
    return column.dtype.is_numeric() and group.all(bool(((column == 0) | (column == 1)).all()))


def yes_or_no(column: pl.Series, group: Communicator = SINGLE_PROCESS) -> pl.Series:
    """A column of labels as true and false, null if missing; anything else on any rank is refused."""
    column = column.fill_nan(None) if column.dtype.is_float() else column
    if column.dtype in (pl.Boolean, pl.Null) or is_zero_or_one(column, group):
        return column.cast(pl.Boolean)
    is_text = isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum)
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase() if is_text else column
    other = column.filter(words.is_not_null() & ~words.is_in(list(_YES_AND_NO)) if is_text else column.is_not_null())
    if group.any(len(other) > 0):
        example = f" such as '{other.to_list()[0]}'" if len(other) else ""
        raise DataError(
            f"the column '{column.name}' holds {column.dtype}{example} and not yes or no: give 1 and 0, yes and no or "
            f'true and false, or a rule, e.g. false_positive="{column.name} > 0.5".'
        )
    logger.warning("the column '%s' is used as labels: yes, y, true and t mean noise", column.name)
    return words.replace_strict(_YES_AND_NO, default=None, return_dtype=pl.Boolean)


def _evaluate(frame: pl.DataFrame, expression: pl.Expr, rule: str, group: Communicator) -> pl.Series:
    """The rule's answer as one boolean a row, null where it is unknown."""
    asked = frame.select(list(dict.fromkeys(expression.meta.root_names()))).with_columns(
        pl.selectors.float().fill_nan(None)
    )
    try:
        answer = asked.select(expression.alias("marks"))
    except pl.exceptions.PolarsError as error:
        answer = _evaluate_with_booleans(asked, expression, rule, error, group)
    if answer.shape != (frame.height, 1):
        raise DataError(f"the rule '{rule}' gives {answer.height} values for {frame.height} rows: compare each row.")
    return _as_boolean(answer["marks"], rule, group)


def _evaluate_with_booleans(
    asked: pl.DataFrame, expression: pl.Expr, rule: str, error: Exception, group: Communicator
) -> pl.DataFrame:
    """Try again with columns of 0 and 1 as false and true: `hours < 1 or returned`."""
    try:
        yes_or_no = [column.cast(pl.Boolean) for column in asked if is_zero_or_one(column, group)]
        return asked.with_columns(yes_or_no).select(expression.alias("marks"))
    except pl.exceptions.PolarsError:
        reason = str(error).splitlines()[0]
        kinds = ", ".join(f"{column.name} is {column.dtype}{_no_number(column)}" for column in asked)
        raise DataError(f"the rule '{rule}' does not fit the columns ({kinds}): {reason}.") from error


def _no_number(column: pl.Series) -> str:
    """Where a column of text is nearly one of numbers, what in it is none."""
    if column.dtype != pl.String:
        return ""
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    others = column.filter(numbers.is_null() & column.is_not_null())
    return f", with '{others[0]}' among its numbers" if 0 < len(others) < len(column.drop_nulls()) else ""


def _as_boolean(answer: pl.Series, rule: str, group: Communicator) -> pl.Series:
    if answer.dtype in (pl.Boolean, pl.Null):
        return answer.cast(pl.Boolean)
    if is_zero_or_one(answer, group):
        return answer == 1
    raise DataError(f"the rule '{rule}' gives {answer.dtype}, not yes or no: compare it with something, {EXAMPLES}.")


def _refuse_useless(flags: NDArray[np.int8], rule: str, group: Communicator) -> None:
    n_rows, n_false = group.total(len(flags)), group.total(int((flags == NOISY).sum()))
    if n_rows and n_false == n_rows:
        raise DataError(
            f"the rule '{rule}' marks all {n_rows:,} interactions as false positives, so nothing is left to recommend: "
            "reverse it, or choose a lower limit."
        )
    if n_false == 0:
        logger.warning("the rule '%s' marks none of %s interactions as a false positive", rule, f"{n_rows:,}")
