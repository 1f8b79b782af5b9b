"""Compiled passes over the edges of a graph that put them in the orders of the event index.

Every pass reads edges in order and appends each to one of a few sequences, so that memory is read and written in order
too, however large the graph is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function
from fitcarl.core.sorting import sort_range
from fitcarl.data.quadruples import Ids
from fitcarl.graph.kernels import EdgeColumns
from fitcarl.models.plus.kernels import Ints, Longs


@array_function()
def distribute_by_relation(edges: EdgeColumns, inverse: Ints, moment: Ints, start: Longs) -> tuple[Ids, Ids]:
    """Objects and moments of all edges, sorted by relation, object and time.

    Args:
        edges: The edges, sorted by entity, then time; both directions of every fact.
        inverse: int32 [2R]: the inverse of every relation.
        moment: int32 [edges]: the rank of the time of each edge.
        start: int64 [2R]: the position of the first edge of every relation; changed.
    """
    objects, moments = np.empty(len(moment), dtype=np.int32), np.empty(len(moment), dtype=np.int32)
    for entity in range(len(edges.offsets) - 1):
        for edge in range(edges.offsets[entity], edges.offsets[entity + 1]):
            relation = inverse[edges.relation[edge]]
            objects[start[relation]], moments[start[relation]] = entity, moment[edge]
            start[relation] += 1
    return objects, moments


@array_function()
def find_pairs(starts: Longs, objects: Ints) -> tuple[Longs, Longs]:
    """The pairs (r, o) of sorted edges.

    Args:
        starts: int64 [2R + 1]: the edges of every relation.
        objects: int32 [edges], ascending within a relation.

    Returns:
        int64 [2R + 1], the pairs of every relation, and int64 [pairs + 1], the edges of every pair.
    """
    relation_offsets, count = np.zeros_like(starts), 0
    for relation in range(len(starts) - 1):
        for edge in range(starts[relation], starts[relation + 1]):
            count += edge == starts[relation] or objects[edge] != objects[edge - 1]
        relation_offsets[relation + 1] = count
    offsets, count = np.empty(count + 1, dtype=np.int64), 0
    for relation in range(len(starts) - 1):
        for edge in range(starts[relation], starts[relation + 1]):
            if edge == starts[relation] or objects[edge] != objects[edge - 1]:
                offsets[count] = edge
                count += 1
    offsets[count] = len(objects)
    return relation_offsets, offsets


@array_function()
def events_by_relation(
    chosen: NDArray[np.bool_], starts: Longs, event_offsets: Longs, pair_offsets: Longs, moment: Ints, moments: int
) -> tuple[Ids, Ids]:
    """Pairs and moments of the edges of some relations, sorted by relation and time.

    Args:
        chosen: bool [2R]: the relations.
        starts: int64 [2R + 1]: the edges of every relation, sorted by object and time.
        event_offsets: int64 [2R + 1]: the events of every relation; none of others than the chosen ones.
        pair_offsets: int64 [pairs + 1]: the edges of every pair.
        moment: int32 [edges].
        moments: Number of ranks of times.
    """
    pairs, found = np.empty(event_offsets[-1], dtype=np.int32), np.empty(event_offsets[-1], dtype=np.int32)
    place, pair = np.empty(moments + 1, dtype=np.int64), 0
    for relation in range(len(chosen)):
        if not chosen[relation]:
            continue
        place[:] = 0
        for edge in range(starts[relation], starts[relation + 1]):
            place[moment[edge] + 1] += 1
        place[0] = event_offsets[relation]
        for rank in range(moments):
            place[rank + 1] += place[rank]
        while pair_offsets[pair] < starts[relation]:
            pair += 1
        for edge in range(starts[relation], starts[relation + 1]):
            if edge == pair_offsets[pair + 1]:
                pair += 1
            event = place[moment[edge]]
            pairs[event], found[event] = pair, moment[edge]
            place[moment[edge]] += 1
    return pairs, found


@array_function()
def edges_by_pair(edges: EdgeColumns) -> tuple[Longs, Ids, Ids]:
    """Edges by pair of entities, then time, without edges from an entity to itself, whose inverses are such edges too.

    Args:
        edges: The edges, sorted by entity, then time.

    Returns:
        int64 [pairs + 1], the edges of every pair, and their relations and times.
    """
    offsets, relation, time = np.empty(len(edges.time) + 1, dtype=np.int64), edges.relation.copy(), edges.time.copy()
    pairs, count, longest = 0, 0, 0
    for entity in range(len(edges.offsets) - 1):
        longest = max(longest, edges.offsets[entity + 1] - edges.offsets[entity])
    keys = np.empty(longest, dtype=np.int64)
    for entity in range(len(edges.offsets) - 1):
        low, used = edges.offsets[entity], 0
        for edge in range(low, edges.offsets[entity + 1]):
            if edges.target[edge] != entity:
                keys[used] = np.int64(edges.target[edge]) << 32 | edge - low
                used += 1
        sort_range(keys, 0, used)
        for i in range(used):
            if i == 0 or keys[i] >> 32 != keys[i - 1] >> 32:
                offsets[pairs] = count
                pairs += 1
            edge = low + (keys[i] & 0xFFFFFFFF)
            relation[count], time[count] = edges.relation[edge], edges.time[edge]
            count += 1
    offsets[pairs] = count
    return offsets[: pairs + 1], relation[:count], time[:count]


@array_function()
def distribute_by_time(edges: EdgeColumns, moment: Ints, moments: int) -> tuple[Ids, Ids, Ids, Ids]:
    """Moments, sources, relations and targets of all edges, sorted by time; edges of a time keep their order.

    Args:
        edges: The edges.
        moment: int32 [edges]: the rank of the time of each edge.
        moments: Number of ranks.
    """
    place = np.zeros(moments + 1, dtype=np.int64)
    for rank in moment:
        place[rank + 1] += 1
    for rank in range(moments):
        place[rank + 1] += place[rank]
    ranks, sources = np.empty(len(moment), dtype=np.int32), np.empty(len(moment), dtype=np.int32)
    relations, targets = np.empty(len(moment), dtype=np.int32), np.empty(len(moment), dtype=np.int32)
    for entity in range(len(edges.offsets) - 1):
        for edge in range(edges.offsets[entity], edges.offsets[entity + 1]):
            event = place[moment[edge]]
            ranks[event], sources[event] = moment[edge], entity
            relations[event], targets[event] = edges.relation[edge], edges.target[edge]
            place[moment[edge]] += 1
    return ranks, sources, relations, targets
