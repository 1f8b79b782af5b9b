"""Which facts speak for an actor: those nearest in time to the question, never more than a certain number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.graph.temporal import Adjacency, TemporalGraph

MOST_FACTS = 50
"""Facts of an actor that a question looks at; a newcomer rarely has more, an old hand may have thousands."""


def supports(graph: TemporalGraph, actors: Sequence[tuple[int, int]]) -> MetaSet:
    """The facts that speak for each of (actor, tick), actor after actor."""
    parts = [nearest_facts(graph, actor, tick) for actor, tick in actors]
    owner = np.repeat([actor for actor, _ in actors], [len(part) for part in parts]).astype(np.int32)
    return MetaSet(owner, Quadruples.concat(parts))


def nearest_facts(graph: TemporalGraph, actor: int, tick: int) -> Quadruples:
    """An actor's facts nearest in time to a tick, in their real direction, by time."""
    edges = Quadruples.concat([edges_of(graph.base, actor), edges_of(graph.overlay, actor)])
    rows = np.unique(
        edges.in_real_direction(graph.relations).rows(), axis=0
    )  # a deed to oneself is both an edge and its inverse
    rows = rows[np.lexsort((rows[:, 2], rows[:, 0], rows[:, 1], rows[:, 3]))]
    near = np.argsort(np.abs(rows[:, 3].astype(np.int64) - tick), kind="stable")[:MOST_FACTS]
    return Quadruples.from_rows(rows[np.sort(near)])


def edges_of(adjacency: Adjacency, entity: int) -> Quadruples:
    """The directed edges that leave an entity."""
    part = slice(int(adjacency.offsets[entity]), int(adjacency.offsets[entity + 1]))
    source = np.full(part.stop - part.start, entity, dtype=np.int32)
    return Quadruples(source, adjacency.relation[part], adjacency.target[part], adjacency.time[part])
