"""Distinct messages of entities, and samples of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.models.aggregation.neighbourhoods import Neighbourhoods
from tests.models.aggregation.small_graph import ENTITIES, FACTS, GRAPH, RELATIONS

EVERYONE = np.ones(ENTITIES, dtype=np.bool_)


def as_sets(rows: Neighbourhoods) -> list[list[tuple[int, int]]]:
    """The messages of each row, sorted."""
    pairs = list(zip(rows.relation[rows.message].tolist(), rows.neighbour[rows.message].tolist(), strict=True))
    return [sorted(pairs[first:end]) for first, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]


def brute_force(facts: Quadruples) -> list[list[tuple[int, int]]]:
    found: list[set[tuple[int, int]]] = [set() for _ in range(ENTITIES)]
    for s, r, o, _ in facts:
        found[s].add((r, o))
        found[o].add((r + RELATIONS.count, s))
    return [sorted(messages) for messages in found]


def test_repeated_triples_and_times_count_once() -> None:
    assert as_sets(Neighbourhoods.of_facts(FACTS, ENTITIES, RELATIONS))[0] == [(0, 1), (1, 2), (4, 3), (5, 2)]


@given(st.lists(st.tuples(*(st.integers(0, high) for high in (4, 2, 4, 9))), max_size=30), st.integers(0, 99))
def test_rows_are_the_distinct_edges_of_both_directions(rows: list[tuple[int, int, int, int]], seed: int) -> None:
    facts = Quadruples.from_rows(rows)
    found = Neighbourhoods.of_facts(facts, ENTITIES, RELATIONS)
    assert as_sets(found) == brute_force(facts)
    assert as_sets(found.shuffled(np.random.default_rng(seed))) == as_sets(found)
    assert len(set(zip(found.relation.tolist(), found.neighbour.tolist(), strict=True))) == len(found.relation)
    assert np.all(np.diff(found.relation) >= 0)
    assert np.array_equal(found.find(found.relation, found.neighbour), np.arange(len(found.relation)))


def test_graph_and_its_overlay_are_read() -> None:
    extra = Quadruples.from_rows([(4, 2, 1, 9)])
    graph = GRAPH.with_facts(extra)
    assert as_sets(Neighbourhoods.of_graph(graph, EVERYONE)) == brute_force(Quadruples.concat([FACTS, extra]))


def test_silent_entities_send_no_messages_but_receive_some() -> None:
    silent = Neighbourhoods.of_graph(GRAPH, EVERYONE & (np.arange(ENTITIES) != 2))
    expected = [[message for message in row if message[1] != 2] for row in brute_force(FACTS)]
    assert as_sets(silent) == expected
    assert expected[2]


@given(st.integers(1, 5), st.integers(0, 99))
def test_sample_is_a_part_of_the_row_without_repetition(limit: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = Neighbourhoods.of_facts(FACTS, ENTITIES, RELATIONS)
    rows = rng.integers(0, ENTITIES, 7)
    found = as_sets(every.shuffled(rng).sample(rows, limit, rng))
    for row, messages in zip(rows, found, strict=True):
        full = brute_force(FACTS)[row]
        assert set(messages) <= set(full)
        assert len(set(messages)) == len(messages) == min(limit, len(full))


def test_every_message_is_sampled_equally_often() -> None:
    rng = np.random.default_rng(0)
    every = Neighbourhoods.of_facts(FACTS, ENTITIES, RELATIONS)
    seen = [message for _ in range(400) for message in as_sets(every.shuffled(rng).sample(np.array([0]), 2, rng))[0]]
    for message in brute_force(FACTS)[0]:
        assert seen.count(message) == pytest.approx(200, abs=45)


def test_message_that_is_left_out_is_missing_from_its_row_only() -> None:
    every = Neighbourhoods.of_facts(FACTS, ENTITIES, RELATIONS)
    left_out = np.array([every.find(np.array([1]), np.array([2]))[0], -1])
    with_target, without = as_sets(every.sample(np.array([0, 0]), 9, np.random.default_rng(0), left_out))[::-1]
    assert sorted([*without, (1, 2)]) == with_target == brute_force(FACTS)[0]
