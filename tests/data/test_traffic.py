"""The last busy time, quantiles and outliers, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.traffic import find_outliers, last_busy_tick, quantile_ticks


def test_stray_year_2844_is_not_busy() -> None:
    # 100 facts a year from 1830 to 2018 and one in 2844: a window is 4 years (a fiftieth of 151) with 400 facts at
    # typical traffic, so a busy one has at least 8.
    years = np.append(np.repeat(np.arange(1830, 2019), 100), 2844)
    assert last_busy_tick(years) == 2018
    assert last_busy_tick(years - 1830) == 2018 - 1830


@pytest.mark.parametrize(("late", "expected"), [(7, 2018), (8, 2500), (9, 2500)])
def test_window_with_two_percent_of_typical_traffic_is_busy(late: int, expected: int) -> None:
    years = np.concatenate([np.repeat(np.arange(1830, 2019), 100), [2500] * late])
    assert last_busy_tick(years) == expected


def test_last_tick_is_busy_in_regular_traffic() -> None:
    assert last_busy_tick(np.repeat(np.arange(365), 50)) == 364


def test_fading_traffic_is_busy_to_the_end() -> None:
    # A tail with a twentieth of the typical traffic is thin, but not stray.
    assert last_busy_tick(np.concatenate([np.repeat(np.arange(300), 40), np.repeat(np.arange(300, 330), 2)])) == 329


def test_few_facts_have_a_long_window() -> None:
    # One fact per tick from 1 to 10: a window has 100 ticks, and two facts make it busy.
    assert last_busy_tick([*range(1, 11), 1000]) == 10
    assert last_busy_tick([*range(1, 11), 60]) == 60


def test_single_fact_is_the_last_busy_tick() -> None:
    assert last_busy_tick([7]) == 7


@given(st.lists(st.integers(0, 300), min_size=1, max_size=60))
def test_last_busy_tick_is_the_tick_of_a_fact_in_any_order(times: list[int]) -> None:
    found = last_busy_tick(times)
    assert found in times
    assert last_busy_tick(times[::-1]) == found
    assert last_busy_tick(np.array(times) + 1000) == found + 1000


def test_quantiles_are_ticks_of_facts() -> None:
    assert quantile_ticks(np.arange(101)) == (1, 50, 99)
    assert quantile_ticks([5]) == (5, 5, 5)


def test_outliers_are_counted_on_both_sides() -> None:
    # With one stray fact on either side, the quantiles of 0 … 1000 are 9 and 991; half of the time between is 491.
    found = find_outliers([*range(1001), 9 - 491 - 1, 991 + 491 + 1])
    assert (found.before, found.after, found.distance) == (1, 1, 491)
    found = find_outliers([*range(1001), 9 - 491, 991 + 491])
    assert (found.before, found.after) == (0, 0)
    assert find_outliers(np.arange(100)).before == find_outliers(np.arange(100)).after == 0
