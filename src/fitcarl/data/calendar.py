"""Timestamps: the conversion between ticks (integers for models) and dates (text for users)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.data.moments import parse_moment, time_text
from fitcarl.errors import InputError

Granularity = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year", "integer"]
GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)

MAX_SPAN = 2_000_000
"""Upper bound of ``Calendar.span``: tables over time differences have two rows per tick."""

_DAYS_PER_TICK: dict[Granularity, float] = {
    "second": 1 / 86_400,
    "minute": 1 / 1440,
    "hour": 1 / 24,
    "day": 1.0,
    "week": 7.0,
    "month": 30.4,
    "quarter": 91.25,
    "year": 365.0,
}
_HALF_LIFE: dict[Granularity, float] = {
    "second": 86_400 * 30,
    "minute": 1440 * 30,
    "hour": 24 * 30,
    "day": 30,
    "week": 4,
    "month": 3,
    "quarter": 1,
    "year": 1,
}
GRANULARITY_UNITS: dict[Granularity, str] = {
    **{name: f"{name}s" for name in GRANULARITIES},
    "integer": "time steps",
}
"""Plural name of the unit of a tick."""

_EPOCH = date(1970, 1, 1)
_MONDAY = 3
"""Days from the Monday of the first week, 1969-12-29, to 1970-01-01."""
_CLOCK: dict[Granularity, tuple[timedelta, str]] = {
    "hour": (timedelta(hours=1), "hours"),
    "minute": (timedelta(minutes=1), "minutes"),
    "second": (timedelta(seconds=1), "seconds"),
}
_NUMPY_UNIT: dict[Granularity, str] = {"second": "s", "minute": "m", "hour": "h", "day": "D"}
_PARTS_OF_YEAR: dict[Granularity, int] = {"month": 12, "quarter": 4, "year": 1}
_YEAR = r"-?[0-9]{4}"
_SHAPES: tuple[tuple[re.Pattern[str], Granularity], ...] = (
    (re.compile(r"-?[0-9]+"), "integer"),
    (re.compile(rf"{_YEAR}-[0-9]{{2}}"), "month"),
    (re.compile(rf"{_YEAR}-Q[1-4]"), "quarter"),
    (re.compile(r"[0-9]{4}-W[0-9]{2}"), "week"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), "day"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}"), "hour"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}"), "minute"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"), "second"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Calendar:
    """The times of a dataset. A tick counts granules since the first time; models only use differences of ticks."""

    granularity: Granularity
    origin: int
    """Granule of tick 0: granules since 1970 (second to day), since the Monday before 1970 (week), since year 0 (month,
    quarter, year), or the integer itself."""
    step: int
    """Units per tick if times are plain integers (24 for ICEWS hours read as days); 1 otherwise."""
    codes: NDArray[np.int64]
    """int64 [times], ascending: the code of each time in the fact files of a dataset."""
    ticks: NDArray[np.int32]
    """int32 [times], ascending, ``ticks[0] == 0``."""

    @classmethod
    def of_granules(cls, granularity: Granularity, granules: ArrayLike, step: int = 1) -> Calendar:
        """The calendar of facts at these granules (in any order, repeated or not); fact files will contain ticks."""
        distinct = np.unique(np.asarray(granules, dtype=np.int64))
        if not len(distinct):
            raise InputError("no times", expected="at least one fact")
        origin = int(distinct[0])
        ticks = ((distinct - origin) // step).astype(np.int32)
        codes = distinct if granularity == "integer" else ticks.astype(np.int64)
        return cls(granularity, origin, step, codes, ticks)

    def __repr__(self) -> str:
        return f"Calendar({self.granularity}, {self.extent}, {len(self):,} times)"

    def __len__(self) -> int:
        return len(self.ticks)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Calendar)
            and (self.granularity, self.origin, self.step) == (other.granularity, other.origin, other.step)
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.ticks, other.ticks)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def span(self) -> int:
        """T: ticks from the first time to the last, both included."""
        return int(self.ticks[-1]) + 1

    @property
    def extent(self) -> str:
        """The first and the last time as text."""
        return f"{self.label(0)} to {self.label(self.span - 1)}" if len(self) else "no times"

    @property
    def days_per_tick(self) -> float:
        """Days per tick; 1 for integer times, whose unit is unknown."""
        return _DAYS_PER_TICK.get(self.granularity, 1.0)

    @property
    def half_life(self) -> float:
        """Ticks after which heuristics halve the weight of a fact: about a month for hours and days, a twelfth of the
        span for integer times, whose unit is unknown."""
        return _HALF_LIFE.get(self.granularity, max(1.0, self.span / 12))

    @property
    def unit(self) -> str:
        """The plural name of a tick's unit, such as ``days``."""
        return GRANULARITY_UNITS[self.granularity]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """ISO date or integer of each time."""
        return tuple(self.label(int(tick)) for tick in self.ticks)

    def label(self, tick: int) -> str:
        """ISO date or integer of any tick."""
        return granule_label(self.granularity, self.origin + tick * self.step)

    def tick(self, time: object) -> int:
        """The tick that contains a time, cut as the times of the facts were; it does not have to occur in the dataset.

        Args:
            time: Text in any supported form, a date, datetime, Timestamp, datetime64 or number.
        """
        return (parse_granule(self.granularity, time_text(time)) - self.origin) // self.step

    def ticks_of_codes(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Ticks of the codes used in fact files; -1 for an unknown code."""
        position = np.searchsorted(self.codes, codes).clip(max=len(self.codes) - 1)
        return np.where(self.codes[position] == codes, self.ticks[position], np.int32(-1)).astype(np.int32)

    def codes_of_ticks(self, ticks: NDArray[np.int32]) -> NDArray[np.int64]:
        """The inverse of ``ticks_of_codes``; every tick must occur in the dataset."""
        position = np.searchsorted(self.ticks, ticks).clip(max=len(self.ticks) - 1)
        if not np.array_equal(self.ticks[position], ticks):
            raise ValueError("a tick is not in the calendar's table")
        codes: NDArray[np.int64] = self.codes[position]
        return codes


def granularity_of_label(label: str) -> Granularity | None:
    """Granularity by the shape of a label: ``2014-05-13`` day, ``2014-05`` month, ``37`` integer, otherwise None."""
    for pattern, granularity in _SHAPES:
        if pattern.fullmatch(label):
            return granularity
    return None


def granule_label(granularity: Granularity, granule: int) -> str:
    """A granule as ISO text, or as an integer."""
    if granularity in _CLOCK:
        unit, form = _CLOCK[granularity]
        return (datetime(1970, 1, 1) + granule * unit).isoformat(timespec=form)
    if granularity == "day":
        return (_EPOCH + timedelta(days=granule)).isoformat()
    if granularity == "week":
        year, week, _ = (_EPOCH + timedelta(days=7 * granule - _MONDAY)).isocalendar()
        return f"{year:04d}-W{week:02d}"
    if granularity == "integer":
        return str(granule)
    year, part = divmod(granule, _PARTS_OF_YEAR[granularity])
    label = f"{'-' if year < 0 else ''}{abs(year):04d}"
    if granularity == "year":
        return label
    return f"{label}-{part + 1:02d}" if granularity == "month" else f"{label}-Q{part + 1}"


def granules_of(granularity: Granularity, moments: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """The granule that contains each moment.

    Args:
        granularity: Any but ``integer``.
        moments: datetime64 [moments], in UTC.
    """
    if granularity == "week":
        days = moments.astype("datetime64[D]").astype(np.int64)
        return (days + _MONDAY) // 7
    if granularity in ("month", "quarter", "year"):
        months = moments.astype("datetime64[M]").astype(np.int64) + 12 * 1970
        return months // (12 // _PARTS_OF_YEAR[granularity])
    return moments.astype(f"datetime64[{_NUMPY_UNIT[granularity]}]").astype(np.int64)


def start_of_granules(granularity: Granularity, granules: NDArray[np.int64]) -> NDArray[np.datetime64]:
    """datetime64[us]: the first moment of each granule; the inverse of ``granules_of``.

    Args:
        granularity: Any but ``integer``.
        granules: int64 [granules].
    """
    if granularity == "week":
        starts = (granules * 7 - _MONDAY).astype("datetime64[D]")
    elif granularity in ("month", "quarter", "year"):
        starts = (granules * (12 // _PARTS_OF_YEAR[granularity]) - 12 * 1970).astype("datetime64[M]")
    else:
        starts = granules.astype(f"datetime64[{_NUMPY_UNIT[granularity]}]")
    return starts.astype("datetime64[us]")


def parse_granule(granularity: Granularity, text: str) -> int:
    """The granule that contains a time in any supported form, or that an integer names.

    Args:
        granularity: Granularity of a calendar.
        text: The time, as ``fitcarl.data.moments`` reads it; for integer times a number, whose decimals are dropped.
    """
    text = text.strip()
    if granularity == "integer":
        match = re.fullmatch(r"(-?[0-9]{1,18})(\.[0-9]*)?", text)
        if match is None:
            raise InputError("not a time of this dataset", found=text, expected="an integer")
        return math.floor(float(text)) if match[2] and len(match[1]) < 16 else int(match[1])
    return int(granules_of(granularity, np.array([parse_moment(text).start]))[0])
