"""Slices of the queries."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.data.calendar import Calendar, Granularity
from fitcarl.data.relations import RelationIds
from fitcarl.evaluation.slices import answer_in_support, slices
from fitcarl.tasks.task import Task
from tests.evaluation.reference import meta_set, queries_of

RELATIONS = RelationIds(2)
SUPPORT = meta_set([(9, 9, 0, 1, 0), (9, 2, 0, 9, 3), (8, 8, 1, 3, 4), (8, 7, 0, 8, 4)])
DAYS = Calendar.of_granules("day", np.arange(16071, 16071 + 365))


def sliced(times: list[int], calendar: Calendar) -> dict[tuple[str, str], list[bool]]:
    queries = queries_of([(9, i % 4, i % 3, time) for i, time in enumerate(times)])
    found = slices(Task(SUPPORT, queries), RELATIONS, calendar)
    return {(part.by, part.value): part.mask.tolist() for part in found}


def test_answer_in_support_ignores_direction():
    queries = queries_of([(9, 0, 1, 7), (9, 3, 2, 7), (9, 0, 3, 7), (8, 0, 3, 7), (8, 0, 1, 7), (8, 0, 8, 7)])
    assert answer_in_support(SUPPORT, queries, RELATIONS).tolist() == [True, True, False, True, False, False]


def test_self_loop_in_support_counts_query_entity_as_answer():
    support = meta_set([(9, 9, 0, 9, 0)])
    assert answer_in_support(support, queries_of([(9, 0, 9, 7)]), RELATIONS).tolist() == [True]


def test_direction_follows_the_relation():
    found = sliced([0, 0, 0, 0], DAYS)
    assert found["direction", "forward"] == [True, True, False, False]
    assert found["direction", "inverse"] == [False, False, True, True]


def test_days_of_one_year_are_sliced_by_month():
    found = sliced([0, 30, 31, 364], DAYS)
    assert found["month", "2014-01"] == [True, True, False, False]
    assert found["month", "2014-02"] == [False, False, True, False]
    assert found["month", "2014-12"] == [False, False, False, True]
    assert ("month", "2014-03") not in found


@pytest.mark.parametrize(
    ("granularity", "granules", "by"),
    [
        ("day", range(16071, 16071 + 730), "month"),
        ("day", range(16071, 16071 + 800), "year"),
        ("hour", range(16071 * 24, 16071 * 24 + 800, 5), "month"),
        ("month", range(2014 * 12, 2014 * 12 + 24), "month"),
        ("month", range(2014 * 12, 2014 * 12 + 25), "year"),
        ("year", range(2014, 2016), "year"),
        ("integer", range(100), "period"),
    ],
)
def test_long_calendars_are_sliced_by_year_and_integers_by_twelfths(granularity: Granularity, granules, by):
    calendar = Calendar.of_granules(granularity, list(granules))
    times = calendar.ticks.tolist()
    found = sliced(times, calendar)
    masks = np.array([mask for (kind, _), mask in found.items() if kind == by])
    np.testing.assert_array_equal(masks.sum(axis=0), 1)
    assert {kind for kind, _ in found} == {"answer", "direction", by}
    if by == "period":
        assert len(masks) == 12
        assert ("period", "0–7") in found


def test_few_integer_times_have_one_slice_each():
    found = sliced([0, 1, 2], Calendar.of_granules("integer", [4, 5, 6]))
    assert [value for by, value in found if by == "period"] == ["4", "5", "6"]
