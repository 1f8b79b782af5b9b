"""Ticks for the model, dates for people: the one place that knows what a timestamp means."""

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
"""Ticks from the first time to the last, at most: tables over time differences are twice as long as that."""

_EPOCH = date(1970, 1, 1)
_SHAPES: tuple[tuple[re.Pattern[str], Granularity], ...] = (
    (re.compile(r"-?[0-9]+"), "integer"),
    (re.compile(r"[0-9]{4}-[0-9]{2}"), "month"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), "day"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}"), "hour"),
)


@dataclass(frozen=True, eq=False)
class Calendar:
    """The times of a dataset. A tick counts granules since the first time; only differences of ticks enter a model."""

    granularity: Granularity
    origin: int
    """What tick 0 stands for: granules since 1970 (hour, day), since year 0 (month, year), or the integer itself."""
    step: int
    """Units a tick where times are plain integers (24 for ICEWS hours read as days); 1 otherwise."""
    codes: NDArray[np.int64]
    """int64 [times], ascending: how each time is written in the facts files of a dataset."""
    ticks: NDArray[np.int32]
    """int32 [times], ascending, ``ticks[0] == 0``."""

    @classmethod
    def of_granules(cls, granularity: Granularity, granules: ArrayLike, step: int = 1) -> Calendar:
        """The calendar of facts at these granules (any order, with repetition); facts files will hold ticks."""
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

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The ISO date, or the integer, of each time."""
        return tuple(self.label(int(tick)) for tick in self.ticks)

    def label(self, tick: int) -> str:
        """The ISO date, or the integer, of any tick."""
        return granule_label(self.granularity, self.origin + tick * self.step)

    def tick(self, text: str) -> int:
        """The tick of a date or integer as people write it; it need not be one of the dataset's own times."""
        granule = parse_granule(self.granularity, text)
        if (granule - self.origin) % self.step:
            raise InputError(
                "not a time of this dataset", found=text, expected=f"{self.origin} plus a multiple of {self.step}"
            )
        return (granule - self.origin) // self.step

    def ticks_of_codes(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Ticks of times as they stand in the facts files; -1 where a code is not in the table."""
        place = np.searchsorted(self.codes, codes).clip(max=len(self.codes) - 1)
        return np.where(self.codes[place] == codes, self.ticks[place], np.int32(-1)).astype(np.int32)

    def codes_of_ticks(self, ticks: NDArray[np.int32]) -> NDArray[np.int64]:
        """The inverse of ``ticks_of_codes`` for ticks of the dataset's own times."""
        place = np.searchsorted(self.ticks, ticks).clip(max=len(self.ticks) - 1)
        if not np.array_equal(self.ticks[place], ticks):
            raise ValueError("a tick is not in the calendar's table")
        codes: NDArray[np.int64] = self.codes[place]
        return codes


def granularity_of_label(label: str) -> Granularity | None:
    """What a label's shape says: ``2014-05-13`` is a day, ``2014-05`` a month, ``37`` an integer; None if nothing."""
    for pattern, granularity in _SHAPES:
        if pattern.fullmatch(label):
            return granularity
    return None


def granule_label(granularity: Granularity, granule: int) -> str:
    """A granule as people write it."""
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
    """The granule that an ISO date, datetime, month or year, or an integer, falls in."""
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
    """The moment at which an ISO date, datetime, month or year begins, in UTC; a time without zone is taken as UTC."""
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
