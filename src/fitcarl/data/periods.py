"""Facts per period: months, years, weeks or ticks, chosen by the time that the facts cover."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.data.calendar import Calendar

_FEWEST_WEEKS, _FEWEST_MONTHS, _FEWEST_YEARS = 6, 3, 8
"""A unit is used if the facts cover at least this many of it: years first, then months, then weeks."""
_MOST = 60
"""The maximum number of periods; several units are one period if there would be more."""
_BARS = "▁▂▃▄▅▆▇█"
_FINEST = {"hour": "day", "day": "day", "month": "month", "year": "year"}
"""The shortest unit by granularity; the unit of others is a tick."""
_DAYS_PER_UNIT = {"year": 365.25, "month": 30.44, "week": 7.0, "day": 1.0}


@dataclass(frozen=True)
class Periods:
    """Consecutive periods of equal length, with the facts and the new entities of each."""

    unit: str
    """``year``, ``month``, ``week``, ``day`` or ``tick``."""
    units: int
    """Units per period."""
    labels: tuple[str, ...]
    """The beginning of each period."""
    facts: tuple[int, ...]
    """Facts of each period."""
    new_entities: tuple[int, ...]
    """Entities whose first fact is in each period."""

    @property
    def name(self) -> str:
        """The length of a period in words, such as ``month`` or ``5 years``."""
        return self.unit if self.units == 1 else f"{self.units} {self.unit}s"

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "units": self.units,
            "labels": list(self.labels),
            "facts": list(self.facts),
            "new_entities": list(self.new_entities),
        }


def count_by_period(times: ArrayLike, arrivals: ArrayLike, calendar: Calendar, first: int, last: int) -> Periods:
    """Counts facts and new entities by period, from one tick to another; those outside are not counted.

    Args:
        times: Ticks of all facts.
        arrivals: Ticks of the first fact of each entity.
        calendar: The calendar of the ticks.
        first: The first tick to count.
        last: The last tick to count.
    """
    unit = _unit(calendar, first, last)
    start, end = (int(_numbers(calendar, unit, np.array([tick]))[0]) for tick in (first, last))
    units = -(-(end - start + 1) // _MOST)
    size = (end - start) // units + 1

    def count(ticks: ArrayLike) -> tuple[int, ...]:
        found = np.asarray(ticks, dtype=np.int64)
        found = found[(found >= first) & (found <= last)]
        distinct, repeated = np.unique(found, return_counts=True)
        periods = (_numbers(calendar, unit, distinct) - start) // units
        return tuple(np.bincount(periods, weights=repeated, minlength=size).astype(int).tolist())

    labels = tuple(_label(calendar, unit, start + units * number) for number in range(size))
    return Periods(unit, units, labels, count(times), count(arrivals))


def sparkline(values: ArrayLike) -> str:
    """Values as a row of bars of eight heights, the highest for the maximum; a space for zero."""
    found = np.asarray(values, dtype=np.float64)
    top = found.max(initial=0)
    return "".join(" " if value <= 0 else _BARS[int((value / top) * len(_BARS) - 1e-9)] for value in found)


def _unit(calendar: Calendar, first: int, last: int) -> str:
    """The unit of the periods, by the granularity of the calendar and the time between two ticks."""
    finest = _FINEST.get(calendar.granularity)
    if finest is None:
        return "tick"
    days = (last - first + 1) * calendar.days_per_tick
    for unit, fewest in (("year", _FEWEST_YEARS), ("month", _FEWEST_MONTHS), ("week", _FEWEST_WEEKS)):
        if days >= fewest * _DAYS_PER_UNIT[unit] or unit == finest:
            return unit
    return "day"


def _numbers(calendar: Calendar, unit: str, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 [ticks]: the number of the unit that each tick is in; consecutive units have consecutive numbers."""
    if unit == "tick":
        return ticks
    granules = calendar.origin + ticks * calendar.step
    if calendar.granularity == "year":
        return granules
    if calendar.granularity == "month":
        return granules if unit == "month" else granules // 12
    days = granules // 24 if calendar.granularity == "hour" else granules
    if unit == "day":
        return days
    if unit == "week":
        return (days + 3) // 7  # 1970-01-01 was a Thursday, weeks begin on Monday
    moments = days.astype("datetime64[D]")
    if unit == "month":
        return moments.astype("datetime64[M]").astype(np.int64) + 12 * 1970
    return moments.astype("datetime64[Y]").astype(np.int64) + 1970


def _label(calendar: Calendar, unit: str, number: int) -> str:
    """The beginning of a unit as text."""
    if unit == "tick":
        return calendar.label(number)
    if unit == "year":
        return f"{number:04d}"
    if unit == "month":
        return f"{number // 12:04d}-{number % 12 + 1:02d}"
    days = number if unit == "day" else 7 * number - 3
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
