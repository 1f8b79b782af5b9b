"""The event index without a few edges, from the index with them: nothing is sorted again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fitcarl.core.arrays import Positions
from fitcarl.core.compiled import array_function
from fitcarl.data.quadruples import Quadruples
from fitcarl.graph.kernels import lower_bound, lower_bounds
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.models.plus.event_index import entity_columns
from fitcarl.models.plus.kernels import Ints, Longs
from fitcarl.tasks.task import NO_LIMIT

_MAX_REMOVED = 10_000
"""Edges up to which they are removed one by one."""


def removed_edges(complete: Adjacency, reduced: Adjacency) -> Quadruples | None:
    """The edges that one graph has and another has not; None if the other has further edges, or lacks many.

    Args:
        complete: The graph with the edges.
        reduced: The graph without them.
    """
    if len(complete.offsets) != len(reduced.offsets) or len(complete) - len(reduced) > _MAX_REMOVED:
        return None
    missing = np.diff(complete.offsets) - np.diff(reduced.offsets)
    if missing.min(initial=0) < 0:
        return None
    found: list[Positions] = []
    for entity in np.flatnonzero(missing).tolist():
        segment = slice(int(complete.offsets[entity]), int(complete.offsets[entity + 1]))
        kept = slice(int(reduced.offsets[entity]), int(reduced.offsets[entity + 1]))
        rows, others = (_rows(part, place) for part, place in ((complete, segment), (reduced, kept)))
        found.append(segment.start + np.flatnonzero([row not in others for row in rows]))
    position = np.concatenate([np.empty(0, np.int64), *found])
    columns = ((complete.relation, reduced.relation), (complete.target, reduced.target), (complete.time, reduced.time))
    if any(not np.array_equal(np.delete(one, position), other) for one, other in columns):
        return None
    return complete.edges(position)


def reduced_index(index: Mapping[str, Any], removed: Quadruples, graph: TemporalGraph) -> dict[str, Any]:
    """The fields of ``EVENT_INDEX`` of a graph without some edges. A pair without edges stays, with no times.

    Args:
        index: The fields of the graph with the edges.
        removed: The edges, each of which is in the index.
        graph: The graph without them.
    """
    pair, position = object_positions(index, removed, np.zeros(len(removed), dtype=np.int64))
    counts = np.bincount(pair, minlength=len(index["object_entity"]))
    offsets = index["object_offsets"] - np.concatenate([[0], np.cumsum(counts)])
    times = np.delete(index["object_times"], position)
    bounds, first = index["relation_offsets"], index["object_first"].copy()
    for relation in np.unique(removed.relation).tolist():
        low, high = int(bounds[relation]), int(bounds[relation + 1])
        start, end = offsets[low:high], offsets[low + 1 : high + 1]
        known = np.full(high - low, NO_LIMIT, dtype=np.int32)
        known[start < end] = times[start[start < end]]
        first[low:high] = np.sort(known)
    columns = {name: index[name] for name in ("event_time", "event_source", "event_relation", "event_target")}
    edges = removed.subject, removed.relation, removed.object, removed.time
    events = find_events(**columns, **dict(zip(("source", "relation", "target", "time"), edges, strict=True)))
    return {
        "object_entity": index["object_entity"],
        "object_offsets": offsets,
        "object_times": times,
        "relation_offsets": bounds,
        "object_first": first,
        **_relation_events(index, removed, pair),
        **entity_columns(graph),
        **{name: np.delete(column, events) for name, column in columns.items()},
    }


def object_positions(index: Mapping[str, Any], edges: Quadruples, query: Positions) -> tuple[Positions, Positions]:
    """The pair (r, o) of each edge, and its position in ``object_times``.

    Args:
        index: The fields of ``EVENT_INDEX``.
        edges: Edges that are in the index.
        query: int64 [edges]; equal times of a pair take different positions within a query.
    """
    bounds = index["relation_offsets"]
    low, high = bounds[edges.relation], bounds[edges.relation + 1]
    pair = lower_bounds(index["object_entity"], low, high, edges.object.astype(np.int64))
    position = _first_positions(index["object_offsets"], index["object_times"], pair, edges.time)
    return pair, position + _occurrence(query, pair, edges.time)


def _relation_events(index: Mapping[str, Any], removed: Quadruples, pair: Positions) -> dict[str, Any]:
    offsets, pairs, times = (index[f"relation_event_{name}"] for name in ("offsets", "pair", "time"))
    indexed = offsets[removed.relation] < offsets[removed.relation + 1]
    relation, pair, time = removed.relation[indexed], pair[indexed], removed.time[indexed]
    nth = _occurrence(np.zeros(len(pair), dtype=np.int64), pair, time)
    position = _find_relation_events(offsets, pairs, times, relation, pair, time, nth)
    counts = np.bincount(relation, minlength=len(offsets) - 1)
    return {
        "relation_event_offsets": offsets - np.concatenate([[0], np.cumsum(counts)]),
        "relation_event_pair": np.delete(pairs, position),
        "relation_event_time": np.delete(times, position),
    }


def _occurrence(query: Positions, pair: Positions, time: Ints) -> Positions:
    """int64 [edges]: how many earlier ones have the same query, pair and time."""
    order = np.lexsort((time, pair, query))
    one, two, three = query[order], pair[order], time[order]
    same = np.zeros(len(order), dtype=np.bool_)
    same[1:] = (one[1:] == one[:-1]) & (two[1:] == two[:-1]) & (three[1:] == three[:-1])
    start = np.flatnonzero(~same)
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.arange(len(order)) - np.repeat(start, np.diff(np.append(start, len(order))))
    return found


def _rows(adjacency: Adjacency, place: slice) -> list[tuple[int, int, int]]:
    columns = adjacency.relation[place], adjacency.target[place], adjacency.time[place]
    return list(zip(*(column.tolist() for column in columns), strict=True))


@array_function()
def _first_positions(offsets: Longs, times: Ints, group: Longs, time: Ints) -> Positions:
    """int64 [times given]: the first position of a time in its group, whose times ascend."""
    out = np.empty(len(group), dtype=np.int64)
    for i in range(len(group)):
        out[i] = lower_bound(times, offsets[group[i]], offsets[group[i] + 1], time[i])
    return out


@array_function()
def _find_relation_events(
    offsets: Longs, pairs: Ints, times: Ints, relation: Ints, pair: Longs, time: Ints, nth: Longs
) -> Positions:
    """int64 [edges]: the position of the n-th event of a pair at a time among the events of its relation."""
    out = np.empty(len(pair), dtype=np.int64)
    for i in range(len(pair)):
        a = lower_bound(times, offsets[relation[i]], offsets[relation[i] + 1], time[i])
        left = nth[i]
        while pairs[a] != pair[i] or left > 0:
            left -= pairs[a] == pair[i]
            a += 1
        out[i] = a
    return out


@array_function()
def find_events(
    event_time: Ints,
    event_source: Ints,
    event_relation: Ints,
    event_target: Ints,
    source: Ints,
    relation: Ints,
    target: Ints,
    time: Ints,
) -> Positions:
    """int64 [edges]: the position of each edge among the events, which are sorted by time only; -1 if it is none."""
    out = np.full(len(time), -1, dtype=np.int64)
    for i in range(len(time)):
        a = lower_bound(event_time, 0, len(event_time), time[i])
        while a < len(event_time) and event_time[a] == time[i]:
            if event_source[a] == source[i] and event_relation[a] == relation[i] and event_target[a] == target[i]:
                out[i] = a
                break
            a += 1
    return out
