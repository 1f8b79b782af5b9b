"""Hidden facts: every query of a batch reads what it would read on a graph without them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.actions import Nearest, action_space
from fitcarl.graph.kernels import visible_edges
from fitcarl.graph.patches import hide_facts
from fitcarl.graph.temporal import Adjacency, TemporalGraph

RELATIONS, ENTITIES, TICKS = RelationIds(2), 5, 6
Row = tuple[int, int, int, int]
rows = st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4), st.integers(0, TICKS - 1))
facts = st.lists(rows, min_size=1, max_size=25, unique=True)


def edges_of(adjacency: Adjacency, query: int, node: int, before: int) -> list[tuple[int, int, int]]:
    low, high = visible_edges(adjacency.columns, query, node, before)
    part = slice(int(low), int(high))
    return list(zip(adjacency.relation[part], adjacency.target[part], adjacency.time[part], strict=True))


@given(facts, facts, st.data())
def test_queries_see_the_graph_without_their_hidden_facts(
    base: list[Row], more: list[Row], data: st.DataObject
) -> None:
    graph = TemporalGraph.from_facts(Quadruples.from_rows(base), ENTITIES, RELATIONS)
    graph = graph.with_facts(Quadruples.from_rows(more))
    hidden = data.draw(st.lists(st.lists(st.sampled_from([*base, *more]), max_size=6), min_size=1, max_size=4))
    patched = hide_facts(graph, [Quadruples.from_rows(sorted(part)) for part in hidden])
    for query, part in enumerate(hidden):
        kept = TemporalGraph.from_facts(
            Quadruples.from_rows([row for row in base if row not in part]), ENTITIES, RELATIONS
        ).with_facts(Quadruples.from_rows([row for row in more if row not in [*part, *base]]))
        for node in range(ENTITIES):
            for before in (2, TICKS):
                for seen, plain in ((patched.base, kept.base), (patched.overlay, kept.overlay)):
                    assert edges_of(seen, query, node, before) == edges_of(plain, 0, node, before)
        nodes = np.arange(ENTITIES)
        times = np.full(ENTITIES, 3)
        spaces = [
            action_space(one, nodes, times, times, Nearest(), 4, query=np.full(ENTITIES, number))
            for one, number in ((patched, query), (kept, 0))
        ]
        for name in ("relation", "entity", "time", "mask"):
            assert np.array_equal(*(getattr(space, name) for space in spaces))


def test_queries_without_hidden_facts_and_the_original_graph_are_unchanged() -> None:
    graph = TemporalGraph.from_facts(Quadruples.from_rows([(0, 0, 1, 1), (0, 1, 2, 2)]), ENTITIES, RELATIONS)
    patched = hide_facts(graph, [Quadruples.empty(), Quadruples.from_rows([(0, 0, 1, 1)])])
    assert edges_of(patched.base, 0, 0, TICKS) == edges_of(graph.base, 0, 0, TICKS) == [(0, 1, 1), (1, 2, 2)]
    assert edges_of(patched.base, 1, 0, TICKS) == [(1, 2, 2)]
    assert edges_of(patched.base, 1, 1, TICKS) == []
    assert len(graph.base) == 4
