"""Timestamps: the conversion between ticks (integers for models) and dates (text for users)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.errors import InputError

Granularity = Literal["hour", "day", "month", "year", "integer"]
GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)

MAX_SPAN = 2_000_000
"""Upper bound of ``Calendar.span``: tables over time differences have two rows per tick."""

_DAYS_PER_TICK: dict[Granularity, float] = {"hour": 1 / 24, "day": 1.0, "month": 30.4, "year": 365.0}
_HALF_LIFE: dict[Granularity, float] = {"hour": 24 * 30, "day": 30, "month": 3, "year": 1}
GRANULARITY_UNITS: dict[Granularity, str] = {
    "hour": "hours",
    "day": "days",
    "month": "months",
    "year": "years",
    "integer": "time steps",
}
"""Plural name of the unit of a tick."""

_EPOCH = date(1970, 1, 1)
_SHAPES: tuple[tuple[re.Pattern[str], Granularity], ...] = (
    (re.compile(r"-?[0-9]+"), "integer"),
    (re.compile(r"[0-9]{4}-[0-9]{2}"), "month"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), "day"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}"), "hour"),
)


@dataclass(frozen=True, eq=False)
class Calendar:
    """The times of a dataset. A tick counts granules since the first time; models only use differences of ticks."""

    granularity: Granularity
    origin: int
    """Granule of tick 0: granules since 1970 (hour, day), since year 0 (month, year), or the integer itself."""
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

    def tick(self, text: str) -> int:
        """The tick of a date or integer given as text; the time does not have to occur in the dataset."""
        granule = parse_granule(self.granularity, text)
        if (granule - self.origin) % self.step:
            raise InputError(
                "not a time of this dataset", found=text, expected=f"{self.origin} plus a multiple of {self.step}"
            )
        return (granule - self.origin) // self.step

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
    if granularity == "hour":
        return (datetime(1970, 1, 1) + timedelta(hours=granule)).isoformat(timespec="hours")
    if granularity == "day":
        return (_EPOCH + timedelta(days=granule)).isoformat()
    if granularity == "month":
        return f"{granule // 12:04d}-{granule % 12 + 1:02d}"
    if granularity == "year":
        return f"{granule:04d}"
    return str(granule)


def parse_granule(granularity: Granularity, text: str) -> int:
    """The granule that contains an ISO date, datetime, month or year, or that an integer names."""
    text = text.strip()
    if granularity == "integer":
        if not re.fullmatch(r"-?[0-9]{1,18}", text):
            raise InputError("not a time of this dataset", found=text, expected="an integer")
        return int(text)
    moment = parse_moment(text)
    if granularity == "hour":
        return (moment.date() - _EPOCH).days * 24 + moment.hour
    if granularity == "day":
        return (moment.date() - _EPOCH).days
    if granularity == "month":
        return moment.year * 12 + moment.month - 1
    return moment.year


def parse_moment(text: str) -> datetime:
    """The start of an ISO date, datetime, month or year in UTC; a time without a zone is read as UTC."""
    try:
        if re.fullmatch(r"[0-9]{4}", text):
            return datetime(int(text), 1, 1)
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}", text):
            return datetime(int(text[:4]), int(text[5:]), 1)
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        dated = re.match(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?($|[T ])", text)
        problem = "no such date" if dated else "not a date"
        raise InputError(problem, found=text, expected="an ISO date such as 2014-05-13") from None
