"""What a rule may hold."""

import contextlib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.rules import columns_of, parse_rule
from recsieve.errors import ConfigError

PIECES = [
    "rating",
    "'a'",
    "3",
    "<",
    "(",
    ")",
    "in",
    "select",
    "from",
    "--",
    "/*",
    "$$",
    '"',
    "'",
    ";",
    "and",
    "case",
    "*",
]


@pytest.mark.parametrize(
    "rule",
    [
        "rating in (select x from read_csv('{file}'))",
        "rating in (FROM read_csv('{file}'))",
        "exists (SeLeCt 1)",
        "rating < 3 -- '\n or rating in (select x from read_csv('{file}')) -- '",
        "$$ ' $$ = comment or rating in (select x from read_csv('{file}')) or comment = $$ ' $$",
        "rating in (values (1), (2))",
        "read_csv('{file}')",
        "__import__('os').system('true')",
        "rating < 3; drop table x",
        "rating <",
        "",
        "1 = 1",
        "columns('.*')",
        "array_agg(skipped)",
        "other.rating < 3",
        "current_user = 'me'",
        "not " * 5_000 + "rating",
    ],
)
def test_what_is_no_comparison_of_columns_is_refused(rule, tmp_path):
    (tmp_path / "secret.csv").write_text("x\n1\n")
    with pytest.raises(ConfigError, match="rating < 3"):
        parse_rule(rule.format(file=tmp_path / "secret.csv"))


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_is_a_rule_or_refused(text):
    with contextlib.suppress(ConfigError):
        assert isinstance(parse_rule(text), pl.Expr)


def test_a_rule_names_its_columns_once():
    assert columns_of('hours < 1 or hours > 9 or "was returned"') == ["hours", "was returned"]


@pytest.mark.parametrize("name", ["user", "group", "order", "date", "Größe"])
def test_a_column_may_be_called_as_a_word_of_sql_is(name):
    assert columns_of(f"{name} < 3") == [name]


def test_a_between_of_a_between_is_refused_and_not_worked_at_for_hours():
    with pytest.raises(ConfigError, match="a between inside a between"):
        parse_rule("rating between 1 and 2" + " between 1 and 2" * 20)
