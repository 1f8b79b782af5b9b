"""Selection of the support facts of an entity: the facts nearest in time to the query, up to a maximum number."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples, Row
from fitcarl.graph.kernels import visible_edges
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.models.support import SupportFacts
from fitcarl.tasks.task import NO_LIMIT, Queries

MAX_SUPPORT = 50
"""Maximum number of support facts per entity. New entities rarely have more; known ones may have thousands."""


def supports(graph: TemporalGraph, entities: Sequence[tuple[int, int]], before: int = NO_LIMIT) -> MetaSet:
    """The support facts of each pair (entity, tick), in order; only facts strictly before ``before`` are used."""
    parts = [nearest_facts(graph, entity, tick, before) for entity, tick in entities]
    owner = np.repeat([entity for entity, _ in entities], [len(part) for part in parts]).astype(np.int32)
    return MetaSet(owner, Quadruples.concat(parts))


def supports_of_queries(graph: TemporalGraph, queries: Queries) -> SupportFacts:
    """The support facts of each query; queries of an entity that see the same facts share one lookup."""
    found: dict[tuple[int, ...], Quadruples] = {}
    rows = []
    visible = [part.count_before(queries.entity, queries.visible_before) for part in (graph.base, graph.overlay)]
    columns = np.stack([queries.entity, queries.time, queries.visible_before, *visible], axis=1)
    for entity, tick, before, *counts in columns.tolist():
        # The nearest facts are the latest ones unless the query sees facts at or after its own time.
        key = entity, *counts, tick if before > tick else -1
        if key not in found:
            facts = nearest_facts(graph, entity, tick, before)
            found[key] = facts.seen_from(np.full(len(facts), entity, dtype=np.int32), graph.relations)
        rows.append(found[key])
    return SupportFacts.from_rows(rows)


def nearest_facts(
    graph: TemporalGraph,
    entity: int,
    tick: int,
    before: int = NO_LIMIT,
    hidden: Collection[Row] = (),
) -> Quadruples:
    """Facts of an entity nearest in time to a tick, in their original direction, ordered by time.

    Args:
        graph: The graph.
        entity: The entity.
        tick: The time to be near to.
        before: Only facts strictly before this tick are used.
        hidden: Facts that are left out.
    """
    edges = Quadruples.concat([edges_of(part, entity, before) for part in (graph.base, graph.overlay)])
    # A fact whose subject is its object is found twice: as an edge and as its inverse.
    rows = np.unique(edges.in_real_direction(graph.relations).rows(), axis=0)
    if hidden:
        rows = rows[[tuple(row) not in hidden for row in rows.tolist()]]
    rows = rows[np.lexsort((rows[:, 2], rows[:, 0], rows[:, 1], rows[:, 3]))]
    near = np.argsort(np.abs(rows[:, 3].astype(np.int64) - tick), kind="stable")[:MAX_SUPPORT]
    return Quadruples.from_rows(rows[np.sort(near)])


def edges_of(adjacency: Adjacency, entity: int, before: int = NO_LIMIT) -> Quadruples:
    """The outgoing directed edges of an entity, strictly before a tick."""
    low, high = visible_edges(adjacency.columns, 0, entity, before)
    part = slice(int(low), int(high))
    source = np.full(part.stop - part.start, entity, dtype=np.int32)
    return Quadruples(source, adjacency.relation[part], adjacency.target[part], adjacency.time[part])
