from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.actions import ActionSpace, Adaptive, Nearest, Random, Sampling, action_space
from fitcarl.graph.temporal import TemporalGraph
from tests.graph.reference import Edge, Fact, best_edges, cut_is_clear, out_edges

ENTITIES, RELATIONS, SPAN = 4, RelationIds(2), 8
FACT = st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.integers(0, SPAN - 1))
FACTS = st.lists(FACT, max_size=60, unique=True)
SCORES = st.lists(st.integers(-3, 3), min_size=2 * SPAN - 1, max_size=2 * SPAN - 1)
SAMPLINGS = st.one_of(
    SCORES.map(lambda scores: Adaptive.by_score(np.array(scores, float))),
    st.just(Nearest()),
    st.integers(0, 5).map(Random),
)


def two_layer_graph(facts: list[Fact]) -> TemporalGraph:
    """Half of the facts in the background, half in the overlay; the result must not depend on the split."""
    graph = TemporalGraph.from_facts(Quadruples.from_rows(facts[::2]), ENTITIES, RELATIONS)
    return graph.with_facts(Quadruples.from_rows(facts[1::2]))


def all_states() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    states = np.array(
        [(e, current_time, query_time) for e in range(4) for current_time in (0, 3, 7) for query_time in (0, 5)],
        dtype=np.int32,
    )
    return states[:, 0], states[:, 1], states[:, 2]


def chosen(space: ActionSpace, row: int) -> list[Edge]:
    """The edges of a row without self-loop and padding."""
    keep = space.mask[row] & (np.arange(space.width) > 0)
    columns = (space.relation[row][keep], space.entity[row][keep], space.time[row][keep])
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(FACTS, SAMPLINGS, st.integers(1, 12))
def test_actions_are_distinct_out_edges_up_to_the_size(facts: list[Fact], sampling: Sampling, size: int) -> None:
    entity, current_time, query_time = all_states()
    space = action_space(two_layer_graph(facts), entity, current_time, query_time, sampling, size)
    for row, node in enumerate(entity.tolist()):
        true = out_edges(facts, node, RELATIONS.count)
        actions = chosen(space, row)
        assert set(actions) <= true
        assert len(actions) == len(set(actions)) == min(len(true), size)


@given(FACTS, SAMPLINGS, st.integers(1, 12))
def test_first_action_is_the_self_loop_at_the_current_node(facts: list[Fact], sampling: Sampling, size: int) -> None:
    entity, current_time, query_time = all_states()
    space = action_space(two_layer_graph(facts), entity, current_time, query_time, sampling, size)
    assert space.mask[:, 0].all()
    assert (space.relation[:, 0] == RELATIONS.self_loop).all()
    assert space.entity[:, 0].tolist() == entity.tolist()
    assert space.time[:, 0].tolist() == current_time.tolist()
    assert ((space.relation == RELATIONS.self_loop).sum(1) == 1 + (~space.mask).sum(1)).all()


@given(FACTS, SCORES, st.integers(1, 12))
def test_adaptive_sampling_keeps_the_edges_with_the_highest_time_scores(
    facts: list[Fact], scores: list[int], size: int
) -> None:
    entity, current_time, query_time = all_states()
    sampling = Adaptive.by_score(np.array(scores, float))
    space = action_space(two_layer_graph(facts), entity, current_time, query_time, sampling, size)
    for row, node in enumerate(entity.tolist()):

        def score(t: int, t_q: int = int(query_time[row])) -> float:
            return scores[t_q - t + SPAN - 1]

        true = out_edges(facts, node, RELATIONS.count)
        actions = chosen(space, row)
        values = [score(t) for _, _, t in actions]
        assert values == sorted(values, reverse=True)
        assert sorted(values) == sorted((score(t) for _, _, t in true), reverse=True)[:size][::-1]
        if cut_is_clear(true, size, score):
            assert set(actions) == best_edges(true, size, score)


@given(FACTS, st.integers(1, 12))
def test_nearest_sampling_keeps_the_edges_nearest_to_the_current_time(facts: list[Fact], size: int) -> None:
    entity, current_time, query_time = all_states()
    space = action_space(two_layer_graph(facts), entity, current_time, query_time, Nearest(), size)
    for row, node in enumerate(entity.tolist()):
        true = out_edges(facts, node, RELATIONS.count)
        gaps = [abs(t - int(current_time[row])) for _, _, t in chosen(space, row)]
        assert gaps == sorted(abs(t - int(current_time[row])) for _, _, t in true)[:size]


@given(FACTS, SAMPLINGS, st.integers(1, 6), st.randoms(use_true_random=False))
def test_actions_of_a_state_do_not_depend_on_the_batch(
    facts: list[Fact], sampling: Sampling, size: int, random: object
) -> None:
    graph = two_layer_graph(facts)
    entity, current_time, query_time = all_states()
    order = list(range(len(entity)))
    random.shuffle(order)  # type: ignore[attr-defined]
    together = action_space(graph, entity, current_time, query_time, sampling, size)
    shuffled = action_space(graph, entity[order], current_time[order], query_time[order], sampling, size)
    for row, original in enumerate(order):
        assert chosen(shuffled, row) == chosen(together, original)


@given(FACTS, SCORES, st.integers(1, 12), st.integers(-50, 50))
def test_shift_of_all_times_changes_nothing(facts: list[Fact], scores: list[int], size: int, shift: int) -> None:
    entity, current_time, query_time = all_states()
    sampling = Adaptive.by_score(np.array(scores, float))
    moved = [(s, r, o, t + shift) for s, r, o, t in facts]
    before = action_space(two_layer_graph(facts), entity, current_time, query_time, sampling, size)
    after = action_space(two_layer_graph(moved), entity, current_time + shift, query_time + shift, sampling, size)
    for row in range(len(entity)):
        assert [(r, e, t + shift) for r, e, t in chosen(before, row)] == chosen(after, row)


@given(FACTS, SAMPLINGS)
def test_edge_positions_refer_to_base_then_overlay(facts: list[Fact], sampling: Sampling) -> None:
    graph = two_layer_graph(facts)
    entity, current_time, query_time = all_states()
    space = action_space(graph, entity, current_time, query_time, sampling, 5)
    all_edges = Quadruples.concat([graph.base.edges(), graph.overlay.edges()])
    assert ((space.edge >= 0) == (space.mask & (np.arange(space.width) > 0))).all()
    row, column = np.nonzero(space.edge >= 0)
    pointed = all_edges.take(space.edge[row, column])
    listed = Quadruples.of(entity[row], space.relation[row, column], space.entity[row, column], space.time[row, column])
    assert pointed == listed


def test_random_sampling_is_uniform() -> None:
    facts = [(0, 0, 1, t) for t in range(20)]
    graph = TemporalGraph.from_facts(Quadruples.from_rows(facts), 2, RelationIds(1))
    zero = np.zeros(1, np.int32)
    seen = np.zeros(20)
    for seed in range(2000):
        space = action_space(graph, zero, zero, zero, Random(seed), 5)
        seen[[t for _, _, t in chosen(space, 0)]] += 1
    assert seen.min() > 400  # 500 expected, standard deviation about 19
    assert seen.max() < 600


def test_random_sampling_depends_on_the_seed() -> None:
    facts = [(0, 0, 1, t) for t in range(40)]
    graph = TemporalGraph.from_facts(Quadruples.from_rows(facts), 2, RelationIds(1))
    zero = np.zeros(1, np.int32)
    draws = {tuple(chosen(action_space(graph, zero, zero, zero, Random(seed), 5), 0)) for seed in range(10)}
    assert len(draws) > 5


def test_ties_prefer_smaller_differences_then_the_past() -> None:
    rank = Adaptive.by_score(np.zeros(5)).rank
    assert rank.tolist() == [4, 2, 0, 1, 3]  # Δt = t_q - t: -2, -1, 0, 1, 2; a positive one lies in the past


def test_time_difference_beyond_the_table_raises() -> None:
    graph = TemporalGraph.from_facts(Quadruples.from_rows([(0, 0, 1, 0)]), 2, RelationIds(1))
    zero = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="beyond the table"):
        action_space(graph, zero, zero, zero + 4, Adaptive.by_score(np.zeros(7)), 5)


def test_node_without_edges_has_only_the_self_loop() -> None:
    graph = TemporalGraph.from_facts(Quadruples.empty(), 3, RelationIds(1))
    space = action_space(graph, np.array([2], np.int32), np.array([7]), np.array([9]), Nearest(), 50)
    assert (space.relation.tolist(), space.entity.tolist(), space.time.tolist()) == ([[2]], [[2]], [[7]])
    assert space.mask.tolist() == [[True]]


@pytest.mark.parametrize("entity", [-1, 2, 2**31, 5_000_000])
def test_state_at_an_unknown_entity_raises(entity: int) -> None:
    graph = TemporalGraph.from_facts(Quadruples.from_rows([(0, 0, 1, 0)]), 2, RelationIds(1))
    with pytest.raises(ValueError, match=f"entity {entity} is out of range: ids are from 0 to 1"):
        action_space(graph, [0, entity], [0, 0], [0, 0], Nearest(), 5)


def test_columns_of_states_must_have_equal_length() -> None:
    graph = TemporalGraph.from_facts(Quadruples.from_rows([(0, 0, 1, 0)]), 2, RelationIds(1))
    with pytest.raises(ValueError, match="three columns of one length"):
        action_space(graph, [0, 1], [0], [0, 0], Nearest(), 5)
