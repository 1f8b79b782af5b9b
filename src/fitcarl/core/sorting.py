"""Compiled sorting and selection, in place.

Written out because the sorting functions that numba has for NumPy's take seconds to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function, loop

_SHORT = 16
"""Ranges up to this length are sorted by insertion."""
_STACK = 128
"""Enough for all ranges that wait: each is at most half as long as the one before it."""


@loop(inner=True)
def _insert_each(values: NDArray[Any], low: int, high: int) -> None:
    """Sorts ``values[low:high]`` by insertion."""
    for i in range(low + 1, high):
        value, j = values[i], i
        while j > low and value < values[j - 1]:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@loop(inner=True)
def _partition(values: NDArray[Any], low: int, high: int) -> tuple[int, int]:
    """Moves small values of ``values[low:high]`` to the front: no value before ``left`` is above one after ``right``.

    Returns ``right + 1`` and ``left``: the ends of the two ranges that remain to be sorted.
    """
    left, right = low, high - 1
    middle = (left + right) // 2
    if values[middle] < values[left]:
        values[middle], values[left] = values[left], values[middle]
    if values[right] < values[left]:
        values[right], values[left] = values[left], values[right]
    if values[right] < values[middle]:
        values[right], values[middle] = values[middle], values[right]
    pivot = values[middle]
    while left <= right:
        while values[left] < pivot:
            left += 1
        while values[right] > pivot:
            right -= 1
        if left <= right:
            values[left], values[right] = values[right], values[left]
            left += 1
            right -= 1
    return right + 1, left


@array_function(inner=True)
def sort_range(values: NDArray[Any], low: int, high: int) -> None:
    """Sorts ``values[low:high]`` ascending (quicksort): integers, or floats without NaN, which has no place."""
    if high - low <= _SHORT:
        _insert_each(values, low, high)
        return
    waiting = np.empty(_STACK, dtype=np.int64)
    count = 0
    while True:
        while high - low > _SHORT:
            end, start = _partition(values, low, high)
            if end - low < high - start:  # the longer range waits
                waiting[count], waiting[count + 1] = start, high
                high = end
            else:
                waiting[count], waiting[count + 1] = low, end
                low = start
            count += 2
        _insert_each(values, low, high)
        if count == 0:
            return
        count -= 2
        low, high = waiting[count], waiting[count + 1]


@loop(inner=True)
def keep_smallest(values: NDArray[Any], count: int, size: int) -> Any:
    """Moves the ``size`` smallest of ``values[:count]`` to the front and returns the largest of them (quickselect)."""
    low, high = 0, count
    while high - low > 1:
        end, start = _partition(values, low, high)
        if size <= end:
            high = end
        elif size > start:
            low = start
        else:
            break
    return values[size - 1]


@loop(inner=True)
def _sift_down(order: NDArray[np.int64], start: int, count: int, score: NDArray[np.floating[Any]]) -> None:
    """Moves ``order[start]`` down in a heap of which the first element is the last one in the order wanted."""
    moved, parent = order[start], start
    while 2 * parent + 1 < count:
        child = 2 * parent + 1
        if child + 1 < count and _is_later(order[child + 1], order[child], score):
            child += 1
        if not _is_later(order[child], moved, score):
            break
        order[parent] = order[child]
        parent = child
    order[parent] = moved


@loop(inner=True)
def _is_later(one: int, other: int, score: NDArray[np.floating[Any]]) -> bool:
    """Whether a position has a lower score than another, or the same score and is higher."""
    return score[one] < score[other] or (score[one] == score[other] and one > other)


@loop(inner=True)
def sort_by_score(order: NDArray[np.int64], count: int, score: NDArray[np.floating[Any]]) -> None:
    """Sorts the positions ``order[:count]`` by their scores, highest first; of equal scores the lower position."""
    for start in range(count // 2 - 1, -1, -1):
        _sift_down(order, start, count, score)
    for end in range(count - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sift_down(order, 0, end, score)
