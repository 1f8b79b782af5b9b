"""Parses the times of a file of facts into granules of one granularity."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import GRANULARITIES, MAX_SPAN, Granularity, parse_moment
from fitcarl.errors import InputError

_KINDS = re.compile(
    r"(?P<integer>-?[0-9]+)"
    r"|(?P<month>[0-9]{4}-[0-9]{2})"
    r"|(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"|(?P<datetime>[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9].*)"
)
_PLAIN = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?)?")
"""Times without a zone or in UTC; numpy parses these in bulk with the same result."""
_EXPECTED = {
    "integer": "an integer",
    "month": "a month such as 2014-05",
    "date": "a date such as 2014-05-13",
    "datetime": "a datetime such as 2014-05-13T09:30:00Z",
}
_UNITS: dict[Granularity, tuple[str, int]] = {
    "hour": ("datetime64[h]", 0),
    "day": ("datetime64[D]", 0),
    "month": ("datetime64[M]", 1970 * 12),
    "year": ("datetime64[Y]", 1970),
}
"""numpy unit of each granularity, and the offset from numpy's count to granules of the calendar."""
_MIN_FIRST_DAYS = 3
"""Minimum number of distinct dates, all the first of a month (year), for dates to be read as months (years)."""
_DIGITS = 18
_COARSER: dict[Granularity, str] = {"hour": "day", "day": "month", "month": "year", "year": "year"}
_COMPACT_DATE = re.compile(r"(19|20)[0-9]{6}|2100[0-9]{4}")


@dataclass(frozen=True, eq=False)
class Timestamps:
    """Parsed distinct times of a file."""

    granularity: Granularity
    granules: NDArray[np.int64]
    """int64 [texts], as `Calendar.of_granules` takes them."""
    step: int
    """Granules per tick: 1; for integers the requested number or the greatest common divisor of the differences."""
    truncated: NDArray[np.bool_]
    """bool [texts], whether the time was finer than a granule and was truncated."""
    exact: NDArray[np.int64]
    """int64 [texts], a key of the time before truncation: equal for equal times."""


def is_time(text: str) -> bool:
    """Whether a text has the form of a time; impossible dates included."""
    return _KINDS.fullmatch(text.strip(" ")) is not None


def check_granularity(granularity: str) -> None:
    """Raises an InputError for an unknown granularity."""
    if granularity not in ("auto", *GRANULARITIES) and not re.fullmatch(r"[1-9][0-9]{0,17}", granularity):
        raise InputError(
            "unknown granularity",
            found=granularity,
            expected="auto, hour, day, month, year, or for integer times the number of units per tick",
        )


def read_timestamps(texts: Sequence[str], granularity: str = "auto") -> Timestamps:
    """The granules of distinct times, which must all be integers, months, dates or datetimes.

    Args:
        texts: Distinct times in order of appearance.
        granularity: ``auto`` keeps integers (but reads YYYYMMDD from 1900 to 2100 as dates) and otherwise chooses the
            coarsest granularity without loss: hours if there is a time of day (minutes are truncated), days, months or
            years. Dates are read as months (years) only if at least three of them are all the first of a month (year).
            ``integer`` keeps all integers. A number such as ``"24"`` gives the units per tick of integer times, counted
            from the first. ``hour``, ``day``, ``month`` and ``year`` read integers as YYYYMMDD or YYYY.

    Returns:
        The parsed times.

    Raises:
        InputError: A time is invalid (the first such text is in ``found``), or the last time is more than ``MAX_SPAN``
            ticks after the first.
    """
    check_granularity(granularity)
    texts = [text.strip(" ") for text in texts]
    kind = _kind_of_all(texts)
    if kind == "integer" and granularity == "auto" and (dates := _compact_dates(texts)):
        kind, texts = "date", dates
    if kind == "integer" and granularity not in _UNITS:
        return _integer_timestamps(texts, None if granularity in ("auto", "integer") else int(granularity))
    if granularity != "auto" and granularity not in _UNITS:
        raise InputError(
            f"times are not integers, which granularity {granularity} needs", found=texts[0], expected="an integer"
        )
    moments = _moments(texts)
    chosen = _coarsest(moments, kind) if granularity == "auto" else cast(Granularity, granularity)
    unit, offset = _UNITS[chosen]
    granules = moments.astype(unit)
    _check_span(texts, granules.astype(np.int64), 1, f"--granularity {_COARSER[chosen]}")
    truncated, exact = granules != moments, moments.astype(np.int64)
    return Timestamps(chosen, granules.astype(np.int64) + offset, 1, truncated, exact)


def _compact_dates(texts: Sequence[str]) -> list[str] | None:
    """ISO dates if all integers are dates of the form YYYYMMDD, otherwise None."""
    if not all(map(_COMPACT_DATE.fullmatch, texts)):
        return None
    dates = [f"{text[:4]}-{text[4:6]}-{text[6:]}" for text in texts]
    try:
        np.array(dates, dtype="datetime64[D]")
    except ValueError:
        return None
    return dates


def _check_span(texts: Sequence[str], granules: NDArray[np.int64], step: int, coarser: str) -> None:
    last = int(granules.argmax())
    if (int(granules[last]) - int(granules.min())) // step >= MAX_SPAN:
        expected = f"at most {MAX_SPAN} ticks after the first time, as with {coarser}"
        raise InputError("a time out of range", found=texts[last], expected=expected)


def _units_per_day(values: NDArray[np.int64]) -> int:
    """Units per day if integers count seconds, ms, us or ns since 1970, estimated from their size."""
    largest = int(np.abs(values).max())
    return next(86_400 * unit for unit in (1, 10**3, 10**6, 10**9) if largest < 10**11 * unit or unit == 10**9)


def _kind_of_all(texts: Sequence[str]) -> str:
    first = None
    for text in texts:
        match = _KINDS.fullmatch(text)
        if match is None:
            expected = (
                _EXPECTED[first] if first else "an ISO date such as 2014-05-13, a datetime, a month, or an integer"
            )
            raise InputError("not a time", found=text, expected=expected)
        kind = str(match.lastgroup)
        if first is None:
            first = kind
        elif kind != first:
            raise InputError(
                "times of different types", found=text, expected=f"{_EXPECTED[first]}, as in the rows before"
            )
    if first is None:
        raise InputError("no times", expected="at least one fact")
    return first


def _moments(texts: Sequence[str]) -> NDArray[np.datetime64]:
    """datetime64[us] [texts], in UTC."""
    if all(map(_PLAIN.fullmatch, texts)):
        with suppress(ValueError):
            moments = np.array([text.removesuffix("Z") for text in texts], dtype="datetime64[us]")
            if moments.min() >= np.datetime64("0001-01-01"):
                return moments
    # One by one: times with zones, or to find the invalid one.
    return np.array([_moment(text) for text in texts], dtype="datetime64[us]")


def _moment(text: str) -> datetime:
    if text.lstrip("-").isdigit() and len(text) not in (4, 8):
        raise InputError("not a date", found=text, expected="YYYYMMDD or YYYY, or a granularity in units such as 24")
    return parse_moment(text)


def _coarsest(moments: NDArray[np.datetime64], kind: str) -> Granularity:
    if kind == "month":
        return "month"
    if np.any(moments.astype("datetime64[D]") != moments):
        return "hour"
    if len(np.unique(moments)) >= _MIN_FIRST_DAYS:
        if np.all(moments.astype("datetime64[Y]") == moments):
            return "year"
        if np.all(moments.astype("datetime64[M]") == moments):
            return "month"
    return "day"


def _integer_timestamps(texts: Sequence[str], step: int | None) -> Timestamps:
    for text in texts:
        if len(text.lstrip("-")) > _DIGITS:
            raise InputError("a time out of range", found=text, expected=f"an integer of at most {_DIGITS} digits")
    values = np.array([int(text) for text in texts], dtype=np.int64)
    since_first = values - values.min()
    step = step or math.gcd(*since_first.tolist()) or 1
    coarser = max(_units_per_day(values), int(since_first.max()) // MAX_SPAN + 1)
    _check_span(texts, values, step, f"--granularity {coarser}")
    remainder = since_first % step
    return Timestamps("integer", values - remainder, step, remainder != 0, values)
