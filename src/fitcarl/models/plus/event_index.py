"""The event index of model ``plus``: times by (relation, object), events by relation and time, and events by time.

It is a pure function of the edges. Pairs (r, o) are sorted by relation, then object; a position among them identifies a
pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of, read_only
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph, dense_times
from fitcarl.models.plus.event_order import (
    distribute_by_relation,
    distribute_by_time,
    events_by_relation,
    find_pairs,
)
from fitcarl.tasks.task import NO_LIMIT

EVENT_ARRAYS = ("event_time", "event_source", "event_relation", "event_target")
"""Fields of GraphStatistics with the edges by time."""
EVENT_INDEX = (
    *("object_entity", "object_offsets", "object_times", "relation_offsets", "object_first"),
    *("relation_event_offsets", "relation_event_pair", "relation_event_time"),
    *("degree", "first_time", *EVENT_ARRAYS),
)
"""Fields of GraphStatistics that index the edges of a graph."""
MAX_OBJECTS = 4096
"""Objects of a relation that a query visits one by one. Of relations with more, it visits the most frequent objects and
those of the nearest events."""
FREQUENT_OBJECTS = 1024
"""Most frequent objects of a relation that are kept."""


def event_index(graph: TemporalGraph, max_objects: int = MAX_OBJECTS) -> dict[str, Any]:
    """The fields of ``EVENT_INDEX``; see GraphStatistics.

    Every edge (s, r, o, t) is also stored as (o, r⁻¹, s, t), and edges are sorted by entity, then time. Read in this
    order as edges to o, they only have to be distributed by relation to be sorted by relation, object and time.

    Args:
        graph: The graph.
        max_objects: Relations with more objects get an index of their events by time.
    """
    base, directed = graph.base, graph.relations.directed
    inverse = graph.relations.inverse(np.arange(directed, dtype=np.int32)).astype(np.int32)
    moment, times = dense_times(base.time)
    starts = offsets_of(np.bincount(inverse[base.relation], minlength=directed))
    objects, moments = distribute_by_relation(base.columns, inverse, read_only(moment), starts[:-1].copy())
    relation_offsets, object_offsets = find_pairs(starts, objects)
    first = times[moments[object_offsets[:-1]]]
    for relation in range(directed):
        first[relation_offsets[relation] : relation_offsets[relation + 1]].sort()
    large = np.diff(relation_offsets) > max_objects
    event_offsets = offsets_of(np.where(large, np.diff(starts), 0))
    pair, event_moment = events_by_relation(large, starts, event_offsets, object_offsets, moments, len(times))
    return {
        "object_entity": objects[object_offsets[:-1]],
        "object_offsets": object_offsets,
        "object_times": times[moments],
        "relation_offsets": relation_offsets,
        "object_first": first,
        "relation_event_offsets": event_offsets,
        "relation_event_pair": pair,
        "relation_event_time": times[event_moment],
        **entity_columns(graph),
        **_by_time(graph, moment, times),
    }


def entity_columns(graph: TemporalGraph) -> dict[str, Ids]:
    """``degree`` and ``first_time``."""
    base, degree = graph.base, np.diff(graph.base.offsets)
    first_time = np.full(graph.entities, NO_LIMIT, dtype=np.int32)
    first_time[degree > 0] = base.time[base.offsets[:-1][degree > 0]]  # edges are sorted by time
    return {"degree": degree.astype(np.int32), "first_time": first_time}


def events_by_time(graph: TemporalGraph) -> dict[str, Ids]:
    """Only the events by time."""
    return _by_time(graph, *dense_times(graph.base.time))


def _by_time(graph: TemporalGraph, moment: Ids, times: Ids) -> dict[str, Ids]:
    moments, *columns = distribute_by_time(graph.base.columns, read_only(moment), len(times))
    return dict(zip(EVENT_ARRAYS, (times[moments], *columns), strict=True))


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
