"""Compiled loops over the temporal graph: sorting and finding edges, and selecting the actions of a state.

These loops do not check bounds: callers validate ids and times first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function, loop
from fitcarl.core.sorting import keep_smallest, sort_range
from fitcarl.graph.edge_hash import Key, edge_hash

ADAPTIVE, NEAREST, RANDOM = 0, 1, 2

_NO_BOUND = 0x7FFFFFFFFFFFFFFF
_BUFFER_PER_ACTION = 4  # a larger buffer means fewer selections, a smaller one fewer cache lines


class PatchColumns(NamedTuple):
    """Ranges that replace those of a group for single queries; see ``graph/patches.py``."""

    key: NDArray[np.int64]
    """int64 [patches], ascending: query * groups + group."""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """int64 [patches]: the range that the query reads instead is ``low:high``."""


_NO_INTEGERS = np.empty(0, dtype=np.int64)
NO_PATCHES = PatchColumns(_NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS)


class EdgeColumns(NamedTuple):
    """The columns of an ``Adjacency``."""

    offsets: NDArray[np.int64]
    relation: NDArray[np.int32]
    target: NDArray[np.int32]
    time: NDArray[np.int32]
    patches: PatchColumns
    """Nodes whose edges are others for single queries of the batch; empty unless facts are left out for a query."""


class StateColumns(NamedTuple):
    """States of the search, int32 [states] each."""

    entity: NDArray[np.int32]
    current_time: NDArray[np.int32]
    query_time: NDArray[np.int32]
    visible_before: NDArray[np.int32]
    """Only edges strictly before this tick are actions."""
    query: NDArray[np.int64]
    """int64 [states]: the query of the batch that a state belongs to; only patches depend on it."""


class SamplingRule(NamedTuple):
    """How edges are ranked; fields that the mode does not use are ignored."""

    mode: int
    """ADAPTIVE, NEAREST or RANDOM."""
    rank: NDArray[np.int32]
    """ADAPTIVE: ``rank[Δt + max_delta]`` is the rank of Δt = t_q - t among all time differences; 0 is the best."""
    max_delta: int
    seed: int
    """RANDOM: seed of the hash that orders the edges."""


class ActionColumns(NamedTuple):
    """Output of ``select_actions``, [states, width] each."""

    relation: NDArray[np.int32]
    entity: NDArray[np.int32]
    time: NDArray[np.int32]
    edge: NDArray[np.int64]


@loop(inner=True)
def inverse_relation(relation: int, directed_count: int) -> int:
    """The inverse of a relation among ``directed_count`` = 2R directed ones: ``RelationIds.inverse`` for kernels."""
    half = directed_count // 2
    return relation + half if relation < half else relation - half


@loop(inner=True)
def lower_bound(values: NDArray[np.integer[Any]], low: int, high: int, value: int) -> int:
    """The first position in the ascending ``values[low:high]`` that is not below ``value``; ``high`` if none is."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@array_function()
def lower_bounds(
    values: NDArray[np.int32], low: NDArray[np.int64], high: NDArray[np.int64], value: NDArray[np.int64]
) -> NDArray[np.int64]:
    """int64 [bounds]: ``lower_bound`` of each value in its range."""
    out = np.empty(len(value), dtype=np.int64)
    for i in range(len(value)):
        out[i] = lower_bound(values, low[i], high[i], value[i])
    return out


@loop(inner=True)
def patched_range(patches: PatchColumns, query: int, group: int, groups: int, low: int, high: int) -> tuple[int, int]:
    """The range of a group that a query reads: its patch if there is one, otherwise ``low:high``."""
    if len(patches.key) > 0:
        key = query * groups + group
        place = lower_bound(patches.key, 0, len(patches.key), key)
        if place < len(patches.key) and patches.key[place] == key:
            return patches.low[place], patches.high[place]
    return low, high


@loop()
def visible_edges(edges: EdgeColumns, query: int, node: int, before: int) -> tuple[int, int]:
    """The range of a node's edges strictly before a tick; edges of a node are sorted by time.

    ``query`` is the position of the query in its batch: facts may be left out for it (see ``PatchColumns``).
    """
    low, high = edges.offsets[node], edges.offsets[node + 1]
    low, high = patched_range(edges.patches, query, node, len(edges.offsets) - 1, low, high)
    if low < high and edges.time[high - 1] >= before:
        high = lower_bound(edges.time, low, high, before)
    return low, high


@array_function()
def count_visible(
    edges: EdgeColumns, query: NDArray[np.int64], node: NDArray[np.int32], before: NDArray[np.int32]
) -> NDArray[np.int64]:
    """int64 [nodes given]: the number of edges of each node strictly before a tick, as its query sees them."""
    count = np.empty(len(node), dtype=np.int64)
    for i in range(len(node)):
        low, high = visible_edges(edges, query[i], node[i], before[i])
        count[i] = high - low
    return count


@array_function()
def stable_order(keys: NDArray[np.int32], order: NDArray[np.uint32], buckets: int) -> NDArray[np.uint32]:
    """``order`` sorted stably by ``keys[order]``, which are in [0, buckets): one pass of a radix sort."""
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


@array_function()
def find_edges(
    edges: EdgeColumns,
    source: NDArray[np.int32],
    relation: NDArray[np.int32],
    target: NDArray[np.int32],
    time: NDArray[np.int32],
) -> NDArray[np.int64]:
    """int64 [wanted]: the position of each wanted edge, or -1; binary search by (time, relation, target) per source."""
    found = np.full(len(source), -1, dtype=np.int64)
    for i in range(len(source)):
        low, high = edges.offsets[source[i]], edges.offsets[source[i] + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            before = edges.time[middle] < time[i]
            if edges.time[middle] == time[i]:
                before = edges.relation[middle] < relation[i]
                if edges.relation[middle] == relation[i]:
                    before = edges.target[middle] < target[i]
            if before:
                low = middle + 1
            else:
                high = middle
        same_key = low < end and edges.time[low] == time[i] and edges.relation[low] == relation[i]
        if same_key and edges.target[low] == target[i]:
            found[i] = low
    return found


@loop(inner=True)
def _hash(a: np.uint64, b: np.uint64) -> np.uint64:
    """A 64-bit hash of two words."""
    x = a ^ (b * np.uint64(0x9E3779B97F4A7C15))
    x ^= x >> np.uint64(32)
    x *= np.uint64(0xD6E8FEB86659FD93)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xA0761D6478BD642F)
    return x ^ (x >> np.uint64(32))


@loop(inner=True)
def _state_hash(seed: int, states: StateColumns, state: int) -> np.uint64:
    """Depends on the state only, so that a state has the same random actions in every batch."""
    times = np.uint64(np.uint32(states.query_time[state])) << np.uint64(32)
    times |= np.uint64(np.uint32(states.current_time[state]))
    return _hash(_hash(np.uint64(seed), np.uint64(states.entity[state])), times)


@loop(inner=True)
def _push_edges(
    keys: NDArray[np.int64],
    count: int,
    bound: int,
    size: int,
    times: NDArray[np.int32],
    first_position: int,
    rule: SamplingRule,
    query_time: int,
    current_time: int,
    state_hash: np.uint64,
) -> tuple[int, int]:
    """Pushes the edges with these ``times`` into the buffer of smallest keys; returns its fill count and its bound.

    A key is (rank, position): no two are equal, and among equal ranks the lower position wins. A key that is not below
    the bound cannot be among the ``size`` smallest.
    """
    shift = query_time + rule.max_delta
    for i in range(len(times)):
        position = first_position + i
        if rule.mode == ADAPTIVE:
            rank = np.int64(rule.rank[shift - times[i]])
        elif rule.mode == NEAREST:
            rank = np.int64(abs(times[i] - current_time))
        else:
            rank = np.int64(_hash(state_hash, np.uint64(position)) >> np.uint64(33))
        key = (rank << 32) | position
        if key < bound:
            keys[count] = key
            count += 1
            if count == len(keys):
                bound = keep_smallest(keys, count, size)
                count = size
    return count, bound


@loop(inner=True)
def _write_action(
    out: ActionColumns, state: int, column: int, edges: EdgeColumns, edge: int, first_number: int
) -> None:
    out.relation[state, column] = edges.relation[edge]
    out.entity[state, column] = edges.target[edge]
    out.time[state, column] = edges.time[edge]
    out.edge[state, column] = first_number + edge


@array_function()
def select_actions(
    size: int, states: StateColumns, rule: SamplingRule, base: EdgeColumns, overlay: EdgeColumns, out: ActionColumns
) -> None:
    """Writes the ``size`` best edges of every state, best first, into columns 1 and up of ``out``."""
    keys = np.empty(_BUFFER_PER_ACTION * size + 1, dtype=np.int64)
    for state in range(len(states.entity)):
        node = states.entity[state]
        query, before = states.query[state], states.visible_before[state]
        low, high = visible_edges(base, query, node, before)
        over_low, over_high = visible_edges(overlay, query, node, before)
        about = (rule, states.query_time[state], states.current_time[state], _state_hash(rule.seed, states, state))
        count, bound = _push_edges(keys, 0, _NO_BOUND, size, base.time[low:high], 0, *about)
        count, bound = _push_edges(keys, count, bound, size, overlay.time[over_low:over_high], high - low, *about)
        if count > size:
            keep_smallest(keys, count, size)
            count = size
        sort_range(keys, 0, count)
        for column in range(count):
            position = keys[column] & 0xFFFFFFFF
            if position < high - low:
                _write_action(out, state, column + 1, base, low + position, 0)
            else:
                _write_action(out, state, column + 1, overlay, over_low + position - (high - low), len(base.time))


@array_function()
def edges_in_order(
    offsets: NDArray[np.int64],
    relation: NDArray[np.int32],
    target: NDArray[np.int32],
    time: NDArray[np.int32],
    relations: int,
    key: Key,
) -> tuple[int, bool]:
    """The number of leading edges that are sorted by source, time, relation and target, and whether every edge has its
    inverse, if all are sorted; offsets must be valid.

    ``relations`` is R.
    """
    difference = np.uint64(0)
    for source in range(len(offsets) - 1):
        for i in range(offsets[source], offsets[source + 1]):
            if relation[i] < relations:
                difference += edge_hash(source, relation[i], target[i], time[i], key)
            else:
                difference -= edge_hash(target[i], relation[i] - relations, source, time[i], key)
            if i == offsets[source]:
                continue
            later = time[i] - time[i - 1]
            if later == 0:
                later = relation[i] - relation[i - 1]
            if later == 0:
                later = target[i] - target[i - 1]
            if later < 0:
                return i, False
    return len(time), difference == 0
