"""Parses the times of a file of facts into granules of one granularity."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import GRANULARITIES, MAX_SPAN, Granularity, granules_of, start_of_granules
from fitcarl.data.moments import PRECISIONS, Moment, Precision, date_order, epoch_unit, form_of, parse_moment
from fitcarl.errors import InputError

_PLAIN = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?)?")
"""Times without a zone or in UTC; numpy parses these in bulk with the same result."""
_EXAMPLES = {
    "integer": "an integer",
    "decimal": "a number",
    "month": "a month such as 2014-05",
    "date": "a date such as 2014-05-13",
    "datetime": "a datetime such as 2014-05-13T09:30:00",
    "week": "a week such as 2014-W20",
    "quarter": "a quarter such as 2014-Q2",
    "partial date": "a date such as 2014-05-13 or 2014-##-##",
    "numeric date": "a date such as 13/05/2014",
    "written date": "a date such as 13 May 2014",
    "logged date": "a date such as Tue May 13 09:30:00 +0000 2014",
    "written month": "a month such as May 2014",
}
_MIXED = ({"integer", "decimal"}, {"date", "datetime", "partial date"})
"""Forms that may occur together in one file."""
_DATES: tuple[Granularity, ...] = tuple(name for name in GRANULARITIES if name != "integer")
_COARSER: dict[Granularity, Granularity] = {**dict(zip(_DATES, (*_DATES[1:], "year"), strict=True)), "day": "month"}
_MIN_FIRST_DAYS, _MIN_OUTLIERS = 3, 20
_PRECISE_SHARE = 0.95
_DIGITS = 18
_COMPACT = (
    (re.compile(r"(?:19|20)[0-9]{6}|2100[0-9]{4}"), "{0}-{1}-{2}", (4, 6, 8)),
    (re.compile(r"(?:19[0-9]{2}|20[0-9]{2})[0-9]{6}"), "{0}-{1}-{2}T{3}", (4, 6, 8, 10)),
    (re.compile(r"(?:19[0-9]{2}|20[0-9]{2})[0-9]{8}"), "{0}-{1}-{2}T{3}:{4}", (4, 6, 8, 10, 12)),
    (re.compile(r"(?:19[0-9]{2}|20[0-9]{2})[0-9]{10}"), "{0}-{1}-{2}T{3}:{4}:{5}", (4, 6, 8, 10, 12, 14)),
)
"""Dates written as digits only: pattern, ISO form, ends of the parts."""
_YEAR_COLUMN = re.compile(
    r"(.*[^a-z])?(year|yr|season)s?|start|begin|since|from|valid[_ ]?from|end|until|to|valid[_ ]?to"
)
_MONTH_COLUMN = re.compile(r"(.*[^a-z])?(month|monthyear|yearmonth|yyyymm|period|date)")
_WEEK_COLUMN = re.compile(r"(.*[^a-z])?(week|yearweek|yyyyww)")
_YEARS = 1000, 2999


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
    coarse: NDArray[np.bool_]
    """bool [texts], whether the time names a longer period than a granule, such as 1952-##-##; its start is used."""
    epoch: str | None = None
    """The unit if the times are counts since 1970."""


def is_time(text: str) -> bool:
    """Whether a text has the form of a time; impossible dates included."""
    return form_of(text.strip(" ")) is not None


def looks_like_time(texts: Sequence[str], column: str = "") -> bool:
    """Whether texts are clearly times: dates in any form, counts since 1970, or years in a column of that name.

    Args:
        texts: Some values of a column.
        column: Its name, if it has one.
    """
    texts = _without_zeros([text.strip(" ") for text in texts])
    forms = {form_of(text) for text in texts}
    if not texts or None in forms:
        return False
    if forms <= {"integer", "decimal"}:
        values = [float(text) for text in texts]
        named = _dates_of_integers(texts, column) is not None if forms == {"integer"} else False
        return named or epoch_unit(min(values), max(values)) is not None
    try:
        _moments(texts)
    except InputError:
        return False
    return len(forms) == 1 or any(forms <= mixed for mixed in _MIXED)


def check_granularity(granularity: str) -> None:
    """Raises an InputError for an unknown granularity."""
    if granularity not in ("auto", *GRANULARITIES) and not re.fullmatch(r"[1-9][0-9]{0,17}", granularity):
        raise InputError(
            "unknown granularity",
            found=granularity,
            expected=f"auto, {', '.join(_DATES)}, or for integer times the number of units per tick",
        )


def read_timestamps(texts: Sequence[str], granularity: str = "auto", column: str = "") -> Timestamps:
    """The granules of distinct times, which must all have one form.

    Args:
        texts: Distinct times in order of appearance.
        granularity: ``auto`` reads integers as dates if all of them are counts since 1970 (seconds, milliseconds,
            microseconds or nanoseconds from 1985 to 2099), dates written as digits (YYYYMMDD, YYYYMMDDHH, …), or years
            in a column called year, and otherwise keeps them. Of dates it chooses the coarsest granularity without
            loss: hours if there is a time of day (minutes are truncated), days, months or years. Dates are read as
            months (years) only if at least three of them are all the first of a month (year); with partial dates such
            as 1952-##-## it is the finest that 95 % of the times have. ``integer`` keeps all integers. A number such as
            ``"24"`` gives the units per tick of integer times, counted from the first. Any other granularity reads
            integers as YYYYMMDD, YYYY or counts since 1970.
        column: Name of the column in the file.

    Returns:
        The parsed times.

    Raises:
        InputError: A time is invalid (the first such text is in ``found``), or the last time is more than ``MAX_SPAN``
            ticks after the first.
    """
    check_granularity(granularity)
    texts = _without_zeros([text.strip(" ") for text in texts])
    forms = _forms_of_all(texts)
    if granularity == "auto":
        _check_name(texts, forms, column)
        if _are_seasons(texts, forms):
            texts, forms = [text[:4] for text in texts], {"year"}
            return _of_moments(texts, [], _moments(texts)[0], granularity, "year", None)
    numbers, unit = forms <= {"integer", "decimal"}, None
    if numbers and granularity in ("auto", *_DATES):
        values = _numbers(texts)
        dates = _dates_of_integers(texts, column) if forms == {"integer"} else None
        unit = None if dates else epoch_unit(float(values.min()), float(values.max()))
        if unit is not None:
            return _of_moments(texts, [], _since_1970(values, unit), granularity, "datetime", unit)
        if dates is not None:
            texts, form = dates
            moments, parsed = _moments(texts)
            return _of_moments(texts, parsed, moments, granularity, form, None)
        if granularity == "auto" and len(texts) >= _MIN_OUTLIERS:
            _check_outliers(texts, values)
    if numbers and granularity not in _DATES:
        return _integer_timestamps(texts, None if granularity in ("auto", "integer") else int(granularity))
    if granularity != "auto" and granularity not in _DATES:
        raise InputError(
            f"times are not integers, which granularity {granularity} needs", found=texts[0], expected="an integer"
        )
    moments, parsed = _moments(texts)
    return _of_moments(texts, parsed, moments, granularity, forms.pop() if len(forms) == 1 else "datetime", None)


def _without_zeros(texts: list[str]) -> list[str]:
    """Integers that were written as decimal numbers, such as 2014.0, as integers, if all are."""
    if not all(re.fullmatch(r"-?[0-9]+(\.0)?", text) for text in texts):
        return texts
    return [text.removesuffix(".0") for text in texts]


def _are_seasons(texts: Sequence[str], forms: set[str]) -> bool:
    """Whether months are rather seasons such as 2001-02, 2002-03, …, each ending in the next year."""
    if forms != {"month"} or len(set(texts)) < _MIN_FIRST_DAYS:
        return False
    return all(int(text[5:]) == (int(text[2:4]) + 1) % 100 for text in texts)


def _check_name(texts: Sequence[str], forms: set[str], column: str) -> None:
    """Raises an InputError if the name of the column contradicts its values."""
    word = re.split(r"[^a-z]+", column.strip().lower())[-1]
    months = forms == {"month"} and word in ("week", "quarter")
    padded = next((text for text in texts if re.fullmatch(r"0[0-9]{3}|0[0-9]{5}", text)), None)
    if forms == {"integer"} and word == "time" and padded is not None:
        expected = "a time with its date, or --granularity integer for plain integers"
        raise InputError(f"times of day without a date in a column called {column}", found=padded, expected=expected)
    numbers = forms == {"integer"} and word == "date"
    if months:
        raise InputError(f"months in a column called {column}", found=texts[0], expected="2014-W05, 2014-Q2 or dates")
    if numbers and _dates_of_integers(texts, column) is None:
        values = _numbers(texts)
        if epoch_unit(float(values.min()), float(values.max())) is None:
            _check_outliers(texts, values)
            expected = "dates such as 2014-05-13 or 20140513, or --granularity integer for plain integers"
            raise InputError(f"integers in a column called {column}", found=texts[0], expected=expected)


def _check_outliers(texts: Sequence[str], values: NDArray[np.int64] | NDArray[np.float64]) -> None:
    """Raises an InputError if nearly all integers are counts since 1970, but some cannot be."""
    low, high = (float(np.quantile(values, share)) for share in (0.1, 0.9))
    if epoch_unit(low, high) is not None:
        unit = epoch_unit(low, high)
        place = next(i for i, value in enumerate(values) if epoch_unit(float(value), float(value)) != unit)
        expected = "a count since 1970 like the others, or --granularity integer"
        raise InputError("a time out of range", found=texts[place], expected=expected)


def _of_moments(
    texts: Sequence[str],
    parsed: Sequence[Moment],
    moments: NDArray[np.datetime64],
    granularity: str,
    form: str,
    epoch: int | None,
) -> Timestamps:
    """Timestamps of moments; ``parsed`` is empty if their precision follows from the form."""
    chosen = _coarsest(moments, parsed, form) if granularity == "auto" else cast(Granularity, granularity)
    granules = granules_of(chosen, moments)
    _check_span(texts, granules, 1, f"--granularity {_COARSER[chosen]}")
    truncated = start_of_granules(chosen, granules) != moments
    fineness = PRECISIONS.index(chosen)
    coarse = np.zeros(len(texts), dtype=np.bool_)
    if parsed:
        coarse = np.array([PRECISIONS.index(moment.precision) < fineness for moment in parsed])
    elif form in ("month", "year"):
        coarse[:] = PRECISIONS.index(cast(Precision, form)) < fineness
    name = None if epoch is None else {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds"}.get(epoch, "ns")
    return Timestamps(chosen, granules, 1, truncated, moments.astype(np.int64), coarse, name)


def _dates_of_integers(texts: Sequence[str], column: str) -> tuple[list[str], str] | None:
    """ISO texts and their form if all integers are dates written as digits, or years or months by the column's name."""
    name = column.strip().lower()
    if _YEAR_COLUMN.fullmatch(name) and all(len(text) == 4 and _YEARS[0] <= int(text) <= _YEARS[1] for text in texts):
        return list(texts), "year"
    if _MONTH_COLUMN.fullmatch(name) and all(re.fullmatch(r"(19|20)[0-9]{2}(0[1-9]|1[0-2])", text) for text in texts):
        return [f"{text[:4]}-{text[4:]}" for text in texts], "month"
    if _WEEK_COLUMN.fullmatch(name) and all(
        re.fullmatch(r"(19|20)[0-9]{2}(0[1-9]|[1-4][0-9]|5[0-3])", t) for t in texts
    ):
        return [f"{text[:4]}-W{text[4:]}" for text in texts], "week"
    for pattern, form, ends in _COMPACT:
        if not all(map(pattern.fullmatch, texts)):
            continue
        starts = (0, *ends)
        dates = [form.format(*(text[a:b] for a, b in zip(starts, ends, strict=False))) for text in texts]
        with suppress(ValueError):
            np.array(dates, dtype="datetime64[s]")
            return dates, "date" if len(ends) == 3 else "datetime"
    return None


def _check_span(texts: Sequence[str], granules: NDArray[np.int64], step: int, coarser: str) -> None:
    last = int(granules.argmax())
    if (int(granules[last]) - int(granules.min())) // step >= MAX_SPAN:
        expected = f"at most {MAX_SPAN} ticks after the first time, as with {coarser}"
        raise InputError("a time out of range", found=texts[last], expected=expected)


def _units_per_day(values: NDArray[np.int64]) -> int:
    """Units per day if integers count seconds, ms, us or ns since 1970, estimated from their size."""
    largest = int(np.abs(values).max())
    return next(86_400 * unit for unit in (1, 10**3, 10**6, 10**9) if largest < 10**11 * unit or unit == 10**9)


def _forms_of_all(texts: Sequence[str]) -> set[str]:
    """The form of all times: one, or some that may occur together."""
    forms: set[str] = set()
    for text in texts:
        form = form_of(text)
        if form in forms:
            continue
        first = next(iter(forms)) if len(forms) == 1 else "datetime"
        if form is None:
            expected = "an ISO date such as 2014-05-13, a datetime, a month, or an integer"
            raise InputError("not a time", found=text, expected=_EXAMPLES[first] if forms else expected)
        if forms and not any(forms | {form} <= mixed for mixed in _MIXED):
            expected = f"{_EXAMPLES[first]}, as in the rows before"
            raise InputError("times of different types", found=text, expected=expected)
        forms.add(form)
    if not forms:
        raise InputError("no times", expected="at least one fact")
    return forms


def _numbers(texts: Sequence[str]) -> NDArray[np.int64] | NDArray[np.float64]:
    if all(text.lstrip("+-").isdigit() and len(text) <= _DIGITS for text in texts):
        return np.array(texts, dtype=np.str_).astype(np.int64)
    return np.array([float(text) for text in texts])


def _since_1970(values: NDArray[np.int64] | NDArray[np.float64], unit: int) -> NDArray[np.datetime64]:
    """datetime64[us] of counts since 1970, ``unit`` of which make a second."""
    if np.issubdtype(values.dtype, np.integer):
        microseconds = values * (10**6 // unit) if unit <= 10**6 else values // (unit // 10**6)
    else:
        microseconds = np.rint(values / unit * 10**6)
    return microseconds.astype(np.int64).astype("datetime64[us]")


def _moments(texts: Sequence[str]) -> tuple[NDArray[np.datetime64], list[Moment]]:
    """datetime64[us] [texts] in UTC, and how each was read; nothing of the latter if all have the same plain form."""
    if all(map(_PLAIN.fullmatch, texts)) and len({len(text) > 10 for text in texts}) == 1:
        with suppress(ValueError):
            moments = np.array([text.removesuffix("Z") for text in texts], dtype="datetime64[us]")
            if moments.min() >= np.datetime64("0001-01-01"):
                return moments, []
    # One by one: other forms, or to find the invalid one.
    order = date_order(list(texts))
    if order is None:
        _check_one_order(texts)
    parsed = [parse_moment(text, order) for text in texts]
    return np.array([moment.start for moment in parsed], dtype="datetime64[us]"), parsed


def _check_one_order(texts: Sequence[str]) -> None:
    """Raises an InputError if day and month are in one order in some dates and in the other in others."""
    first = None
    for text in texts:
        order = date_order([text])
        if order and first and order != first:
            raise InputError("dates in two orders", found=text, expected=f"the {first}, as in the rows before")
        first = first or order


def _coarsest(moments: NDArray[np.datetime64], parsed: Sequence[Moment], form: str) -> Granularity:
    """The coarsest granularity without loss; with partial dates, the finest that nearly all times have."""
    if form in ("month", "written month"):
        return "month"
    if form in ("quarter", "year"):
        return cast(Granularity, form)
    if form == "week" and all(moment.precision == "week" for moment in parsed):
        return "week"
    if any(moment.partial for moment in parsed):
        fineness = np.array([PRECISIONS.index(moment.precision) for moment in parsed])
        return PRECISIONS[int(np.quantile(fineness, 1 - _PRECISE_SHARE, method="lower"))]
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
        if len(text.split(".")[0].lstrip("+-")) > _DIGITS:
            raise InputError("a time out of range", found=text, expected=f"an integer of at most {_DIGITS} digits")
        if form_of(text) == "decimal" and not float(text).is_integer() and step is None:
            expected = "an integer, seconds since 1970, or --granularity with the units per tick"
            raise InputError("not a time", found=text, expected=expected)
    floors = _numbers(texts)
    values = np.floor(floors).astype(np.int64)
    since_first = values - values.min()
    step = step or math.gcd(*since_first.tolist()) or 1
    coarser = max(_units_per_day(values), int(since_first.max()) // MAX_SPAN + 1)
    _check_span(texts, values, step, f"--granularity {coarser}")
    remainder = since_first % step
    truncated = (remainder != 0) | (floors != values)
    _, exact = np.unique(floors, return_inverse=True)
    return Timestamps("integer", values - remainder, step, truncated, exact, np.zeros(len(texts), dtype=np.bool_))
