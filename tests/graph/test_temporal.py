from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import Adjacency, TemporalGraph

ENTITIES, RELATIONS = 6, RelationIds(3)
FACTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5), st.integers(-4, 9)), max_size=40, unique=True
)


def graph_of(facts: list[tuple[int, int, int, int]]) -> TemporalGraph:
    return TemporalGraph.from_facts(Quadruples.from_rows(facts), ENTITIES, RELATIONS)


def snapshot(adjacency: Adjacency) -> list[bytes]:
    return [column.tobytes() for column in (adjacency.offsets, adjacency.relation, adjacency.target, adjacency.time)]


@given(FACTS)
def test_graph_stores_exactly_both_directions_of_every_fact(facts: list[tuple[int, int, int, int]]) -> None:
    stored = list(graph_of(facts).base.edges())
    expected = [(s, r, o, t) for s, r, o, t in facts] + [(o, r + 3, s, t) for s, r, o, t in facts]
    assert sorted(stored) == sorted(expected)


@given(FACTS)
def test_edges_of_a_relation_are_found(facts: list[tuple[int, int, int, int]]) -> None:
    base = graph_of(facts).base
    for relation in range(RELATIONS.directed):
        assert base.edges_with(relation).tolist() == np.flatnonzero(base.relation == relation).tolist()


@given(FACTS, st.randoms(use_true_random=False))
def test_order_of_facts_does_not_matter(facts: list[tuple[int, int, int, int]], random: object) -> None:
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert snapshot(graph_of(facts).base) == snapshot(graph_of(shuffled).base)


@given(FACTS)
def test_edges_are_sorted_by_entity_then_time_then_relation_then_target(facts: list[tuple[int, int, int, int]]) -> None:
    keys = [(s, t, r, o) for s, r, o, t in graph_of(facts).base.edges()]
    assert keys == sorted(keys)


@given(FACTS, FACTS)
def test_overlay_does_not_change_the_background(
    facts: list[tuple[int, int, int, int]], support: list[tuple[int, int, int, int]]
) -> None:
    graph = graph_of(facts)
    before = snapshot(graph.base)
    covered = graph.with_facts(Quadruples.from_rows(support))
    assert covered.base is graph.base
    assert snapshot(covered.without_overlay.base) == before
    assert len(covered.without_overlay.overlay) == 0
    assert snapshot(graph.base) == before
    assert len(graph.overlay) == 0


@given(FACTS, FACTS)
def test_graph_with_overlay_has_the_edges_of_the_union(
    facts: list[tuple[int, int, int, int]], support: list[tuple[int, int, int, int]]
) -> None:
    covered = graph_of(facts).with_facts(Quadruples.from_rows(support))
    together = list(covered.base.edges()) + list(covered.overlay.edges())
    union = graph_of(sorted(set(facts) | set(support)))
    assert sorted(together) == sorted(union.base.edges())
    every_entity = np.arange(ENTITIES, dtype=np.int32)
    assert covered.degree(every_entity).tolist() == union.degree(every_entity).tolist()


@given(FACTS, FACTS)
def test_two_overlays_equal_one_overlay_of_all_facts(
    first: list[tuple[int, int, int, int]], second: list[tuple[int, int, int, int]]
) -> None:
    empty = graph_of([])
    twice = empty.with_facts(Quadruples.from_rows(first)).with_facts(Quadruples.from_rows(second))
    once = empty.with_facts(Quadruples.from_rows(sorted(set(first) | set(second))))
    assert snapshot(twice.overlay) == snapshot(once.overlay)


@given(FACTS, FACTS)
def test_contains_finds_edges_of_base_and_overlay(
    facts: list[tuple[int, int, int, int]], lookups: list[tuple[int, int, int, int]]
) -> None:
    graph = graph_of(facts[::2]).with_facts(Quadruples.from_rows(facts[1::2]))
    edges = {(s, r, o, t) for s, r, o, t in facts} | {(o, r + 3, s, t) for s, r, o, t in facts}
    found = graph.contains(Quadruples.from_rows(lookups))
    assert found.tolist() == [fact in edges for fact in lookups]


def test_time_range_covers_base_and_overlay() -> None:
    graph = graph_of([(0, 0, 1, 3), (2, 1, 3, 7)]).with_facts(Quadruples.from_rows([(4, 0, 5, -2)]))
    assert graph.time_range == (-2, 7)


def test_columns_of_different_length_raise() -> None:
    with pytest.raises(ValueError, match="length"):
        Quadruples.of([1], [1], [1], [])


@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("value", [-1, 6, 5_000_000])
def test_out_of_range_id_raises(column: int, value: int) -> None:
    row = [0, 0, 0, 1]
    row[column] = value
    with pytest.raises(ValueError, match=rf"{value} is out of range"):
        Adjacency.from_edges(Quadruples.from_rows([row] * 1000), ENTITIES, RELATIONS)


@pytest.mark.parametrize("subject", [-1, 6, 5_000_000])
def test_finding_edges_of_an_unknown_entity_raises(subject: int) -> None:
    with pytest.raises(ValueError, match=f"subject {subject} is out of range: ids are from 0 to 5"):
        graph_of([(0, 0, 1, 1)]).contains(Quadruples.from_rows([(subject, 0, 1, 1)]))


@given(FACTS, st.lists(st.integers(-(2**31), 2**31 - 1), min_size=14, max_size=14, unique=True).map(sorted))
def test_arbitrarily_distant_times_are_sorted(facts: list[tuple[int, int, int, int]], times: list[int]) -> None:
    far = [(s, r, o, times[t + 4]) for s, r, o, t in facts]
    rows = graph_of(far).base.edges().rows().tolist()
    assert rows == sorted(rows, key=lambda row: (row[0], row[3], row[1], row[2]))
    assert sorted(map(tuple, rows)) == sorted(far + [(o, r + 3, s, t) for s, r, o, t in far])
