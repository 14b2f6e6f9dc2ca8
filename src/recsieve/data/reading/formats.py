"""From a log to Interactions: read, label, code, and merge repeated pairs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED, Interactions
from recsieve.data.labelling import false_positive_flags, is_zero_or_one, marked, refuse_unknown_column, yes_or_no
from recsieve.data.reading.columns import (
    ITEM,
    OWN_FLAG,
    ROW,
    TIME,
    USER,
    WEIGHT,
    Names,
    SourceRows,
    as_weight,
    read_rows,
)
from recsieve.data.reading.file_format import Format
from recsieve.data.reading.ids import encode_ids, ids_as_codes
from recsieve.data.reading.tables import Source, readable
from recsieve.data.repeats import check_repeats, merge_and_count
from recsieve.data.rules import columns_of, parse_rule
from recsieve.errors import DataError

logger = logging.getLogger(__name__)


def read_interactions(
    source: Source,
    *,
    user: str | None = None,
    item: str | None = None,
    false_positive: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    positive: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    query: str | None = None,
    repeats: str | None = None,
) -> Interactions:
    """Read interactions from a file, a folder of parts or a data frame, with repeated pairs merged.

    `source` is CSV or TSV (also .gz, .zst), JSON lines, Parquet, a folder of one of these, a SQLite or DuckDB file, a
    RecBole .inter file, a file of the paper's authors, or a data frame (polars, pandas, Arrow, DuckDB and others).

    `user`, `item` and `time` name columns, and are guessed if left out. `weight` is a column or an SQL expression, such
    as `case event when 'purchase' then 3 else 1 end`.

    `false_positive` is a rule over columns that marks noise, such as `rating < 3`. Without one, a column of that name
    with yes and no is used. `positive` is a rule that says which rows of an event log are interactions, such as `event
    in ('purchase')`; other rows can still mark a pair as noise.

    `header` overrides the detection of a header, `encoding` is that of text that is not UTF-8, and `query` is the
    SELECT for a database. `repeats` says how repeated pairs are merged (see `merge_repeats`). The default is "any" if
    the rule uses a text column (`event = 'return'`), else "all".
    """
    names = Names(user, item, false_positive, time, weight, positive)
    encoded, repeats = read_parts([source], names, Format(header, encoding, query), repeats)
    data, merging = merge_and_count(encoded.pop(), repeats)
    if merging.rows:
        logger.warning("%s rows repeat a pair of user and item and were merged.", f"{merging.rows:,}")
    for line in merging.lines():
        logger.warning("%s", line)
    return data


def read_parts(
    sources: Sequence[Source],
    names: Names,
    form: Format,
    repeats: str | None,
    group: Communicator = SINGLE_PROCESS,
) -> tuple[list[Interactions], str]:
    """Read sources with shared ids, row by row, and say how their repeats are to be merged."""
    check_repeats(repeats)
    parts = [read_rows(source, names, form, group) for source in sources]
    repeats = repeats or _usual_repeats(parts, names.false_positive)
    return encode(parts, names, group), repeats


def _usual_repeats(parts: list[SourceRows], rule: str | None) -> str:
    """A log of events tells a return in a row beside that of the purchase; ratings are one opinion after another."""
    asked = {} if rule is None else dict.fromkeys(columns_of(rule))
    kinds = [part.frame.schema[name] for part in parts for name in asked if name in part.frame.columns]
    return "any" if any(isinstance(kind, pl.String | pl.Categorical | pl.Enum) for kind in kinds) else "all"


def encode(parts: list[SourceRows], names: Names, group: Communicator = SINGLE_PROCESS) -> list[Interactions]:
    """Code the rows of all parts with the same users and items, on all ranks, row by row."""
    with readable("the parts together"):
        frame = pl.concat(_with_ids_of_one_type([part.frame for part in parts]), how="diagonal_relaxed")
    flags = _flags(frame, parts, names.false_positive, group)
    heights = [part.frame.height for part in parts]
    positive = None
    if names.positive is not None:
        positive = _marks(frame, names.positive, parts, group)
        kept = _of_positive_pairs(frame, flags, positive, names.positive, group)
        heights = [int(some.sum()) for some in np.split(kept, np.cumsum(heights)[:-1])]
        frame, flags, positive = frame.filter(kept), flags[kept], positive[kept]
    authors = all(part.is_authors for part in parts)
    users, user_ids = ids_as_codes(frame[USER], "user", group) if authors else encode_ids(frame[USER], group)
    items, item_ids = ids_as_codes(frame[ITEM], "item", group) if authors else encode_ids(frame[ITEM], group)
    weight = _weight(frame, parts, names, positive)
    # A time that was guessed may be there in some parts only, which is as good as none.
    time = frame[TIME].to_numpy() if group.all(TIME in frame.columns and not frame[TIME].has_nulls()) else None
    rows = frame[ROW].cast(pl.Int64).to_numpy() if ROW in frame.columns else None
    data = Interactions(users, items, user_ids, item_ids, flags, weight, time, rows, group)
    sliced = [data.take(slice(end - height, end)) for height, end in zip(heights, np.cumsum(heights), strict=True)]
    return [_without_empty_flags(part) for part in sliced]


def _with_ids_of_one_type(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Integers in one part and text in another are text."""
    mixed = [role for role in (USER, ITEM) if len({frame.schema[role] for frame in frames}) > 1]
    return [frame.with_columns(pl.col(mixed).cast(pl.String)) for frame in frames] if mixed else frames


def _flags(frame: pl.DataFrame, parts: list[SourceRows], rule: str | None, group: Communicator) -> NDArray[np.int8]:
    """Tell true from false positives by the rule, or by the flag that the authors' files and our own have."""
    clean = np.repeat([part.is_clean for part in parts], [part.frame.height for part in parts])
    all_clean = all(part.is_clean for part in parts)
    if rule is None:
        rule = _authors_rule(frame, parts, group)
        if rule is None and OWN_FLAG in frame.columns:
            rule = OWN_FLAG
            frame = frame.with_columns(yes_or_no(frame[OWN_FLAG], group))
    else:
        for name in columns_of(rule):
            if name not in frame.columns and not all_clean:
                refuse_unknown_column(rule, name, parts[0].source_columns)
    if rule is None or all_clean:
        flags = np.full(frame.height, UNLABELLED, np.int8)
    else:
        flags = false_positive_flags(frame, rule, group).copy()
    flags[clean] = CLEAN
    return flags


def _marks(frame: pl.DataFrame, rule: str, parts: list[SourceRows], group: Communicator) -> NDArray[np.bool_]:
    for name in columns_of(rule):
        refuse_unknown_column(rule, name, frame.columns if name in frame.columns else parts[0].source_columns)
    return marked(frame, rule, group).fill_null(False).to_numpy()


def _of_positive_pairs(
    frame: pl.DataFrame, flags: NDArray[np.int8], positive: NDArray[np.bool_], rule: str, group: Communicator
) -> NDArray[np.bool_]:
    """Which rows count: those that are interactions, and those that tell of the same pair that it is noise."""
    n_rows, n_positive = group.total(frame.height), group.total(int(positive.sum()))
    if n_positive == 0:
        raise DataError(f"the rule '{rule}' matches none of {n_rows:,} rows: look at what its columns hold.")
    if n_positive < n_rows:
        logger.warning("%s of %s rows are interactions by '%s'", f"{n_positive:,}", f"{n_rows:,}", rule)
    pairs = frame.select(USER, ITEM).with_columns(positive=positive)
    of_positive = pairs.select(pl.col("positive").any().over(USER, ITEM)).to_series().to_numpy()
    return np.asarray(positive | ((flags == NOISY) & of_positive))


def _weight(
    frame: pl.DataFrame, parts: list[SourceRows], names: Names, positive: NDArray[np.bool_] | None
) -> NDArray[np.float32] | None:
    """The given weights, by column or expression; a row that is no interaction weighs nothing."""
    rule = names.weight_rule(parts[0].source_columns)
    if rule is None:
        weight = frame[WEIGHT] if WEIGHT in frame.columns else None
    else:
        for name in columns_of(rule):
            refuse_unknown_column(rule, name, frame.columns if name in frame.columns else parts[0].source_columns)
        with readable(f"the weight '{rule}'"):
            weight = as_weight(frame.select(parse_rule(rule)).to_series(), f"the weight '{rule}'")
    if weight is None:
        return None
    return weight.to_numpy() if positive is None else weight.to_numpy() * positive


def _authors_rule(frame: pl.DataFrame, parts: list[SourceRows], group: Communicator) -> str | None:
    """The rule of the authors' files: flag 0 is a false positive. There is none where the column holds stars."""
    if "rating" not in frame.columns or not any(part.is_authors for part in parts):
        return None
    if is_zero_or_one(frame["rating"], group):
        return "rating = 0"
    logger.warning(
        "the third column has other values than the labels 0 and 1, so it is unknown which interactions are false "
        'positives: give a rule, e.g. false_positive="rating < 3"'
    )
    return None


def _without_empty_flags(data: Interactions) -> Interactions:
    return data if data.group.any(data.has_flags) else replace(data, false_positive=None)
