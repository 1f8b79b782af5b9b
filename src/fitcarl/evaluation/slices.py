"""Slices of the queries: by kind of answer, by direction and by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.tasks.task import Queries, Task

By = Literal["answer", "direction", "month", "year", "period"]
TIMES: tuple[By, ...] = ("month", "year", "period")

_MAX_MONTHS = 24
_PERIODS = 12  # of integer time lines, which have no months


@dataclass(frozen=True, eq=False)
class Slice:
    """Queries with a common property."""

    by: By
    value: str
    mask: NDArray[np.bool_]
    """bool [queries]."""


def slices(task: Task, relations: RelationIds, calendar: Calendar) -> tuple[Slice, ...]:
    """Slices by kind of answer, direction and time; empty slices are omitted."""
    queries = task.queries
    copied = answer_in_support(task.support, queries, relations)
    forward = ~relations.is_inverse(queries.relation)
    found = [
        Slice("answer", "in support", copied),
        Slice("answer", "novel", ~copied),
        Slice("direction", "forward", forward),
        Slice("direction", "inverse", ~forward),
        *_periods(queries.time, calendar),
    ]
    return tuple(part for part in found if part.mask.any())


def answer_in_support(support: MetaSet, queries: Queries, relations: RelationIds) -> NDArray[np.bool_]:
    """bool [queries]: whether the answer is the other end of a support fact of the query entity."""
    seen = support.facts.seen_from(support.entity_of_fact, relations)
    support_pairs = np.stack([seen.subject, seen.object], axis=1)
    query_pairs = np.stack([queries.entity, queries.answer], axis=1)
    _, number = np.unique(np.concatenate([support_pairs, query_pairs]), axis=0, return_inverse=True)
    number = number.ravel()
    return np.isin(number[len(support_pairs) :], number[: len(support_pairs)])


def _periods(time: Ids, calendar: Calendar) -> list[Slice]:
    """Slices by month; by year if the calendar spans more than two years; by twelfths for integer times."""
    if calendar.granularity == "integer":
        return _equal_periods(time, calendar)
    labels = [calendar.label(int(tick)) for tick in np.unique(time)]
    by: By = "month"
    if calendar.granularity == "year" or _months(calendar) > _MAX_MONTHS:
        by = "year"
    names, number = np.unique([label[: 4 if by == "year" else 7] for label in labels], return_inverse=True)
    _, tick_index = np.unique(time, return_inverse=True)
    period = number.ravel()[tick_index.ravel()]
    return [Slice(by, str(name), period == i) for i, name in enumerate(names)]


def _months(calendar: Calendar) -> int:
    first, last = calendar.label(0), calendar.label(calendar.span - 1)
    return 12 * (int(last[:4]) - int(first[:4])) + int(last[5:7] or 12) - int(first[5:7] or 1) + 1


def _equal_periods(time: Ids, calendar: Calendar) -> list[Slice]:
    bounds = np.unique(np.linspace(0, calendar.span, _PERIODS + 1).astype(np.int64))
    found = []
    for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        name = calendar.label(first) if end == first + 1 else f"{calendar.label(first)}–{calendar.label(end - 1)}"
        found.append(Slice("period", name, (time >= first) & (time < end)))
    return found
