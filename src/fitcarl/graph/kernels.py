"""The compiled loops of the graph room: sorting edges, and choosing a node's actions. No Python objects in here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

ADAPTIVE, NEAREST, RANDOM = 0, 1, 2

_NO_BAR = 0x7FFFFFFFFFFFFFFF
_BUFFER_PER_ACTION = 4  # a larger buffer means fewer selections, a smaller one fewer cache lines


@njit(cache=True, nogil=True)
def inverse_relation(relation: int, directed_count: int) -> int:
    """The inverse of a relation among ``directed_count`` = 2R directed ones: ``RelationIds.inverse`` for kernels."""
    half = directed_count // 2
    return relation + half if relation < half else relation - half


@njit(cache=True, nogil=True)
def lower_bound(values: NDArray[np.integer[Any]], low: int, high: int, value: int) -> int:
    """The first position in the ascending ``values[low:high]`` that is not below ``value``; ``high`` if none is."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def stable_order(keys: NDArray[np.int32], order: NDArray[np.uint32], buckets: int) -> NDArray[np.uint32]:
    """``order`` sorted stably by ``keys[order]`` in [0, buckets): one pass of a radix sort."""
    start = np.zeros(buckets + 1, dtype=np.int64)
    for key in keys:
        start[key + 1] += 1
    for bucket in range(buckets):
        start[bucket + 1] += start[bucket]
    out = np.empty_like(order)
    for item in order:
        bucket = keys[item]
        out[start[bucket]] = item
        start[bucket] += 1
    return out


@njit(cache=True, nogil=True)
def find_edges(
    offsets: NDArray[np.int64],
    relation: NDArray[np.int32],
    target: NDArray[np.int32],
    time: NDArray[np.int32],
    source: NDArray[np.int32],
    wanted_relation: NDArray[np.int32],
    wanted_target: NDArray[np.int32],
    wanted_time: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Position of each wanted edge in a sorted adjacency, or -1: a binary search within its source's segment."""
    found = np.full(len(source), -1, dtype=np.int64)
    for i in range(len(source)):
        low, high = offsets[source[i]], offsets[source[i] + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            before = time[middle] < wanted_time[i]
            if time[middle] == wanted_time[i]:
                before = relation[middle] < wanted_relation[i]
                if relation[middle] == wanted_relation[i]:
                    before = target[middle] < wanted_target[i]
            if before:
                low = middle + 1
            else:
                high = middle
        if (
            low < end
            and time[low] == wanted_time[i]
            and relation[low] == wanted_relation[i]
            and target[low] == wanted_target[i]
        ):
            found[i] = low
    return found


@njit(cache=True, nogil=True)
def keep_smallest(keys: NDArray[np.int64], count: int, wanted: int) -> int:
    """Moves the ``wanted`` smallest of ``keys[:count]`` to the front and returns the largest of them (quickselect)."""
    low, high, place = 0, count - 1, wanted - 1
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < keys[low]:
            keys[middle], keys[low] = keys[low], keys[middle]
        if keys[high] < keys[low]:
            keys[high], keys[low] = keys[low], keys[high]
        if keys[high] < keys[middle]:
            keys[high], keys[middle] = keys[middle], keys[high]
        pivot = keys[middle]
        left, right = low, high
        while left <= right:
            while keys[left] < pivot:
                left += 1
            while keys[right] > pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if place <= right:
            high = right
        elif place >= left:
            low = left
        else:
            break
    return keys[place]


@njit(cache=True, nogil=True)
def _mixed(a: np.uint64, b: np.uint64) -> np.uint64:
    """A well-spread 64-bit hash of two words."""
    x = a ^ (b * np.uint64(0x9E3779B97F4A7C15))
    x ^= x >> np.uint64(32)
    x *= np.uint64(0xD6E8FEB86659FD93)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xA0761D6478BD642F)
    return x ^ (x >> np.uint64(32))


@njit(cache=True, nogil=True)
def _offer(
    mode: int,
    keys: NDArray[np.int64],
    count: int,
    bar: int,
    wanted: int,
    times: NDArray[np.int32],
    low: int,
    high: int,
    first_position: int,
    rank: NDArray[np.int32],
    shift: int,
    now: int,
    salt: np.uint64,
) -> tuple[int, int]:
    """Offers the edges ``low:high`` of a segment to the buffer of smallest keys; returns its fill and its bar.

    A key is (how good, position), so no two are equal and ties fall the same way every time: the earlier position
    wins. What is not below the bar can not be among the ``wanted`` best and is passed over.
    """
    for i in range(low, high):
        position = first_position + (i - low)
        if mode == ADAPTIVE:
            goodness = np.int64(rank[shift - times[i]])
        elif mode == NEAREST:
            goodness = np.int64(abs(times[i] - now))
        else:
            goodness = np.int64(_mixed(salt, np.uint64(position)) >> np.uint64(33))
        key = (goodness << 32) | position
        if key < bar:
            keys[count] = key
            count += 1
            if count == len(keys):
                bar = keep_smallest(keys, count, wanted)
                count = wanted
    return count, bar


@njit(cache=True, nogil=True)
def select_actions(
    mode: int,
    size: int,
    entity: NDArray[np.int32],
    current_time: NDArray[np.int32],
    query_time: NDArray[np.int32],
    rank: NDArray[np.int32],
    max_delta: int,
    seed: int,
    base_offsets: NDArray[np.int64],
    base_relation: NDArray[np.int32],
    base_target: NDArray[np.int32],
    base_time: NDArray[np.int32],
    over_offsets: NDArray[np.int64],
    over_relation: NDArray[np.int32],
    over_target: NDArray[np.int32],
    over_time: NDArray[np.int32],
    out_relation: NDArray[np.int32],
    out_entity: NDArray[np.int32],
    out_time: NDArray[np.int32],
    out_edge: NDArray[np.int64],
) -> None:
    """Writes the best ``size`` edges of every state, best first, into columns 1.. of the outputs (edge -1 elsewhere).

    ``rank[Δt + max_delta]`` is the place of the time difference Δt = t_q - t among all of them, the best being 0.
    """
    keys = np.empty(_BUFFER_PER_ACTION * size + 1, dtype=np.int64)
    all_base = len(base_time)
    for state in range(len(entity)):
        node = entity[state]
        low, high = base_offsets[node], base_offsets[node + 1]
        over_low, over_high = over_offsets[node], over_offsets[node + 1]
        salt = _mixed(
            _mixed(np.uint64(seed), np.uint64(node)),
            (np.uint64(np.uint32(query_time[state])) << np.uint64(32)) | np.uint64(np.uint32(current_time[state])),
        )
        shift = query_time[state] + max_delta
        now = current_time[state]
        bar = _NO_BAR
        count, bar = _offer(mode, keys, 0, bar, size, base_time, low, high, 0, rank, shift, now, salt)
        count, bar = _offer(
            mode, keys, count, bar, size, over_time, over_low, over_high, high - low, rank, shift, now, salt
        )
        if count > size:
            keep_smallest(keys, count, size)
            count = size
        keys[:count].sort()
        for column in range(count):
            position = keys[column] & 0xFFFFFFFF
            if position < high - low:
                edge = low + position
                out_relation[state, column + 1] = base_relation[edge]
                out_entity[state, column + 1] = base_target[edge]
                out_time[state, column + 1] = base_time[edge]
                out_edge[state, column + 1] = edge
            else:
                edge = over_low + position - (high - low)
                out_relation[state, column + 1] = over_relation[edge]
                out_entity[state, column + 1] = over_target[edge]
                out_time[state, column + 1] = over_time[edge]
                out_edge[state, column + 1] = all_base + edge
