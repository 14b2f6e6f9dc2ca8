"""A rule over columns in SQL: it is parsed, every node is checked, and only what is rendered from the checked tree is
evaluated.

polars would accept a query in a rule, and a query can name files. So a rule may have comparisons, arithmetic and a few
functions of columns, and nothing else.
"""

from __future__ import annotations

import polars as pl
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from recsieve.errors import ConfigError

EXAMPLES = "such as: rating < 3, or: hours < 1 or returned, with unusual column names in double quotes"
_ALLOWED = frozenset({
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not, exp.EQ,
    exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is, exp.Like, exp.ILike, exp.Neg, exp.Add,
    exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Case, exp.If, exp.Cast, exp.DataType, exp.Coalesce, exp.Abs, exp.Round,
    exp.Lower, exp.Upper, exp.Length, exp.Min, exp.Max, exp.Avg, exp.Sum, exp.Median,
})  # fmt: skip


def columns_of(rule: str) -> list[str]:
    """The columns that a rule uses."""
    return list(dict.fromkeys(parse_rule(rule).meta.root_names()))


def parse_rule(rule: str) -> pl.Expr:
    """Parse a rule as an SQL expression over columns; nothing in it is ever run as Python."""
    try:
        tree = sqlglot.parse_one(rule, into=exp.Condition)
        _refuse_other_nodes(tree, rule)
        # Every name in quotes, so that a column may be called as a word of SQL is.
        expression = pl.sql_expr(tree.sql(identify=True, comments=False))
    except (SqlglotError, RecursionError) as error:
        raise ConfigError(f"the rule '{rule}' is not an SQL expression: give one {EXAMPLES}.") from error
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"the rule '{rule}' cannot be read ({reason}): give one {EXAMPLES}.") from error
    if not expression.meta.root_names():
        raise ConfigError(f"the rule '{rule}' names no column: give one {EXAMPLES}.")
    return expression


def _refuse_other_nodes(tree: exp.Condition, rule: str) -> None:
    for node in tree.walk():
        qualified = isinstance(node, exp.Column) and len(node.parts) > 1
        if type(node) not in _ALLOWED or qualified:
            raise ConfigError(
                f"the rule '{rule}' is not just a comparison of columns ({node.sql()}): give one {EXAMPLES}."
            )
        # polars writes what is compared twice, so that twenty in each other would take hours.
        if isinstance(node, exp.Between) and node.this.find(exp.Between):
            raise ConfigError(f"the rule '{rule}' has a between inside a between: give one {EXAMPLES}.")
