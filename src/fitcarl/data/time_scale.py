"""The time unit of a dataset: the number of ticks that models count as one unit, estimated from its facts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar, Granularity
from fitcarl.data.durations import parse_duration
from fitcarl.data.quadruples import Quadruples

AUTO = "auto"
"""The setting with which the time unit is estimated."""
UNITS_PER_GAP = 5.0
"""Time units in a typical gap between two facts of an entity, chosen on meta-validation; see docs/design/plus.md."""
_MIN_STEPS = 2.0
"""A unit that would not be longer than this many steps between the times of the dataset is one step."""

_LONGER: dict[Granularity, tuple[tuple[float, str], ...]] = {
    "second": ((60.0, "minute"), (3600.0, "hour"), (86_400.0, "day")),
    "minute": ((60.0, "hour"), (1440.0, "day")),
    "hour": ((24.0, "day"), (168.0, "week")),
    "day": ((7.0, "week"), (30.4, "month"), (365.0, "year")),
    "week": ((52.0, "year"),),
    "month": ((12.0, "year"),),
    "quarter": ((4.0, "year"),),
    "year": (),
    "integer": (),
}
"""Longer units in which a duration may be said, by granularity: ticks and name."""


def time_unit(facts: Quadruples) -> float:
    """The number of ticks in a time unit, from the rhythm of the facts alone.

    It is the geometric mean of the gaps between successive times of the same entity, divided by ``UNITS_PER_GAP``, but
    one step if that is not longer than two steps, where a step is the median difference between successive times of all
    facts. So a fact one step ago is at most one unit away, in data by year as well as by day, and weekly facts have the
    same unit whether they are written as dates or as numbers of weeks. Facts of one time have a unit of 1.

    Args:
        facts: The facts that training may use, in any order.
    """
    times = np.unique(facts.time).astype(np.float64)
    if len(times) < 2:
        return 1.0
    step, gaps = float(np.median(np.diff(times))), _entity_gaps(facts)
    unit = float(np.exp(np.log(gaps).mean())) / UNITS_PER_GAP if len(gaps) else step
    return unit if unit > _MIN_STEPS * step * (1 + 1e-9) else step  # the limit itself is a step, despite rounding


def _entity_gaps(facts: Quadruples) -> NDArray[np.int64]:
    """int64 [gaps]: ticks between successive times of an entity, as subject or object; equal times count once."""
    first, last = int(facts.time.min()), int(facts.time.max())
    span, key = last - first + 1, np.empty(2 * len(facts), dtype=np.int64)
    for part, ids in ((key[: len(facts)], facts.subject), (key[len(facts) :], facts.object)):
        np.multiply(ids, span, out=part, dtype=np.int64)  # in place: the arrays are large
        part += facts.time
    key -= first
    key.sort()  # faster than np.unique, which hashes
    gaps = np.diff(key)
    entity = np.floor_divide(key, span, out=key)
    return gaps[(gaps > 0) & (entity[1:] == entity[:-1])]


def chosen_time_unit(setting: str, calendar: Calendar, facts: Quadruples) -> float:
    """The time unit of a setting: estimated for ``auto``, otherwise a duration such as ``7d``.

    Args:
        setting: ``auto`` or a duration, see ``parse_duration``.
        calendar: The calendar of the facts.
        facts: The facts that training may use.

    Raises:
        InputError: If the setting is not a positive whole number of ticks.
    """
    return time_unit(facts) if setting == AUTO else float(parse_duration(calendar, setting))


def time_scale_text(calendar: Calendar, scale: float) -> str:
    """A number of ticks as text, such as ``1 day``, ``about 3 weeks`` or ``12 time steps``.

    Args:
        calendar: The calendar that the ticks belong to.
        scale: The number of ticks, such as a time unit.
    """
    amount, name = scale * calendar.step, calendar.unit.removesuffix("s")
    for ticks, longer in _LONGER[calendar.granularity]:
        if scale >= ticks:
            amount, name = scale / ticks, longer
    rounded = round(amount, 1) if amount < 10 else round(amount)
    about = "" if abs(rounded - amount) < 1e-9 * amount else "about "
    return f"{about}{rounded:,g} {name}{'' if rounded == 1 else 's'}"
