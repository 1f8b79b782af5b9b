"""What the times of a file mean, found out or as asked."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitcarl.data.facts import Facts
from fitcarl.data.read import read_facts
from fitcarl.errors import InputError
from tests.data.files import read


def times(folder: Path, *texts: str, **options: str) -> Facts:
    return read(folder, "f.tsv", "".join(f"a\tr\tb{i}\t{text}\n" for i, text in enumerate(texts)), **options)


@pytest.mark.parametrize(
    ("texts", "granularity", "labels"),
    [
        (["2014-05-13", "2014-05-14"], "day", ["2014-05-13", "2014-05-14"]),
        (["2014-05", "2013-12"], "month", ["2014-05", "2013-12"]),
        (["2014-05-01", "2014-06-01", "2014-01-01"], "month", ["2014-05", "2014-06", "2014-01"]),
        (["2014-05-01", "2014-06-01"], "day", ["2014-05-01", "2014-06-01"]),
        (["2014-01-01", "2015-01-01", "1999-01-01"], "year", ["2014", "2015", "1999"]),
        (["2014-05-13T00:00:00", "2014-05-14 00:00"], "day", ["2014-05-13", "2014-05-14"]),
        (["2014-05-13T07:00:00", "2014-05-14T00:00Z"], "hour", ["2014-05-13T07", "2014-05-14T00"]),
        (["1969-12-31T23:00", "1969-12-31T01:00"], "hour", ["1969-12-31T23", "1969-12-31T01"]),
        (["2014", "2016"], "integer", ["2014", "2016"]),
        (["-48", "24"], "integer", ["-48", "24"]),
    ],
)
def test_granularity_is_the_coarsest_that_loses_nothing(
    tmp_path: Path, texts: list[str], granularity: str, labels: list[str]
) -> None:
    facts = times(tmp_path, *texts)
    assert facts.calendar.granularity == granularity
    assert [facts.calendar.label(int(t)) for t in facts.quadruples.time] == labels
    assert facts.times_cut == 0


def test_a_zone_is_turned_into_utc(tmp_path: Path) -> None:
    facts = times(
        tmp_path, "2014-05-13T23:00:00-02:00", "2014-05-14T01:00:00Z", "2014-05-14T01:00:00", granularity="hour"
    )
    assert facts.calendar.labels == ("2014-05-14T01",)


def test_minutes_are_cut_to_the_hour_and_counted_and_equal_facts_merge(tmp_path: Path) -> None:
    row = "a\tr\tb\t2014-05-13T{}\n"
    facts = read(tmp_path, "f.tsv", row.format("10:00") + row.format("10:59:59.5") + row.format("11:01"))
    assert facts.calendar.labels == ("2014-05-13T10", "2014-05-13T11")
    assert (len(facts.quadruples), facts.duplicates, facts.times_cut) == (2, 1, 2)


def test_a_given_granularity_cuts_what_is_finer(tmp_path: Path) -> None:
    facts = times(tmp_path, "2014-05-13", "2014-05-14", "2014-06-01", granularity="month")
    assert facts.calendar.labels == ("2014-05", "2014-06")
    assert facts.quadruples.time.tolist() == [0, 0, 1]
    assert facts.times_cut == 2


def test_integers_tick_by_their_common_divisor_or_by_what_is_asked(tmp_path: Path) -> None:
    found = times(tmp_path, "24", "72", "240")
    assert (found.calendar.step, found.quadruples.time.tolist()) == (24, [0, 2, 9])
    assert found.calendar.codes.tolist() == [24, 72, 240]
    asked = times(tmp_path, "24", "72", "250", granularity="48")
    assert (asked.calendar.step, asked.quadruples.time.tolist(), asked.times_cut) == (48, [0, 1, 4], 1)
    assert asked.calendar.labels == ("24", "72", "216")


def test_compact_dates_are_dates_where_a_granularity_says_so(tmp_path: Path) -> None:
    facts = times(tmp_path, "20140131", "20140201", granularity="day")
    assert facts.calendar.labels == ("2014-01-31", "2014-02-01")
    assert facts.quadruples.time.tolist() == [0, 1]


@given(st.lists(st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1)), min_size=1, max_size=8), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_tick_is_the_granule_python_dates_say(
    tmp_path: Path, moments: list[dt.datetime], data: st.DataObject
) -> None:
    granularity = data.draw(st.sampled_from(["hour", "day", "month", "year"]))
    zone = data.draw(st.sampled_from(["", "Z", "+05:30"]))
    facts = times(tmp_path, *(moment.isoformat() + zone for moment in moments), granularity=granularity)
    shift = dt.timedelta(hours=5.5 if zone == "+05:30" else 0)
    form = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[granularity]
    assert [facts.calendar.label(int(t)) for t in facts.quadruples.time] == [
        (m - shift).strftime(form) for m in moments
    ]


def test_parquet_dates_and_datetimes_are_times(tmp_path: Path) -> None:
    stamps = {
        "day": pl.Series([dt.date(2014, 5, 13), dt.date(1969, 12, 30)]),
        "hour": pl.Series([dt.datetime(2014, 5, 13, 3), dt.datetime(1969, 12, 30, 9)]).dt.cast_time_unit("ns"),
        "zone": pl.Series([dt.datetime(2014, 5, 13, 3), dt.datetime(2014, 1, 1)]).dt.replace_time_zone("Europe/Berlin"),
        "integer": pl.Series([4, 2], dtype=pl.UInt8),
    }
    labels = {}
    for kind, series in stamps.items():
        frame = pl.DataFrame(
            {"s": [1, 2], "r": pl.Series(["x", "y"]).cast(pl.Categorical), "o": ["a", "b"], "t": series}
        )
        frame.write_parquet(tmp_path / "f.parquet")
        labels[kind] = read_facts(tmp_path / "f.parquet").calendar.labels
    assert labels == {
        "day": ("1969-12-30", "2014-05-13"),
        "hour": ("1969-12-30T09", "2014-05-13T03"),
        "zone": ("2013-12-31T23", "2014-05-13T01"),
        "integer": ("2", "4"),
    }


@pytest.mark.parametrize("granularity", ["week", "0", "-24", "", "1.5"])
def test_an_unknown_granularity_is_refused(tmp_path: Path, granularity: str) -> None:
    with pytest.raises(InputError, match="unknown granularity"):
        times(tmp_path, "1", granularity=granularity)


def test_a_granularity_must_fit_the_times(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="times are no integers, as granularity 24 needs; found '2014-01-01'"):
        times(tmp_path, "2014-01-01", granularity="24")
    with pytest.raises(InputError, match="not a date; found '24'; expected YYYYMMDD or YYYY"):
        times(tmp_path, "20140101", "24", granularity="day")
