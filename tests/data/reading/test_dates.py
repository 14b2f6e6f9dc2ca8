"""Dates that are written as text."""

import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.reading.dates import parsed_dates
from recsieve.data.reading.formats import read_interactions
from recsieve.errors import DataError

DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
DATE = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31))


@pytest.mark.parametrize("form", [DAY_FIRST, MONTH_FIRST, "%d.%m.%Y %H:%M", "%m-%d-%Y %H:%M:%S"])
def test_the_order_of_day_and_month_is_the_one_that_fits_the_whole_column_and_is_said(form, caplog):
    moments = [datetime.datetime(2025, 3, 5), datetime.datetime(2025, 3, 31)]
    found = parsed_dates(pl.Series([moment.strftime(form) for moment in moments]), "the time")
    assert found.to_list() == moments
    assert f"read with the {'day' if form.startswith('%d') else 'month'} first" in caplog.text


@given(st.lists(DATE, min_size=1), st.sampled_from([DAY_FIRST, MONTH_FIRST]))
def test_no_date_is_ever_read_as_another(dates, form):
    text = pl.Series([date.strftime(form) for date in dates])
    if max(date.day for date in dates) <= 12:
        with pytest.raises(DataError, match="no row makes it clear"):
            parsed_dates(text, "the time")
    else:
        assert parsed_dates(text, "the time").dt.date().to_list() == dates


def test_dates_in_two_orders_are_refused():
    with pytest.raises(DataError, match="the day first in some rows and the month first in others: give ISO dates"):
        parsed_dates(pl.Series(["31/03/2025", "03/31/2025"]), "the time")


def test_a_named_time_that_may_be_two_dates_is_an_error_and_a_guessed_one_is_left_out(caplog):
    frame = pl.DataFrame({"user": [1], "item": [2], "date": ["05/03/2025"]})
    with pytest.raises(DataError, match=r"'05/03/2025', where the day or the month may come first"):
        read_interactions(frame, time="date")
    assert read_interactions(frame).time is None
    assert "times are ignored" in caplog.text


def test_ranks_read_dates_in_the_order_that_the_rows_of_all_tell(in_ranks):
    texts = [["05/03/2025"], ["31/03/2025"], []]
    found = in_ranks(3, lambda group: parsed_dates(pl.Series(texts[group.rank], dtype=pl.String), "the time", group))
    assert [days.dt.day().to_list() for days in found] == [[5], [31], []]
