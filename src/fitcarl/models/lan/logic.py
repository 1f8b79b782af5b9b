"""The logic attention: how strongly one relation of an entity implies another, counted on a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function
from fitcarl.graph.temporal import TemporalGraph

_ENTITIES = 4096
"""Entities counted at once, which bounds memory."""


def implication_table(graph: TemporalGraph) -> NDArray[np.float32]:
    """P(x ⇒ y), float32 [2R, 2R]: the share of the entities with relation x that also have y; 1 on the diagonal.

    An entity has a relation if at least one of its edges has it; how many edges and when does not matter.
    """
    relations, base = graph.relations.directed, graph.base
    both = np.zeros((relations, relations), dtype=np.float32)
    for first in range(0, graph.entities, _ENTITIES):
        end = min(first + _ENTITIES, graph.entities)
        edges = slice(int(base.offsets[first]), int(base.offsets[end]))
        owner = np.repeat(np.arange(end - first), np.diff(base.offsets[first : end + 1]))
        has = np.zeros((end - first, relations), dtype=np.float32)
        has[owner, base.relation[edges]] = 1
        both += has.T @ has
    table = (both / np.maximum(both.diagonal(), 1)[:, None]).astype(np.float32)
    np.fill_diagonal(table, 1)
    return table


def strongest_rivals(
    offsets: NDArray[np.int64], relation: NDArray[np.int64], table: NDArray[np.float32]
) -> NDArray[np.float32]:
    """max of P(r' ⇒ r_j) over the other relations r' ≠ r_j in the row of each element j, float32 [elements].

    Args:
        offsets: int64 [rows + 1].
        relation: int64 [elements] in [0, 2R).
        table: P, float32 [2R, 2R].
    """
    found: NDArray[np.float32] = _strongest_rivals(offsets, relation, table)
    return found


@array_function()
def _strongest_rivals(
    offsets: NDArray[np.int64], relation: NDArray[np.int64], table: NDArray[np.float32]
) -> NDArray[np.float32]:
    strongest = np.zeros(len(relation), dtype=np.float32)
    last_row = np.full(len(table), -1, dtype=np.int64)
    best = np.zeros(len(table), dtype=np.float32)
    distinct = np.empty(len(table), dtype=np.int64)
    for row in range(len(offsets) - 1):
        count = 0
        for j in range(offsets[row], offsets[row + 1]):
            if last_row[relation[j]] != row:
                last_row[relation[j]] = row
                distinct[count] = relation[j]
                count += 1
        for i in range(count):
            best[distinct[i]] = 0
            for k in range(count):
                if k != i:
                    best[distinct[i]] = max(best[distinct[i]], table[distinct[k], distinct[i]])
        for j in range(offsets[row], offsets[row + 1]):
            strongest[j] = best[relation[j]]
    return strongest
