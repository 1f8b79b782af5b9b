"""Edges sorted by entity, then time, relation and target.

Edges are distributed to blocks of entities, then within each block to its entities, and sorted within each entity,
where they fit in the CPU caches. Every pass reads memory in order and writes to a few places or within a block. A radix
sort by one column after the other moves every edge through the whole memory several times.
"""

from __future__ import annotations

from collections.abc import Sequence
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
_BLOCK = 1 << 15
"""Edges of a block of entities, about: as numbers they fit in a second-level cache."""
_MIN_BLOCKS = 4
"""Blocks per thread below which a thread costs more than it saves."""


class _Columns(NamedTuple):
    relation: Ids
    target: Ids
    moment: Ids


class _Widths(NamedTuple):
    """Bits of the parts of an edge as one number, the highest first; the source is its place within its block."""

    source: int
    moment: int
    relation: int
    target: int


def sorted_edges(
    parts: Sequence[Quadruples], moment: Ids, entities: int, directed: int, moments: int
) -> tuple[Positions, Ids, Ids, Ids]:
    """Offsets of the entities, and relations, targets and moments of their edges.

    Args:
        parts: The edges in any order, as parts with the same times; all ids are in range.
        moment: int32 [edges of a part], the rank of the time of each edge, the same in all parts.
        entities: Number of entities.
        directed: Number of directed relations, 2R.
        moments: Number of ranks.
    """
    counts = np.zeros(entities, dtype=np.int64)
    for part in parts:
        _count(read_only(part.subject), counts)
    offsets = offsets_of(counts)
    widths = _Widths(_source_bits(entities, int(offsets[-1])), *(_bits(n) for n in (moments, directed, entities)))
    if sum(widths) > _KEY_BITS:
        together = Quadruples.concat(parts)
        return offsets, *_by_radix_sort(together, np.tile(moment, len(parts)), entities, directed, moments)
    keys, start = np.empty(int(offsets[-1]), dtype=np.int64), offsets[:-1][:: 1 << widths.source].copy()
    for part in parts:
        subject, relation, target = read_only(part.subject), read_only(part.relation), read_only(part.object)
        _distribute(subject, relation, target, read_only(moment), widths, start, keys)
    found = _Columns(*(np.empty(len(keys), dtype=np.int32) for _ in range(3)))
    ranges = split_range(len(start), min_items=_MIN_BLOCKS)
    parallel_for(ranges, lambda _, low, high: _sort_blocks(low, high, offsets, keys, _LONG, widths, found))
    for entity in np.flatnonzero(counts > _LONG).tolist():
        first, last = int(offsets[entity]), int(offsets[entity + 1])
        keys[first:last].sort()
        _split(keys, first, last, widths, found)
    return offsets, *found


def _bits(count: int) -> int:
    """Bits of the numbers from 0 to ``count - 1``."""
    return max(count - 1, 1).bit_length()


def _source_bits(entities: int, edges: int) -> int:
    """Bits of the places of entities in a block; blocks of 2 ** bits entities have about ``_BLOCK`` edges."""
    in_block = max(_BLOCK * entities // max(edges, 1), 1)
    return min(in_block.bit_length() - 1, entities.bit_length())


def _by_radix_sort(edges: Quadruples, moment: Ids, entities: int, directed: int, moments: int) -> tuple[Ids, Ids, Ids]:
    """For edges that do not fit in one number."""
    order: NDArray[np.uint32] = np.arange(len(edges), dtype=np.uint32)
    order = stable_order(edges.object, order, entities)
    order = stable_order(edges.relation, order, directed)
    order = stable_order(moment, order, moments)
    order = stable_order(edges.subject, order, entities)
    return edges.relation[order], edges.object[order], moment[order]


@array_function()
def _count(ids: Ids, counts: Positions) -> None:
    """Adds how often each id occurs to ``counts``."""
    for i in range(len(ids)):
        counts[ids[i]] += 1


@array_function()
def _distribute(
    subject: Ids, relation: Ids, target: Ids, moment: Ids, widths: _Widths, start: Positions, keys: Positions
) -> None:
    """Writes (place of the source in its block, moment, relation, target) of every edge as one number to its block."""
    mask = (1 << widths.source) - 1
    for edge in range(len(subject)):
        key = np.int64(subject[edge] & mask) << widths.moment | moment[edge]
        key = key << widths.relation | relation[edge]
        block = subject[edge] >> widths.source
        keys[start[block]] = key << widths.target | target[edge]
        start[block] += 1


@array_function()
def _split(keys: Positions, first: int, last: int, widths: _Widths, found: _Columns) -> None:
    """Splits sorted numbers into columns."""
    for edge in range(first, last):
        found.target[edge] = keys[edge] & (1 << widths.target) - 1
        found.relation[edge] = (keys[edge] >> widths.target) & (1 << widths.relation) - 1
        found.moment[edge] = keys[edge] >> (widths.target + widths.relation)


@array_function()
def _sort_blocks(
    low: int, high: int, offsets: Positions, keys: Positions, long: int, widths: _Widths, found: _Columns
) -> None:
    """Distributes the numbers of blocks low to high to entities, without the source; sorts and splits short ones."""
    size, rest = 1 << widths.source, widths.moment + widths.relation + widths.target
    for block in range(low, high):
        begin, end = block * size, min((block + 1) * size, len(offsets) - 1)
        place = offsets[begin:end].copy()
        for key in keys[offsets[begin] : offsets[end]].copy():
            source = key >> rest
            keys[place[source]] = key & ((1 << rest) - 1)
            place[source] += 1
        for entity in range(begin, end):
            first, last = offsets[entity], offsets[entity + 1]
            if last - first <= long:
                sort_range(keys, first, last)
                _split(keys, first, last, widths, found)
