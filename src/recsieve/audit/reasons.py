"""Reasons why an interaction is suspicious, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recsieve.audit.evidence import Evidence

NOTHING = "nothing stands out"
FEWEST_TOLD = 3  # labels of an item or a user from which their share is told
LONG_PROFILE = 10  # interactions from which a share of a profile is told
STANDS_OUT = 0.75  # share of all interactions that are less suspicious
MOVES = 0.1  # logits: what moves the logit less is no reason


def _share(name: str) -> pl.Expr:
    return (pl.col(name) * 100).floor().cast(pl.Int64)


_IN_PROFILE = pl.format(
    "among the {} % of this user's {} interactions that fit their history least",
    ((1 - pl.col("unfitting_in_profile")) * 100).ceil().cast(pl.Int64),
    "activity",
)
_MISFIT = pl.format("fits this user's history worse than {} % of all interactions fit theirs", _share("unfitting"))
_UNEXPECTED = pl.format(
    "a model that had not seen it found it less likely than {} % of all interactions", _share("unexpected")
)
_GIVEN = pl.format("your score is higher than that of {} % of all interactions", _share("given"))
_RARE = pl.format(
    "few users have this item: {}; {} % of all interactions are with more popular items",
    pl.when(pl.col("popularity") == 1).then(pl.lit("this user alone")).otherwise(pl.format("{} users", "popularity")),
    _share("unpopular"),
)
_LIKELY = {
    "item": pl.lit("interactions with similar items are often regretted"),
    "user": pl.lit("users with similar taste and activity often regret what they choose"),
    "pair": pl.lit("users with similar taste often regret items of this kind"),
}


def reasons_without_labels(evidence: Evidence) -> pl.Series:
    """Up to two of: your own score, no fit with the profile, unexpected, a rare item; the strongest first."""
    in_profile = np.where(evidence.activity >= LONG_PROFILE, evidence.unfitting_in_profile, 0)
    strengths = {
        "in profile": in_profile,
        "misfit": np.where(in_profile >= evidence.unfitting, 0, evidence.unfitting),
        "unexpected": evidence.unexpected,
        "rare": evidence.unpopular,
    }
    told = [_IN_PROFILE, _MISFIT, _UNEXPECTED, _RARE]
    if evidence.given is not None:
        strengths, told = {"given": evidence.given} | strengths, [_GIVEN, *told]
    return _strongest(_frame(evidence), list(strengths.values()), told, STANDS_OUT)


def reasons_with_labels(
    evidence: Evidence, parts: Mapping[str, NDArray[np.float32]], counts: pl.DataFrame, overall: float
) -> pl.Series:
    """Up to two reasons that raise the probability: the item, the user, the fit of the two; the strongest first.

    `parts` are contributions to the logit, `counts` the labels of each interaction's item and user without its own, and
    `overall` is the share of noise among all labels.
    """
    frame = pl.concat([_frame(evidence), counts], how="horizontal")
    stands_out = pl.max_horizontal("unexpected", "unfitting") >= STANDS_OUT
    most = pl.when(pl.col("unexpected") >= pl.col("unfitting")).then(_UNEXPECTED).otherwise(_MISFIT)
    pair = pl.when(stands_out).then(most).otherwise(_LIKELY["pair"])
    told = [_regretted("item", "with this item", overall), _regretted("user", "of this user", overall), pair]
    return _strongest(frame, [parts["item"], parts["user"], parts["pair"]], told, MOVES)


def _regretted(of: str, whose: str, overall: float) -> pl.Expr:
    """The share of labels that are noise where there are some and it is high, else what is alike."""
    labelled, noise = pl.col(f"{of}_labelled"), pl.col(f"{of}_regretted")
    share = noise / labelled
    told = pl.format(
        f"{{}} % of {{}} labelled interactions {whose} were regretted ({100 * overall:.0f} % of all)",
        (share * 100).round().cast(pl.Int64, strict=False),
        labelled,
    )
    return pl.when((labelled >= FEWEST_TOLD) & (share > overall)).then(told).otherwise(_LIKELY[of])


def _frame(evidence: Evidence) -> pl.DataFrame:
    names = ["popularity", "activity", "unpopular", "unfitting", "unexpected", "unfitting_in_profile"]
    names += [] if evidence.given is None else ["given"]
    return pl.DataFrame({name: getattr(evidence, name) for name in names})


def _strongest(frame: pl.DataFrame, strengths: Sequence[NDArray], told: Sequence[pl.Expr], least: float) -> pl.Series:
    """The one or two strongest reasons of each row that are strong enough."""
    strength = np.stack(strengths)
    order = np.argsort(-strength, axis=0, kind="stable")[:2].astype(np.int8)
    order[np.take_along_axis(strength, order, axis=0) < least] = -1
    ranked = frame.with_columns(first=order[0], second=order[1])
    first, second = (_choose(name, told) for name in ("first", "second"))
    reason = pl.concat_str([first, second], separator="; ", ignore_nulls=True)
    return ranked.select(pl.when(pl.col("first") < 0).then(pl.lit(NOTHING)).otherwise(reason).alias("reason"))["reason"]


def _choose(column: str, told: Sequence[pl.Expr]) -> pl.Expr:
    return pl.coalesce(pl.when(pl.col(column) == number).then(text) for number, text in enumerate(told))
