"""Compiled sorting, compared with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.core.sorting import keep_smallest, sort_by_score, sort_range


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("count", [0, 1, 2, 16, 17, 40, 1000, 20_000])
@pytest.mark.parametrize("different", [1, 3, 1 << 30])
def test_range_is_sorted_and_the_rest_kept(count: int, different: int, kind: type[np.signedinteger]) -> None:
    values = np.random.default_rng(count).integers(0, different, count + 7).astype(kind)
    expected = np.concatenate([values[:3], np.sort(values[3 : count + 3]), values[count + 3 :]])
    sort_range(values, 3, count + 3)
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("shape", ["ascending", "descending", "pipe"])
def test_sorted_and_reversed_ranges_are_sorted(shape: str) -> None:
    up = np.arange(50_000)
    values = {"ascending": up, "descending": up[::-1].copy(), "pipe": np.concatenate([up, up[::-1]])}[shape]
    expected = np.sort(values)
    sort_range(values, 0, len(values))
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 500])
def test_positions_are_sorted_by_score_then_position(count: int) -> None:
    random = np.random.default_rng(count)
    score = random.integers(0, 20, 600).astype(np.float64)
    order = random.permutation(600)
    chosen = np.sort(order[:count])
    rest = order[count:].copy()
    sort_by_score(order, count, score)
    assert order[:count].tolist() == chosen[np.argsort(-score[chosen], kind="stable")].tolist()
    assert np.array_equal(order[count:], rest)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("different", [1, 3, 1 << 30])
@pytest.mark.parametrize(("count", "size"), [(1, 1), (2, 1), (2, 2), (50, 7), (50, 50), (5000, 1234)])
def test_smallest_values_are_moved_to_the_front(count: int, size: int, different: int, kind: type[np.number]) -> None:
    values = np.random.default_rng(count).integers(0, different, count + 9).astype(kind)
    expected, rest = np.sort(values[:count]), values[count:].copy()
    assert keep_smallest(values, count, size) == expected[size - 1]
    assert np.array_equal(np.sort(values[:size]), expected[:size])
    assert np.array_equal(np.sort(values[size:count]), expected[size:])
    assert np.array_equal(values[count:], rest)
