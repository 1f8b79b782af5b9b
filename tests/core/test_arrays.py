"""Ragged rows and groups."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.core.arrays import Groups, batches, spans

numbers = st.lists(st.integers(-3, 6), max_size=25)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=12))
def test_spans_enumerate_ranges_in_order(ranges):
    row, position = spans(*(np.array(column, np.int64) for column in (list(zip(*ranges, strict=True)) or [[], []])))
    expected = [(i, start + k) for i, (start, count) in enumerate(ranges) for k in range(count)]
    assert list(zip(row, position, strict=True)) == expected


@given(numbers, numbers)
def test_group_members_are_elements_with_equal_keys_in_order(keys, wanted):
    row, element = Groups.of(np.array(keys, np.int64)).members(np.array(wanted, np.int64))
    expected = [(i, j) for i, key in enumerate(wanted) for j, other in enumerate(keys) if other == key]
    assert list(zip(row, element, strict=True)) == expected


@given(numbers, st.integers(-4, 7), st.integers(-4, 7))
def test_between_counts_keys_from_low_up_to_high(keys, low, high):
    low, high = sorted((low, high))
    groups = Groups.of(np.array(keys, np.int64))
    start, count = groups.between(np.array([low]), np.array([high]))
    found = groups.keys[start[0] : start[0] + count[0]].tolist()
    assert found == sorted(key for key in keys if low <= key < high)


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 20))
def test_batches_cover_all_rows_within_the_budget(cost, budget):
    parts = list(batches(np.array(cost, np.int64), budget))
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(len(cost)))
    for part in parts:
        assert part.stop - part.start == 1 or sum(cost[part]) <= budget
