"""Action spaces of a walk backwards in time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.graph.actions import ActionSpace
from fitcarl.graph.backward import backward_action_space
from fitcarl.graph.temporal import TemporalGraph
from tests.graph.reference import Edge, Fact, out_edges
from tests.graph.test_actions import ENTITIES, FACTS, RELATIONS, SPAN, chosen, two_layer_graph

STATES = np.array(
    [(e, t, now) for e in range(ENTITIES) for now in range(SPAN + 1) for t in range(now + 1)], dtype=np.int32
)
SIZES = st.integers(1, 12)


def spaces(facts: list[Fact], size: int, *, may_stay: bool) -> ActionSpace:
    return backward_action_space(two_layer_graph(facts), *STATES.T, size, may_stay=may_stay)


def visible_edges(facts: list[Fact], entity: int, time: int, now: int) -> list[Edge]:
    """Latest first; equal times by descending relation and target."""
    edges = out_edges(facts, entity, RELATIONS.count)
    visible = [edge for edge in edges if (edge[2] < time if time == now else edge[2] <= time)]
    return sorted(visible, key=lambda edge: (edge[2], edge[0], edge[1]), reverse=True)


@given(FACTS, SIZES, st.booleans())
def test_actions_are_the_latest_visible_edges(facts: list[Fact], size: int, may_stay: bool) -> None:
    space = spaces(facts, size, may_stay=may_stay)
    for row, (entity, time, now) in enumerate(STATES.tolist()):
        assert chosen(space, row) == visible_edges(facts, entity, time, now)[:size]


@given(FACTS, SIZES)
def test_no_edge_is_later_than_the_node_and_none_is_at_the_query_time(facts: list[Fact], size: int) -> None:
    space = spaces(facts, size, may_stay=True)
    is_edge = space.mask & (np.arange(space.width) > 0)
    assert np.all((space.time <= STATES[:, 1:2])[is_edge])
    assert np.all((space.time < STATES[:, 2:3])[is_edge])


@given(FACTS, SIZES)
def test_first_step_stays_only_without_edges(facts: list[Fact], size: int) -> None:
    later, first = (spaces(facts, size, may_stay=may_stay) for may_stay in (True, False))
    assert later.mask[:, 0].all()
    assert np.array_equal(first.mask[:, 0], later.mask.sum(1) == 1)
    assert np.array_equal(first.mask[:, 1:], later.mask[:, 1:])
    assert np.all(later.relation[:, 0] == RELATIONS.self_loop)
    assert np.array_equal(later.entity[:, 0], STATES[:, 0])
    assert np.array_equal(later.time[:, 0], STATES[:, 1])


@given(FACTS, SIZES, st.integers(-50, 50))
def test_shifting_all_times_shifts_the_actions(facts: list[Fact], size: int, shift: int) -> None:
    space = spaces(facts, size, may_stay=True)
    moved_graph = two_layer_graph([(s, r, o, t + shift) for s, r, o, t in facts])
    entity, time, now = STATES.T
    moved = backward_action_space(moved_graph, entity, time + shift, now + shift, size)
    assert np.array_equal(moved.time - shift, space.time)
    for name in ("relation", "entity", "mask"):
        assert np.array_equal(getattr(moved, name), getattr(space, name))


@given(FACTS, SIZES)
def test_edge_positions_belong_to_the_actions(facts: list[Fact], size: int) -> None:
    graph, space = two_layer_graph(facts), spaces(facts, size, may_stay=True)
    edges = Quadruples.concat([graph.base.edges(), graph.overlay.edges()])
    row, column = np.nonzero(space.edge >= 0)
    position = space.edge[row, column]
    assert np.array_equal(edges.subject[position], STATES[row, 0])
    assert np.array_equal(edges.relation[position], space.relation[row, column])
    assert np.array_equal(edges.object[position], space.entity[row, column])
    assert np.array_equal(edges.time[position], space.time[row, column])


def test_wrong_columns_are_rejected() -> None:
    graph = TemporalGraph.from_facts(Quadruples.empty(), ENTITIES, RELATIONS)
    with pytest.raises(ValueError, match="out of range"):
        backward_action_space(graph, [ENTITIES], [0], [0])
    with pytest.raises(ValueError, match="three columns"):
        backward_action_space(graph, [0, 1], [0], [0])
