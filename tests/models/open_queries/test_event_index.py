"""Counts of events by relation, as known before a tick."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.open_queries.event_index import EventIndex

A, B, A_INVERSE, B_INVERSE = range(4)
RELATIONS = RelationIds(2)
FACTS = Quadruples.from_rows([(0, A, 1, 1), (0, B, 2, 2), (3, A, 1, 2), (3, B, 2, 4), (4, A, 2, 5)])
ENTITIES = 6


@pytest.fixture(scope="module")
def index() -> EventIndex:
    return EventIndex.from_graph(TemporalGraph.from_facts(FACTS, ENTITIES, RELATIONS))


@pytest.mark.parametrize(
    ("before", "since", "expected"),
    [
        (4, None, [2, 1]),
        (4, 2, [1, 1]),
        (5, None, [2, 2]),
        (6, None, [3, 2]),
        (100, None, [3, 2]),
        (1, None, [0, 0]),
        (-3, None, [0, 0]),
        (4, 9, [0, 0]),
    ],
)
def test_popularity_counts_facts_between_two_ticks(
    index: EventIndex, before: int, since: int | None, expected: list[int]
) -> None:
    assert index.popularity(before, since).tolist() == expected * 2


def test_successors_are_later_facts_of_the_same_entity(index: EventIndex) -> None:
    assert index.successors(A, 4).tolist() == [0, 1, 0, 0]  # entity 0: a at 1, b at 2
    assert index.successors(A, 5).tolist() == [0, 2, 0, 0]  # entity 3: a at 2, b at 4
    assert index.successors(A_INVERSE, 5).tolist() == [0, 0, 1, 0]  # entity 1 was the object at 1 and at 2
    # Entity 2 was the object of b at 2 and 4 and of a at 5: one place later, and two places later.
    assert index.successors(B_INVERSE, 6).tolist() == [0, 0, 2, 1]


def test_relations_around_are_seen_from_the_other_entities(index: EventIndex) -> None:
    assert index.relations_around(1, 2).tolist() == [1, 0, 0, 0]
    assert index.relations_around(1, 5).tolist() == [2, 0, 0, 0]
    assert index.relations_around(0, 5).tolist() == [0, 0, 1, 1]
    assert index.relations_around(ENTITIES + 3, 5).tolist() == [0, 0, 0, 0], "an entity that only new facts mention"


def test_graph_without_facts_has_no_counts() -> None:
    empty = EventIndex.from_graph(TemporalGraph.from_facts(Quadruples.empty(), ENTITIES, RELATIONS))
    assert not empty.popularity(10).any()
    assert not empty.successors(A, 10).any()
    assert not np.any(empty.relations_around(1, 10))
