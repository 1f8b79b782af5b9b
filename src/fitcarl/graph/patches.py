"""Facts that single queries of a batch do not see: shorter copies of the groups of an index that contain them.

An index keeps the positions of a group (the edges of a node, the times of a pair) together. For every query and every
group with a hidden position, the remaining positions are copied to the end of the index, and a patch tells the query to
read that range instead. A query then reads exactly what it would read if the facts did not exist, and queries with
different hidden facts can be answered in one batch. The cost depends on the size of the groups, and one copy of the
index is made per batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.kernels import PatchColumns
from fitcarl.graph.temporal import Adjacency, TemporalGraph

Positions = NDArray[np.int64]


def hide_facts(graph: TemporalGraph, hidden: Sequence[Quadruples]) -> TemporalGraph:
    """A graph in which query i of a batch does not see the facts ``hidden[i]``.

    Args:
        graph: The graph; facts that it does not contain are ignored.
        hidden: For every query of the batch, facts in their original direction.
    """
    query, edges = directed_edges(hidden, graph)
    base, overlay = (_hide(part, query, edges) for part in (graph.base, graph.overlay))
    return replace(graph, base=base, overlay=overlay)


def directed_edges(hidden: Sequence[Quadruples], graph: TemporalGraph) -> tuple[Positions, Quadruples]:
    """int64 [edges], the query of each hidden edge, and both directions of the hidden facts."""
    both = [facts.both_directions(graph.relations) for facts in hidden]
    query = np.repeat(np.arange(len(hidden)), [len(edges) for edges in both])
    return query, Quadruples.concat(both)


def _hide(adjacency: Adjacency, query: Positions, edges: Quadruples) -> Adjacency:
    position = adjacency.find(edges)
    found = position >= 0
    patches, copied = patch_groups(adjacency.offsets, query[found], edges.subject[found], position[found])
    relation, target, time = (
        np.concatenate([column, column[copied]]) for column in (adjacency.relation, adjacency.target, adjacency.time)
    )
    return replace(adjacency, relation=relation, target=target, time=time, patches=patches)


def patch_groups(
    offsets: Positions, query: Positions, group: Ids | Positions, position: Positions
) -> tuple[PatchColumns, Positions]:
    """Patches without the given positions.

    Args:
        offsets: int64 [groups + 1]: group g has the positions ``offsets[g]:offsets[g + 1]``.
        query: int64 [hidden]: the query that does not see a position.
        group: [hidden]: the group of the position.
        position: int64 [hidden].

    Returns:
        The patches, whose ranges begin at ``offsets[-1]``, and the positions to copy there, in order.
    """
    groups = len(offsets) - 1
    rows = np.unique(np.stack([query * groups + group, position], axis=1), axis=0)
    key, first = np.unique(rows[:, 0], return_index=True)
    owner = key % groups if groups else key
    hidden = np.diff(np.append(first, len(rows)))
    size = offsets[owner + 1] - offsets[owner] - hidden
    ends = offsets[-1] + np.cumsum(size)
    copied = np.empty(int(size.sum()), dtype=np.int64)
    _copy_others(offsets, owner, np.append(first, len(rows)), np.ascontiguousarray(rows[:, 1]), copied)
    return PatchColumns(key, ends - size, ends), copied


@array_function()
def _copy_others(offsets: Positions, group: Positions, first: Positions, hidden: Positions, out: Positions) -> None:
    """The positions of each group without the hidden ones, which are ascending."""
    count = 0
    for i in range(len(group)):
        skip = first[i]
        for position in range(offsets[group[i]], offsets[group[i] + 1]):
            if skip < first[i + 1] and hidden[skip] == position:
                skip += 1
                continue
            out[count] = position
            count += 1
