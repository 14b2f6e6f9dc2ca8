"""Text that a spreadsheet would take for a formula."""

from __future__ import annotations

import polars as pl

_STARTS = r"^[=+\-@\t\r]"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that a spreadsheet would run as a formula; numbers stay as they are.

    An id from a log may be `=HYPERLINK(…)`. It is no longer the id that it was, so this is done only on request.
    """
    text = pl.col(pl.String)
    escaped = pl.when(text.str.contains(_STARTS)).then("'" + text).otherwise(text)
    return frame.with_columns(escaped.name.keep())
