"""The event index without a few edges equals the index of the graph without them, apart from empty pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.event_index import event_index
from fitcarl.models.plus.reduced_index import reduced_index, removed_edges
from fitcarl.tasks.task import NO_LIMIT

ENTITIES, RELATIONS = 5, RelationIds(2)
FACT = st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4), st.integers(0, 3))


def graph_of(facts: list[tuple[int, int, int, int]]) -> TemporalGraph:
    return TemporalGraph.from_facts(Quadruples.from_rows(facts), ENTITIES, RELATIONS)


def contents(index: dict[str, Any]) -> dict[str, Any]:
    """What the index says, regardless of the positions of pairs."""
    offsets, bounds = index["object_offsets"], index["relation_offsets"]
    times = {}
    for relation in range(RELATIONS.directed):
        for pair in range(bounds[relation], bounds[relation + 1]):
            if offsets[pair] < offsets[pair + 1]:
                key = relation, int(index["object_entity"][pair])
                times[key] = index["object_times"][offsets[pair] : offsets[pair + 1]].tolist()
    events = []
    for relation in range(RELATIONS.directed):
        part = slice(*index["relation_event_offsets"][relation : relation + 2])
        entity = index["object_entity"][index["relation_event_pair"][part]]
        events.append(sorted(zip(entity.tolist(), index["relation_event_time"][part].tolist(), strict=True)))
    first = [
        [time for time in index["object_first"][bounds[r] : bounds[r + 1]].tolist() if time < NO_LIMIT]
        for r in range(RELATIONS.directed)
    ]
    columns = {name: index[name].tolist() for name in ("degree", "first_time")}
    by_time = sorted(
        zip(*(index[f"event_{name}"].tolist() for name in ("time", "source", "relation", "target")), strict=True)
    )
    return {"times": times, "events": events, "first": first, "by_time": by_time, **columns}


@given(st.lists(FACT, min_size=1, max_size=25, unique=True), st.data())
def test_reduced_index_equals_a_new_one(facts: list[tuple[int, int, int, int]], data: st.DataObject) -> None:
    removed = data.draw(st.lists(st.sampled_from(facts), unique=True, max_size=5))
    complete, reduced = graph_of(facts), graph_of([fact for fact in facts if fact not in removed])
    edges = removed_edges(complete.base, reduced.base)
    assert edges is not None
    assert len(edges) == len(complete.base) - len(reduced.base)
    found = reduced_index(event_index(complete, 0), edges, reduced)
    assert contents(found) == contents(event_index(reduced, 0))
    assert np.all(np.diff(found["event_time"]) >= 0)


def test_a_graph_with_other_edges_is_not_a_reduced_one() -> None:
    assert removed_edges(graph_of([(0, 0, 1, 0)]).base, graph_of([(0, 0, 1, 1)]).base) is None
    assert removed_edges(graph_of([(0, 0, 1, 0)]).base, graph_of([(2, 0, 3, 0)]).base) is None
