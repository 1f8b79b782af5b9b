"""The event index of model ``plus``: times by (relation, object), events by relation and time, and events by time.

It is a pure function of the edges. Pairs (r, o) are sorted by relation, then object; a position among them identifies a
pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.kernels import stable_order
from fitcarl.graph.temporal import TemporalGraph, order_by_time
from fitcarl.tasks.task import NO_LIMIT

EVENT_INDEX = (
    *("object_entity", "object_offsets", "object_times", "relation_offsets", "object_first"),
    *("relation_event_offsets", "relation_event_pair", "relation_event_time"),
    *("degree", "first_time", "event_time", "event_source", "event_relation", "event_target"),
)
"""Fields of GraphStatistics that index the edges of a graph."""
MAX_OBJECTS = 4096
"""Objects of a relation that a query visits one by one. Of relations with more, it visits the most frequent objects and
those of the nearest events."""
FREQUENT_OBJECTS = 1024
"""Most frequent objects of a relation that are kept."""


def event_index(graph: TemporalGraph, max_objects: int = MAX_OBJECTS) -> dict[str, Any]:
    """The fields of ``EVENT_INDEX``; see GraphStatistics.

    Args:
        graph: The graph.
        max_objects: Relations with more objects get an index of their events by time.
    """
    edges, entities, directed = graph.base.edges(), graph.entities, graph.relations.directed
    by_time = order_by_time(edges.time)
    order = stable_order(edges.relation, stable_order(edges.object, by_time, entities), directed)
    starts = _pair_starts(edges.relation[order], edges.object[order])
    relation_of_pair = edges.relation[order][starts]
    object_offsets = np.append(starts, len(order)).astype(np.int64)
    object_times = edges.time[order]
    relation_offsets = np.searchsorted(relation_of_pair, np.arange(directed + 1)).astype(np.int64)
    pair_first = object_times[starts]
    by_first = stable_order(relation_of_pair, order_by_time(pair_first), directed)
    return {
        "object_entity": edges.object[order][starts],
        "object_offsets": object_offsets,
        "object_times": object_times,
        "relation_offsets": relation_offsets,
        "object_first": pair_first[by_first],
        **_relation_events(edges, order, by_time, object_offsets, relation_offsets, max_objects),
        **entity_columns(graph),
        **_columns(edges, by_time),
    }


def entity_columns(graph: TemporalGraph) -> dict[str, Ids]:
    """``degree`` and ``first_time``."""
    base, degree = graph.base, np.diff(graph.base.offsets)
    first_time = np.full(graph.entities, NO_LIMIT, dtype=np.int32)
    first_time[degree > 0] = base.time[base.offsets[:-1][degree > 0]]  # edges are sorted by time
    return {"degree": degree.astype(np.int32), "first_time": first_time}


def events_by_time(graph: TemporalGraph) -> dict[str, Ids]:
    """Only the events by time."""
    edges = graph.base.edges()
    return _columns(edges, order_by_time(edges.time))


def _columns(edges: Quadruples, order: NDArray[np.uint32]) -> dict[str, Ids]:
    columns = {"time": edges.time, "source": edges.subject, "relation": edges.relation, "target": edges.object}
    return {f"event_{name}": column[order] for name, column in columns.items()}


def frequent_objects(index: dict[str, Any]) -> tuple[NDArray[np.int64], Ids]:
    """The most frequent objects of each relation with more than ``FREQUENT_OBJECTS`` of them.

    Returns:
        int64 [2R + 1], and int32 [objects]: those of relation r are ``objects[offsets[r]:offsets[r + 1]]``.
    """
    bounds, counts = index["relation_offsets"], np.diff(index["object_offsets"])
    found: list[Ids] = []
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if high - low > FREQUENT_OBJECTS:
            most = np.argpartition(-counts[low:high], FREQUENT_OBJECTS)[:FREQUENT_OBJECTS]
            found.append(index["object_entity"][low:high][np.sort(most)])
        else:
            found.append(np.empty(0, dtype=np.int32))
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in found])]).astype(np.int64)
    return offsets, np.concatenate([np.empty(0, dtype=np.int32), *found])


def _relation_events(
    edges: Quadruples,
    order: NDArray[np.uint32],
    by_time: NDArray[np.uint32],
    object_offsets: NDArray[np.int64],
    relation_offsets: NDArray[np.int64],
    max_objects: int,
) -> dict[str, Any]:
    """Events by relation, then time, with the positions of their pairs; only of relations with many objects."""
    relation, large = edges.relation, np.diff(relation_offsets) > max_objects
    directed = len(large)
    counts = np.where(large, np.diff(object_offsets[relation_offsets]), 0)
    pair = np.empty(len(order), dtype=np.int32)
    if large.any():
        pair[order] = np.repeat(np.arange(len(object_offsets) - 1, dtype=np.int32), np.diff(object_offsets))
    chosen = stable_order(relation, by_time, directed) if large.any() else by_time[:0]
    chosen = chosen[large[relation[chosen]]]
    return {
        "relation_event_offsets": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "relation_event_pair": pair[chosen],
        "relation_event_time": edges.time[chosen],
    }


def _pair_starts(relation: Ids, object: Ids) -> NDArray[np.int64]:
    """The position of the first edge of each pair (r, o); edges are sorted by them."""
    first = np.ones(len(relation), dtype=np.bool_)
    first[1:] = (relation[1:] != relation[:-1]) | (object[1:] != object[:-1])
    return np.flatnonzero(first)
