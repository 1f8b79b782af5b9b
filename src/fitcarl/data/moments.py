"""Times as people write them: one text or Python object as the start of a period in UTC, with its precision."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal, NoReturn, get_args

import numpy as np

from fitcarl.errors import InputError

Precision = Literal["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
"""From coarse to fine."""
AnyTime = str | date | np.datetime64 | int | float
"""A time as callers may give it; datetimes and pandas Timestamps are dates."""
DateOrder = Literal["day first", "month first"]
"""Meaning of a date such as 03/04/2014."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august"),
            *("sep sept september", "oct october", "nov november", "dec december"),
        ),
        start=1,
    )
    for name in names.split()
}
_UNKNOWN = r"(?:##|00|[xX]{2}|\?\?|--)"
"""Placeholder of an unknown month or day."""
_CLOCK = (
    r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:\s*[AaPp]\.?[Mm]\.?)?\s*(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?"
)
_FORMS: dict[str, re.Pattern[str]] = {
    "integer": re.compile(r"[+-]?[0-9]+"),
    "decimal": re.compile(r"[+-]?[0-9]+\.[0-9]*"),
    "month": re.compile(r"([0-9]{4})[-/]([0-9]{2})"),
    "partial date": re.compile(
        rf"(-?[0-9]{{1,4}})-(?:{_UNKNOWN}-{_UNKNOWN}|([0-9]{{2}})-{_UNKNOWN})|(-[0-9]{{1,4}})-([0-9]{{2}})-([0-9]{{2}})"
    ),
    "date": re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})"),
    "datetime": re.compile(r"[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}[T ,]\s*[0-9].*|[0-9]{8}T[0-9]{2,6}(?:\.[0-9]+)?Z?"),
    "week": re.compile(r"([0-9]{4})-?W([0-9]{2})(?:-?([1-7]))?"),
    "quarter": re.compile(r"([0-9]{4})[- ]?[Qq]([1-4])|[Qq]([1-4])[- /]?([0-9]{4})"),
    "numeric date": re.compile(rf"([0-9]{{1,2}})([-/.])([0-9]{{1,2}})\2([0-9]{{4}})(?:[T ,]\s*({_CLOCK}))?"),
    "written date": re.compile(
        r"(?:[A-Za-z]{3,9},?\s+)?(?:"
        r"([0-9]{1,2})(?:st|nd|rd|th)?[\s.-]+([A-Za-z]{3,9})\.?,?[\s-]+([0-9]{4})"
        r"|([A-Za-z]{3,9})\.?\s+([0-9]{1,2})(?:st|nd|rd|th)?,?\s+([0-9]{4})"
        rf")(?:[T ,]\s*({_CLOCK})(?:\s*\([A-Za-z]+\))?)?"
    ),
    "logged date": re.compile(
        r"[A-Za-z]{3} ([A-Za-z]{3}) +([0-9]{1,2}) ([0-9:]{8})( [+-][0-9]{4}| UTC| GMT)? ([0-9]{4})"
    ),
    "written month": re.compile(r"([A-Za-z]{3,9})\.?[\s-]+([0-9]{4})|([0-9]{4})[\s-]+([A-Za-z]{3,9})"),
}
"""Form of a time → pattern; the first match counts. Impossible dates have a form too, and are rejected later."""
_COMPACT = {4: "%Y", 8: "%Y%m%d", 14: "%Y%m%d%H%M%S"}
EPOCH_UNITS: tuple[tuple[str, int], ...] = (
    ("seconds", 1),
    ("milliseconds", 10**3),
    ("microseconds", 10**6),
    ("ns", 10**9),
)
"""Units of a count since 1970, and how many of them make a second."""
_EPOCH_RANGE = 5 * 10**8, 41 * 10**8
"""Seconds since 1970 of 1985-11 and 2099-12: a count in this range is a time, a smaller one may be anything."""


@dataclass(frozen=True)
class Moment:
    """The start of the period that a text names."""

    start: np.datetime64
    """datetime64[us], in UTC."""
    precision: Precision
    """Length of the period."""
    partial: bool = False
    """Whether month or day are marked as unknown, as in ``1952-##-##``."""


def time_text(value: object) -> str:
    """A time as text: of a text itself, a date, datetime, pandas Timestamp, numpy datetime64 or number.

    Args:
        value: The time.

    Raises:
        InputError: If it is something else.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, date):  # a datetime and a pandas Timestamp are dates
        return value.isoformat()
    if isinstance(value, np.datetime64) and not np.isnat(value):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float | np.floating) and np.isfinite(value):
        return str(int(value)) if value == int(value) else repr(float(value))
    raise InputError("not a time", found=repr(value), expected="text, a date, a datetime or a number")


def form_of(text: str) -> str | None:
    """The form of a time, such as ``date`` or ``quarter``; None if the text has none."""
    return next((form for form, pattern in _FORMS.items() if pattern.fullmatch(text)), None)


def epoch_unit(smallest: float, largest: float) -> int | None:
    """How many of the unit make a second if these are the extremes of counts since 1970; None if they are not."""
    low, high = _EPOCH_RANGE
    return next((unit for _, unit in EPOCH_UNITS if low * unit <= smallest and largest < high * unit), None)


def date_order(texts: list[str]) -> DateOrder | None:
    """The order of dates such as 13/05/2014; None if every one can be read both ways, or if they contradict."""
    found: set[DateOrder] = set()
    for text in texts:
        match = _FORMS["numeric date"].fullmatch(text)
        if match and (match[2] == "." or int(match[1]) > 12):
            found.add("day first")
        elif match and int(match[3]) > 12:
            found.add("month first")
    return found.pop() if len(found) == 1 else None


def parse_moment(text: str, order: DateOrder | None = None) -> Moment:
    """The period that a text names: a date in any of the supported forms, or a count since 1970.

    A time without a zone is in UTC.

    Args:
        text: The time.
        order: Meaning of 03/04/2014; without it such a date is read only if it is unambiguous.

    Raises:
        InputError: If it is not a time, or names no date that exists.
    """
    text = text.strip()
    form = form_of(text)
    if form is None:
        _fail(text, "not a date")
    try:
        return _PARSERS[form](text, order)
    except (ValueError, OverflowError):
        _fail(text, "no such date")


def _fail(text: str, problem: str, expected: str = "an ISO date such as 2014-05-13") -> NoReturn:
    raise InputError(problem, found=text, expected=expected) from None


def _moment(value: datetime | str, precision: Precision, partial: bool = False) -> Moment:
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return Moment(np.datetime64(value, "us"), precision, partial)
    return Moment(np.datetime64(value).astype("datetime64[us]"), precision, partial)


def _integer(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    digits = text.lstrip("+-")
    if text[0] == "-" and len(digits) == 4:
        return _moment(text, "year")
    if text[0] not in "+-" and len(digits) in _COMPACT:
        if len(digits) == 4:
            return _moment(digits, "year")
        precision: Precision = "day" if len(digits) == 8 else "second"
        return _moment(datetime.strptime(digits, _COMPACT[len(digits)]), precision)
    return _since_1970(text, int(text))


def _decimal(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    return _since_1970(text, float(text))


def _since_1970(text: str, value: float) -> Moment:
    unit = epoch_unit(value, value)
    if unit is None:
        _fail(text, "not a date", "YYYYMMDD or YYYY, or seconds, milliseconds or microseconds since 1970")
    microseconds = value * 10**6 // unit if isinstance(value, int) else round(value / unit * 10**6)
    return Moment(np.datetime64(int(microseconds), "us"), "second")


def _month(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    return _moment(datetime(int(text[:4]), int(text[5:]), 1), "month")


def _date(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    year, _, month, day = _matched("date", text)
    return _moment(datetime(int(year), int(month), int(day)), "day")


def _datetime(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    plain = re.sub(r"\s*(?:UTC|GMT)$", "Z", text)
    plain = re.sub(r"^([0-9]{4})[/.]([0-9]{1,2})[/.]", r"\1-\2-", plain).replace(",", ".")
    plain = re.sub(r"^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})[.T ]\s*", _padded, plain)
    plain = re.sub(r"(?<=[0-9])\s+(?=[+-][0-9]{2}:?[0-9]{2}$)", "", plain)
    clock = re.match(r"^\S{10}T([0-9]):", plain)
    if clock:
        plain = f"{plain[:11]}0{plain[11:]}"
    return _moment(datetime.fromisoformat(plain), _clock_precision(plain[11:]))


def _padded(match: re.Match[str]) -> str:
    return f"{match[1]}-{int(match[2]):02d}-{int(match[3]):02d}T"


def _clock_precision(clock: str) -> Precision:
    parts = re.match(r"[0-9]{1,2}(:?[0-9]{2})?(:?[0-9]{2})?", clock)
    if parts is None or parts[1] is None:
        return "hour"
    return "minute" if parts[2] is None else "second"


def _week(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    year, week, day = _matched("week", text)
    return _moment(datetime.fromisocalendar(int(year), int(week), int(day or 1)), "day" if day else "week")


def _quarter(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    found = _matched("quarter", text)
    year, quarter = (int(found[0]), int(found[1])) if found[0] else (int(found[3]), int(found[2]))
    return _moment(datetime(year, 3 * quarter - 2, 1), "quarter")


def _partial_date(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    year, month, bc_year, bc_month, bc_day = _matched("partial date", text)
    if not int((bc_year or year).lstrip("-")):
        _fail(text, "no such date")
    if bc_year:
        return _moment(f"{_iso_year(bc_year)}-{bc_month}-{bc_day}", "day")
    if month:
        return _moment(f"{_iso_year(year)}-{month}", "month", partial=True)
    return _moment(_iso_year(year), "year", partial=True)


def _iso_year(year: str) -> str:
    return f"{'-' if year.startswith('-') else ''}{int(year.lstrip('-')):04d}"


def _numeric_date(text: str, order: DateOrder | None) -> Moment:
    first, mark, second, year, clock = _matched("numeric date", text)
    order = "day first" if mark == "." else date_order([text]) or order
    if order is None:
        _fail(text, "a date that can be read in two ways", "an ISO date such as 2014-05-13")
    day, month = (first, second) if order == "day first" else (second, first)
    return _with_clock(int(year), int(month), int(day), clock)


def _written_date(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    day, month, year, month2, day2, year2, clock = _matched("written date", text)
    day, month, year = (day, month, year) if day else (day2, month2, year2)
    if month.lower() not in _MONTHS:
        _fail(text, "not a date")
    return _with_clock(int(year), _MONTHS[month.lower()], int(day), clock)


def _with_clock(year: int, month: int, day: int, clock: str | None) -> Moment:
    if not clock:
        return _moment(datetime(year, month, day), "day")
    half = re.search(r"([AaPp])\.?[Mm]\.?", clock)
    plain = re.sub(r"\s*[AaPp]\.?[Mm]\.?\s*", "", clock).strip()
    hour, rest = plain.split(":", 1)
    number = int(hour)
    if half:
        if not 1 <= number <= 12:
            raise ValueError(clock)
        number = number % 12 + (12 if half[1] in "pP" else 0)
    return _datetime(f"{year:04d}-{month:02d}-{day:02d} {number:02d}:{rest}", None)


def _logged_date(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    month, day, clock, zone, year = _matched("logged date", text)
    if month.lower() not in _MONTHS:
        _fail(text, "not a date")
    return _with_clock(int(year), _MONTHS[month.lower()], int(day), f"{clock}{zone or ''}")


def _written_month(text: str, order: DateOrder | None) -> Moment:  # noqa: ARG001
    month, year, year2, month2 = _matched("written month", text)
    number = _MONTHS.get((month or month2).lower())
    if number is None:
        _fail(text, "not a date")
    return _moment(datetime(int(year or year2), number, 1), "month")


def _matched(form: str, text: str) -> tuple[str, ...]:
    match = _FORMS[form].fullmatch(text)
    if match is None:
        raise ValueError(text)
    return match.groups()


_PARSERS: dict[str, Callable[[str, DateOrder | None], Moment]] = {
    "integer": _integer,
    "decimal": _decimal,
    "month": _month,
    "date": _date,
    "datetime": _datetime,
    "week": _week,
    "quarter": _quarter,
    "partial date": _partial_date,
    "numeric date": _numeric_date,
    "written date": _written_date,
    "logged date": _logged_date,
    "written month": _written_month,
}
