"""Compiled loop that collects the latest edges of many nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import read_only
from fitcarl.core.compiled import array_function
from fitcarl.graph.kernels import EdgeColumns, visible_edges


class RecentEdges(NamedTuple):
    """Edges of the given nodes, node by node, latest first."""

    row: NDArray[np.int64]
    """int64 [edges]: the position of the node among the given ones."""
    relation: NDArray[np.int64]
    target: NDArray[np.int64]
    time: NDArray[np.int64]


def recent_edges(
    edges: EdgeColumns,
    query: NDArray[np.int64],
    node: NDArray[np.int64],
    excluded: NDArray[np.int64],
    before: NDArray[np.int64],
    limit: int,
) -> RecentEdges:
    """The latest ``limit`` edges of every node strictly before a tick, without those to ``excluded`` or to itself.

    ``query`` [nodes] is the query of each node in its batch.
    """
    found: RecentEdges = _recent_edges(
        edges, read_only(query), read_only(node), read_only(excluded), read_only(before), limit
    )
    return found


@array_function()
def _recent_edges(
    edges: EdgeColumns,
    query: NDArray[np.int64],
    node: NDArray[np.int64],
    excluded: NDArray[np.int64],
    before: NDArray[np.int64],
    limit: int,
) -> RecentEdges:
    size = len(node) * limit
    row, relation = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    target, time = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    count = 0
    for i in range(len(node)):
        low, high = visible_edges(edges, query[i], node[i], before[i])
        found = 0
        for a in range(high - 1, low - 1, -1):
            if edges.target[a] in (excluded[i], node[i]):
                continue
            row[count], relation[count] = i, edges.relation[a]
            target[count], time[count] = edges.target[a], edges.time[a]
            count += 1
            found += 1
            if found == limit:
                break
    return RecentEdges(row[:count], relation[:count], target[:count], time[:count])
