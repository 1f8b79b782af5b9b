"""Times as people write them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.calendar import Calendar, Granularity, granules_of, start_of_granules
from fitcarl.data.moments import date_order, epoch_unit, parse_moment, time_text
from fitcarl.errors import InputError


@pytest.mark.parametrize(
    ("text", "start", "precision"),
    [
        ("2014", "2014-01-01", "year"),
        ("-0044", "-0044-01-01", "year"),
        ("2014-05", "2014-05-01", "month"),
        ("May 2014", "2014-05-01", "month"),
        ("2014-05-13", "2014-05-13", "day"),
        ("2014/5/3", "2014-05-03", "day"),
        ("20140513", "2014-05-13", "day"),
        ("13.05.2014", "2014-05-13", "day"),
        ("13/05/2014", "2014-05-13", "day"),
        ("05/13/2014", "2014-05-13", "day"),
        ("13 May 2014", "2014-05-13", "day"),
        ("May 13th, 2014", "2014-05-13", "day"),
        ("01-January-2020", "2020-01-01", "day"),
        ("2014-W05", "2014-01-27", "week"),
        ("2014-W05-3", "2014-01-29", "day"),
        ("2014Q3", "2014-07-01", "quarter"),
        ("Q3 2014", "2014-07-01", "quarter"),
        ("2014-05-13T09", "2014-05-13T09", "hour"),
        ("2014-05-13 9:30", "2014-05-13T09:30", "minute"),
        ("2014-05-13T09:30:05.25Z", "2014-05-13T09:30:05.250", "second"),
        ("2014-05-13 09:30:05 +0200", "2014-05-13T07:30:05", "second"),
        ("05/13/2014 7:30 PM", "2014-05-13T19:30", "minute"),
        ("05/13/2014 12:30 am", "2014-05-13T00:30", "minute"),
        ("Mon, 14 May 2001 16:39:00 -0700 (PDT)", "2001-05-14T23:39", "second"),
        ("20140513093000", "2014-05-13T09:30", "second"),
        ("1082040961", "2004-04-15T14:56:01", "second"),
        ("1082040961000", "2004-04-15T14:56:01", "second"),
        ("1082040961000000", "2004-04-15T14:56:01", "second"),
        ("1289241911.5", "2010-11-08T18:45:11.500", "second"),
    ],
)
def test_time_in_any_form_is_the_start_of_its_period(text: str, start: str, precision: str) -> None:
    moment = parse_moment(text)
    assert (moment.start, moment.precision, moment.partial) == (np.datetime64(start), precision, False)


@pytest.mark.parametrize(
    ("text", "start", "precision"),
    [
        ("1952-##-##", "1952-01-01", "year"),
        ("1952-00-00", "1952-01-01", "year"),
        ("1952-05-##", "1952-05-01", "month"),
        ("-431-##-##", "-0431-01-01", "year"),
    ],
)
def test_partial_date_is_the_start_of_what_is_known(text: str, start: str, precision: str) -> None:
    moment = parse_moment(text)
    assert (moment.start, moment.precision, moment.partial) == (np.datetime64(start), precision, True)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("2014-02-30", "no such date"),
        ("31/02/2014", "no such date"),
        ("31 February 2014", "no such date"),
        ("13:30 PM 2014", "not a date"),
        ("05/13/2014 13:30 PM", "no such date"),
        ("2015-W54", "no such date"),
        ("12 Foo 2014", "not a date"),
        ("03/04/2014", "a date that can be read in two ways"),
        ("77", "expected YYYYMMDD or YYYY, or seconds, milliseconds or microseconds since 1970"),
        ("", "not a date"),
    ],
)
def test_what_is_no_time_is_rejected(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_moment(text)
    assert complaint in str(caught.value)


def test_order_of_day_and_month_follows_from_all_dates() -> None:
    assert date_order(["03/04/2014", "13/04/2014"]) == "day first"
    assert date_order(["03/04/2014", "03/13/2014"]) == "month first"
    assert date_order(["03/04/2014", "05/06/2014"]) is None
    assert date_order(["13/04/2014", "03/13/2014"]) is None
    assert date_order(["03.04.2014"]) == "day first"
    assert parse_moment("03/04/2014", "day first").start == np.datetime64("2014-04-03")
    assert parse_moment("03/04/2014", "month first").start == np.datetime64("2014-03-04")


def test_counts_since_1970_are_recognized_by_their_size() -> None:
    assert [epoch_unit(value, value) for value in (1e9, 1e12, 1e15, 1e18)] == [1, 10**3, 10**6, 10**9]
    assert epoch_unit(0, 1e9) is None
    assert epoch_unit(20140101, 20141231) is None
    assert epoch_unit(1e9, 1e12) is None


@pytest.mark.parametrize(
    "value",
    [
        "2014-05-13",
        dt.date(2014, 5, 13),
        dt.datetime(2014, 5, 13, 7, 30),
        dt.datetime(2014, 5, 13, 1, tzinfo=dt.timezone(dt.timedelta(hours=-5))),
        np.datetime64("2014-05-13"),
        np.datetime64("2014-05-13T07:30:00.123456789"),
        pd.Timestamp("2014-05-13 23:59"),
        pd.Timestamp("2014-05-14 01:00", tz="Europe/Berlin"),
        20140513,
        1399966200,
        1399966200.5,
        np.int64(20140513),
    ],
)
def test_calendar_takes_times_of_every_type(value: object) -> None:
    calendar = Calendar.of_granules("day", [16_200, 16_210])
    assert calendar.label(calendar.tick(value)) == "2014-05-13"


@pytest.mark.parametrize("value", [None, True, float("nan"), pd.NaT, np.datetime64("NaT"), ["2014-05-13"]])
def test_other_values_are_no_times(value: object) -> None:
    with pytest.raises(InputError, match=r"not a (time|date)"):
        parse_moment(time_text(value))


@given(
    st.sampled_from(["second", "minute", "hour", "day", "week", "month", "quarter", "year"]),
    st.datetimes(dt.datetime(1, 1, 8), dt.datetime(9999, 1, 1)),
)
def test_moment_is_within_its_granule(granularity: Granularity, moment: dt.datetime) -> None:
    moments = np.array([moment], dtype="datetime64[us]")
    granule = granules_of(granularity, moments)
    start, end = (start_of_granules(granularity, granule + shift)[0] for shift in (0, 1))
    assert start <= moments[0] < end
    if granularity == "week":
        assert start.astype(object).isocalendar()[:2] == moment.isocalendar()[:2]
        assert start.astype(object).weekday() == 0


@given(st.dates(dt.date(1990, 1, 1), dt.date(2050, 1, 1)))
def test_forms_of_the_same_date_agree(date: dt.date) -> None:
    forms = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%b %d, %Y", "%Y%m%d", "%a, %d %b %Y 00:00:00 +0000")
    assert {parse_moment(date.strftime(form)).start for form in forms} == {np.datetime64(date)}
