"""Conversion between ticks, codes and labels."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.calendar import (
    Calendar,
    Granularity,
    granularity_of_label,
    granule_label,
    parse_granule,
)
from fitcarl.errors import InputError

# Years 1 to 9999 in granules of each granularity: the range of ISO dates.
RANGES: dict[Granularity, tuple[int, int]] = {
    "hour": (-17_259_888, 70_389_527),
    "day": (date.min.toordinal() - date(1970, 1, 1).toordinal(), date.max.toordinal() - date(1970, 1, 1).toordinal()),
    "month": (12, 12 * 9999 + 11),
    "year": (1, 9999),
    "integer": (-(10**17), 10**17),
}
GRANULES = st.sampled_from(list(RANGES)).flatmap(lambda kind: st.tuples(st.just(kind), st.integers(*RANGES[kind])))


@given(GRANULES)
def test_label_round_trips_to_its_granule(case: tuple[Granularity, int]) -> None:
    granularity, granule = case
    assert parse_granule(granularity, granule_label(granularity, granule)) == granule


@given(GRANULES, st.lists(st.integers(0, 400), min_size=1, max_size=20), st.integers(1, 30))
def test_labels_ticks_and_codes_agree(case: tuple[Granularity, int], gaps: list[int], step: int) -> None:
    granularity, granule = case
    step = step if granularity == "integer" else 1
    first = granule if granule < 0 or granularity == "integer" else max(granule - 10_000, RANGES[granularity][0])
    granules = [min(first + gap * step, RANGES[granularity][1]) for gap in gaps]
    calendar = Calendar.of_granules(granularity, granules, step)
    assert calendar.ticks[0] == 0
    assert len(calendar) == len(set(granules)) == len(calendar.labels)
    assert calendar.span == (max(granules) - min(granules)) // step + 1
    assert [calendar.tick(label) for label in calendar.labels] == calendar.ticks.tolist()
    assert calendar.ticks_of_codes(calendar.codes).tolist() == calendar.ticks.tolist()
    assert calendar.codes_of_ticks(calendar.ticks).tolist() == calendar.codes.tolist()


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.integers(-23, 23))
def test_time_zone_is_converted_to_utc(moment: datetime, hours: int) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(hours=hours)))
    in_utc = zoned.astimezone(UTC)
    assert granule_label("hour", parse_granule("hour", zoned.isoformat())) == in_utc.isoformat()[:13]
    assert granule_label("day", parse_granule("day", zoned.isoformat())) == in_utc.isoformat()[:10]


@pytest.mark.parametrize(
    ("granularity", "text", "granule"),
    [
        ("day", "1970-01-01", 0),
        ("day", "1969-12-31", -1),
        ("day", "2014-05-13T23:59:59", 16_203),
        ("hour", "1970-01-02T01:59", 25),
        ("hour", "1969-12-31T23:30:00Z", -1),
        ("month", "2014-05", 2014 * 12 + 4),
        ("month", "2014-05-13", 2014 * 12 + 4),
        ("year", "2014-05-13", 2014),
        ("year", "0999", 999),
        ("integer", " -7 ", -7),
    ],
)
def test_granules_match_manual_values(granularity: Granularity, text: str, granule: int) -> None:
    assert parse_granule(granularity, text) == granule


@pytest.mark.parametrize(
    ("granularity", "text", "complaint"),
    [
        ("day", "2014-02-30", "no such date; found '2014-02-30'"),
        ("day", "2014-13", "no such date; found '2014-13'"),
        ("day", "tomorrow", "not a date; found 'tomorrow'; expected an ISO date"),
        ("hour", "0001-01-01T00:00+05:00", "no such date"),
        ("day", "", "not a date; found ''"),
        ("integer", "1_000", "found '1_000'; expected an integer"),
        ("integer", "2014-01-01", "expected an integer"),
        ("integer", "9" * 40, "expected an integer"),
    ],
)
def test_invalid_time_is_rejected(granularity: Granularity, text: str, complaint: str) -> None:
    with pytest.raises(InputError) as error:
        parse_granule(granularity, text)
    assert complaint in str(error.value)


def test_integer_times_use_the_step() -> None:
    calendar = Calendar.of_granules("integer", [72, 24, 24, 240], step=24)
    assert calendar.codes.tolist() == [24, 72, 240]
    assert calendar.ticks.tolist() == [0, 2, 9]
    assert calendar.labels == ("24", "72", "240")
    assert calendar.tick("96") == 3
    assert calendar.tick("0") == -1
    with pytest.raises(InputError, match="found '30'; expected 24 plus a multiple of 24"):
        calendar.tick("30")


def test_fact_files_contain_ticks_for_dates() -> None:
    calendar = Calendar.of_granules("day", [16_073, 16_071])
    assert calendar.codes.tolist() == calendar.ticks.tolist() == [0, 2]
    assert calendar.labels == ("2014-01-01", "2014-01-03")
    assert calendar.tick("2013-12-31") == -1


def test_unknown_code_has_no_tick() -> None:
    calendar = Calendar.of_granules("integer", [24, 72, 240], step=24)
    assert calendar.ticks_of_codes(np.array([-5, 24, 48, 240, 999])).tolist() == [-1, 0, -1, 9, -1]
    with pytest.raises(ValueError, match="not in the calendar"):
        calendar.codes_of_ticks(np.array([0, 1], np.int32))


def test_calendar_without_times_is_rejected() -> None:
    with pytest.raises(InputError, match="no times"):
        Calendar.of_granules("day", [])


@pytest.mark.parametrize(
    ("label", "granularity"),
    [
        ("2014-05-13", "day"),
        ("2014-05", "month"),
        ("2014-05-13T07", "hour"),
        ("2014", "integer"),
        ("-3", "integer"),
        ("May", None),
        ("\u0663", None),
    ],
)
def test_granularity_follows_from_the_shape_of_a_label(label: str, granularity: Granularity | None) -> None:
    assert granularity_of_label(label) == granularity


@pytest.mark.parametrize(
    ("granularity", "days", "half_life", "unit"),
    [
        ("hour", 1 / 24, 720, "hours"),
        ("day", 1, 30, "days"),
        ("month", 30.4, 3, "months"),
        ("year", 365, 1, "years"),
        ("integer", 1, 100, "time steps"),
    ],
)
def test_unit_of_a_tick_follows_from_the_granularity(
    granularity: Granularity, days: float, half_life: float, unit: str
) -> None:
    calendar = Calendar.of_granules(granularity, [0, 1199])
    assert (calendar.days_per_tick, calendar.half_life, calendar.unit) == (days, half_life, unit)
