"""Detection of the granularity of times."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitcarl.data.facts import Facts
from fitcarl.data.io.reader import read_facts
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
def test_auto_granularity_is_the_coarsest_without_loss(
    tmp_path: Path, texts: list[str], granularity: str, labels: list[str]
) -> None:
    facts = times(tmp_path, *texts)
    assert facts.calendar.granularity == granularity
    assert [facts.calendar.label(int(t)) for t in facts.quadruples.time] == labels
    assert facts.times_truncated == 0


def test_time_zone_is_converted_to_utc(tmp_path: Path) -> None:
    facts = times(
        tmp_path, "2014-05-13T23:00:00-02:00", "2014-05-14T01:00:00Z", "2014-05-14T01:00:00", granularity="hour"
    )
    assert facts.calendar.labels == ("2014-05-14T01",)


def test_minutes_are_truncated_to_hours_and_equal_facts_merged(tmp_path: Path) -> None:
    row = "a\tr\tb\t2014-05-13T{}\n"
    facts = read(tmp_path, "f.tsv", row.format("10:00") + row.format("10:59:59.5") + row.format("11:01"))
    assert facts.calendar.labels == ("2014-05-13T10", "2014-05-13T11")
    assert (len(facts.quadruples), facts.duplicates, facts.merged_by_truncation, facts.times_truncated) == (2, 0, 1, 2)


def test_duplicates_and_facts_merged_by_truncation_are_counted_separately(tmp_path: Path) -> None:
    texts = ["2014-05-13T10:00", "2014-05-13T10:00:00Z", "2014-05-13T10:30", "2014-05-13T10:30", "2014-05-13T10:45"]
    facts = read(tmp_path, "f.tsv", "".join(f"a\tr\tb\t{text}\n" for text in texts))
    assert (len(facts.quadruples), facts.duplicates, facts.merged_by_truncation, facts.times_truncated) == (1, 2, 2, 3)
    facts = read(tmp_path, "f.tsv", "".join(f"a\tr\tb\t{t}\n" for t in (0, 0, 5, 5, 10)), granularity="10")
    assert (len(facts.quadruples), facts.duplicates, facts.merged_by_truncation, facts.times_truncated) == (2, 2, 1, 2)


def test_given_granularity_truncates_finer_times(tmp_path: Path) -> None:
    facts = times(tmp_path, "2014-05-13", "2014-05-14", "2014-06-01", granularity="month")
    assert facts.calendar.labels == ("2014-05", "2014-06")
    assert facts.quadruples.time.tolist() == [0, 0, 1]
    assert facts.times_truncated == 2


def test_integer_step_is_the_common_divisor_or_the_given_number(tmp_path: Path) -> None:
    found = times(tmp_path, "24", "72", "240")
    assert (found.calendar.step, found.quadruples.time.tolist()) == (24, [0, 2, 9])
    assert found.calendar.codes.tolist() == [24, 72, 240]
    asked = times(tmp_path, "24", "72", "250", granularity="48")
    assert (asked.calendar.step, asked.quadruples.time.tolist(), asked.times_truncated) == (48, [0, 1, 4], 1)
    assert asked.calendar.labels == ("24", "72", "216")


def test_granularity_reads_compact_dates_as_dates(tmp_path: Path) -> None:
    facts = times(tmp_path, "20140131", "20140201", granularity="day")
    assert facts.calendar.labels == ("2014-01-31", "2014-02-01")
    assert facts.quadruples.time.tolist() == [0, 1]


@given(st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), min_size=1, max_size=8), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ticks_match_python_dates(tmp_path: Path, moments: list[dt.datetime], data: st.DataObject) -> None:
    granularity = data.draw(st.sampled_from(["hour", "day", "month", "year"]))
    zone = data.draw(st.sampled_from(["", "Z", "+05:30"]))
    facts = times(tmp_path, *(moment.isoformat() + zone for moment in moments), granularity=granularity)
    shift = dt.timedelta(hours=5.5 if zone == "+05:30" else 0)
    form = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[granularity]
    assert [facts.calendar.label(int(t)) for t in facts.quadruples.time] == [
        (m - shift).strftime(form) for m in moments
    ]


def test_parquet_dates_and_datetimes_are_read_as_times(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("granularity", ["fortnight", "0", "-24", "", "1.5"])
def test_unknown_granularity_is_rejected(tmp_path: Path, granularity: str) -> None:
    with pytest.raises(InputError, match="unknown granularity"):
        times(tmp_path, "1", granularity=granularity)


def test_granularity_that_does_not_match_the_times_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="times are not integers, which granularity 24 needs; found '2014-01-01'"):
        times(tmp_path, "2014-01-01", granularity="24")
    with pytest.raises(InputError, match="not a date; found '24'; expected YYYYMMDD or YYYY"):
        times(tmp_path, "20140101", "24", granularity="day")


@pytest.mark.parametrize(
    ("texts", "granularity", "labels"),
    [
        (["20140131", "20140201"], "day", ("2014-01-31", "2014-02-01")),
        (["19000101", "21001231"], "day", ("1900-01-01", "2100-12-31")),
        (["20140101", "20140301", "20140201"], "month", ("2014-01", "2014-02", "2014-03")),  # like ISO dates
        (["20140131", "20140132"], "integer", ("20140131", "20140132")),
        (["20140131", "20140230"], "integer", ("20140131", "20140230")),
        (["18991231", "19000101"], "integer", ("18991231", "19000101")),
    ],
)
def test_integers_are_dates_only_if_all_of_them_are(
    tmp_path: Path, texts: list[str], granularity: str, labels: tuple[str, ...]
) -> None:
    calendar = times(tmp_path, *texts).calendar
    assert (calendar.granularity, calendar.labels) == (granularity, labels)


@pytest.mark.parametrize("granularity", ["integer", "1"])
def test_granularity_integer_keeps_integers(tmp_path: Path, granularity: str) -> None:
    calendar = times(tmp_path, "20140131", "20140201", "20140202", granularity=granularity).calendar
    assert (calendar.granularity, calendar.labels) == ("integer", ("20140131", "20140201", "20140202"))


@pytest.mark.parametrize(
    ("texts", "coarser"),
    [
        (["140000000", "240000001", "140000001"], "86400"),
        (["0", "1", "2000000"], "86400"),
        (["0", "1", "900000000000000000"], "86400000000000"),
        (["0001-01-01T01:00", "9999-01-01T00:00"], "day"),
        (["0001-01-01", "9999-01-02"], "month"),
    ],
)
def test_too_long_time_span_suggests_a_coarser_granularity(tmp_path: Path, texts: list[str], coarser: str) -> None:
    with pytest.raises(InputError) as caught:
        times(tmp_path, *texts)
    assert "a time out of range" in str(caught.value)
    assert str(caught.value).endswith(f"as with --granularity {coarser}")
    assert (caught.value.row, caught.value.field) == (texts.index(max(texts, key=lambda t: (len(t), t))) + 1, "time")
    assert times(tmp_path, *texts, granularity=coarser if coarser != "day" else "month").calendar.span <= 2_000_000


def test_longest_allowed_span_is_read(tmp_path: Path) -> None:
    assert times(tmp_path, "0", "1", "1999999").calendar.span == 2_000_000
