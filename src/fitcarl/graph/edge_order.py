"""Edges sorted by entity, then time, relation and target.

Edges are distributed to their entities and then sorted within each entity, where they fit in the CPU caches. A radix
sort by one column after the other moves every edge through the whole memory several times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions, offsets_of, read_only
from fitcarl.core.compiled import array_function
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.core.sorting import sort_range
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.kernels import stable_order

_KEY_BITS = 63
_LONG = 4096
"""Edges of an entity from which on numpy sorts them: its time does not depend on their order."""
_MIN_ENTITIES = 1000
"""Entities per thread below which a thread costs more than it saves."""


class _Columns(NamedTuple):
    relation: Ids
    target: Ids
    moment: Ids


def sorted_edges(
    edges: Quadruples, moment: Ids, entities: int, directed: int, moments: int
) -> tuple[Positions, Ids, Ids, Ids]:
    """Offsets of the entities, and relations, targets and moments of their edges.

    Args:
        edges: The edges in any order; all ids are in range.
        moment: int32 [edges], the rank of the time of each edge.
        entities: Number of entities.
        directed: Number of directed relations, 2R.
        moments: Number of ranks.
    """
    offsets = offsets_of(np.bincount(edges.subject, minlength=entities))
    bits = tuple(max(count - 1, 1).bit_length() for count in (moments, directed, entities))
    if sum(bits) > _KEY_BITS:
        return offsets, *_by_radix_sort(edges, moment, entities, directed, moments)
    keys, start = np.empty(len(edges), dtype=np.int64), offsets[:-1].copy()
    subject, relation, target = read_only(edges.subject), read_only(edges.relation), read_only(edges.object)
    _distribute(subject, relation, target, read_only(moment), bits[1], bits[2], start, keys)
    for entity in np.flatnonzero(np.diff(offsets) > _LONG).tolist():
        keys[offsets[entity] : offsets[entity + 1]].sort()
    found = _Columns(*(np.empty(len(edges), dtype=np.int32) for _ in range(3)))
    ranges = split_range(entities, min_items=_MIN_ENTITIES)
    parallel_for(ranges, lambda _, low, high: _sort_each(low, high, offsets, keys, _LONG, bits[1], bits[2], found))
    return offsets, *found


def _by_radix_sort(edges: Quadruples, moment: Ids, entities: int, directed: int, moments: int) -> tuple[Ids, Ids, Ids]:
    """For edges whose moment, relation and target do not fit in one number."""
    order: NDArray[np.uint32] = np.arange(len(edges), dtype=np.uint32)
    order = stable_order(edges.object, order, entities)
    order = stable_order(edges.relation, order, directed)
    order = stable_order(moment, order, moments)
    order = stable_order(edges.subject, order, entities)
    return edges.relation[order], edges.object[order], moment[order]


@array_function()
def _distribute(
    subject: Ids,
    relation: Ids,
    target: Ids,
    moment: Ids,
    relation_bits: int,
    target_bits: int,
    start: Positions,
    keys: Positions,
) -> None:
    """Writes (moment, relation, target) of every edge as one number among those of its entity."""
    for edge in range(len(subject)):
        key = np.int64(moment[edge]) << relation_bits | relation[edge]
        keys[start[subject[edge]]] = key << target_bits | target[edge]
        start[subject[edge]] += 1


@array_function()
def _sort_each(
    low: int,
    high: int,
    offsets: Positions,
    keys: Positions,
    long: int,
    relation_bits: int,
    target_bits: int,
    found: _Columns,
) -> None:
    """Sorts the numbers of entities low to high, unless there are many, and splits them into columns."""
    for entity in range(low, high):
        first, last = offsets[entity], offsets[entity + 1]
        if 1 < last - first <= long:
            sort_range(keys, first, last)
        for edge in range(first, last):
            found.target[edge] = keys[edge] & (1 << target_bits) - 1
            found.relation[edge] = (keys[edge] >> target_bits) & (1 << relation_bits) - 1
            found.moment[edge] = keys[edge] >> (target_bits + relation_bits)
