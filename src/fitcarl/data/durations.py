"""Durations given as text, such as ``30d``, in ticks of a calendar."""

from __future__ import annotations

import re

from fitcarl.data.calendar import Calendar, Granularity
from fitcarl.errors import InputError

_TICKS: dict[Granularity, dict[str, int]] = {
    "second": {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400},
    "minute": {"min": 1, "h": 60, "d": 1440, "w": 7 * 1440},
    "hour": {"h": 1, "d": 24, "w": 7 * 24},
    "day": {"d": 1, "w": 7, "m": 30, "y": 365},
    "week": {"w": 1, "y": 52},
    "month": {"m": 1, "y": 12},
    "quarter": {"q": 1, "y": 4},
    "year": {"y": 1},
    "integer": {},
}
"""Ticks per unit; a month has 30 days, a year of weeks 52."""
_UNITS = {
    "s": "seconds",
    "min": "minutes",
    "h": "hours",
    "d": "days",
    "w": "weeks",
    "m": "months",
    "q": "quarters",
    "y": "years",
}


def parse_duration(calendar: Calendar, text: str) -> int:
    """The number of ticks in a duration: ``30d``, ``4w``, ``6m``, ``1y`` or ``48h``, or an integer for integer times.

    Raises:
        InputError: If it is not a positive whole number of ticks.
    """
    units = _TICKS[calendar.granularity]
    match = re.fullmatch(r"([0-9]{1,9})\s*([a-z]*)", text.strip().lower())
    ticks = 0
    if match and not units and not match[2]:
        amount = int(match[1])
        ticks = amount // calendar.step if amount % calendar.step == 0 else 0
    elif match and match[2] in units:
        ticks = int(match[1]) * units[match[2]]
    if not ticks:
        raise InputError("not a duration of this dataset", found=text, expected=_expected(calendar))
    return ticks


def _expected(calendar: Calendar) -> str:
    units = _TICKS[calendar.granularity]
    if not units:
        step = "" if calendar.step == 1 else f" that is a multiple of {calendar.step}"
        return f"a positive integer{step}"
    first, *others = units
    names = " or ".join(f"{_UNITS[unit]} ({unit})" for unit in (first, *others))
    return f"a positive number of {names}, such as 30{first}"
