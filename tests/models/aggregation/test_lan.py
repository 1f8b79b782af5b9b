"""Identities of LAN's network and its logic attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from fitcarl.models.aggregation.neighbourhoods import Neighbourhoods
from fitcarl.models.lan.logic import implication_table, strongest_rivals
from tests.models.aggregation.small_graph import ENTITIES, FACTS, GRAPH, RELATIONS, lan_network, mean_network, rows_of

ASKED = torch.tensor(1)
MESSAGES = [(0, 1), (4, 3), (5, 2)]


def test_implications_by_brute_force() -> None:
    owned: list[set[int]] = [set() for _ in range(ENTITIES)]
    for s, r, o, _ in FACTS:
        owned[s].add(r)
        owned[o].add(r + RELATIONS.count)
    table = implication_table(GRAPH)
    for x in range(RELATIONS.directed):
        owners = [relations for relations in owned if x in relations]
        for y in range(RELATIONS.directed):
            assert table[x, y] == pytest.approx(sum(y in relations for relations in owners) / len(owners)), (x, y)
    assert table.diagonal().tolist() == [1] * RELATIONS.directed


def test_implications_of_relations_without_facts() -> None:
    table = implication_table(GRAPH.from_facts(FACTS.take(FACTS.relation == 0), ENTITIES, RELATIONS))
    assert table[2].tolist() == [0, 0, 1, 0, 0, 0]


def test_strongest_rivals_by_brute_force() -> None:
    rows = Neighbourhoods.of_facts(FACTS, ENTITIES, RELATIONS)
    table, relation = implication_table(GRAPH), rows.relation[rows.message]
    found = strongest_rivals(rows.offsets, relation, table)
    for j, row in enumerate(rows.row):
        others = set(relation[rows.offsets[row] : rows.offsets[row + 1]].tolist()) - {int(relation[j])}
        assert found[j] == pytest.approx(max((float(table[x, relation[j]]) for x in others), default=0.0))


def test_output_by_the_equations() -> None:
    network, q = lan_network(), 1
    messages = [
        network.entity[e] - (network.entity[e] @ (n := normalize(network.normal[r], dim=0))) * n for r, e in MESSAGES
    ]
    logits = [
        network.combine[:, 0] @ torch.tanh(network.attention @ torch.cat([network.query[q], message]))
        for message in messages
    ]
    neural = torch.softmax(torch.stack(logits), dim=0)
    P = implication_table(GRAPH)
    relations = [r for r, _ in MESSAGES]
    logic = [P[r, q] / (1 + max(P[x, r] for x in relations if x != r)) for r in relations]
    assert max(logic) > 0
    expected = sum((neural[j] + float(logic[j])) * messages[j] for j in range(3))
    torch.testing.assert_close(network(rows_of(MESSAGES), ASKED)[0], expected)


def test_one_query_relation_for_all_rows_equals_one_per_row() -> None:
    network, rows = lan_network(), rows_of(MESSAGES, [(0, 1)], [])
    for relation in range(RELATIONS.directed):
        torch.testing.assert_close(network(rows, torch.tensor(relation)), network(rows, torch.full((3,), relation)))
    mixed = network(rows_of(MESSAGES, MESSAGES), torch.tensor([1, 4]))
    torch.testing.assert_close(mixed[0], network(rows_of(MESSAGES), torch.tensor(1))[0])
    torch.testing.assert_close(mixed[1], network(rows_of(MESSAGES), torch.tensor(4))[0])
    assert not torch.allclose(normalize(mixed[0], dim=0), normalize(mixed[1], dim=0))


def test_direction_of_a_single_neighbour_depends_on_nothing_else() -> None:
    network = lan_network()
    rows = rows_of([(0, 1)])
    expected = normalize(network.messages(rows)[0], dim=-1)
    for seed in range(3):
        other = lan_network(seed)
        with torch.no_grad():
            other.entity.copy_(3 * network.entity)
            other.normal.copy_(network.normal)
        for relation in range(RELATIONS.directed):
            torch.testing.assert_close(normalize(other(rows, torch.tensor(relation)), dim=-1), expected)


def test_equal_weights_without_logic_are_the_projection_variant_of_mean() -> None:
    network, mean = lan_network(), mean_network()
    network.implications = np.zeros_like(network.implications)
    with torch.no_grad():
        network.combine.zero_()
        mean.entity.copy_(network.entity)
        mean.transition.copy_(network.normal)
    rows = rows_of(MESSAGES, [(0, 1), (2, 4)], [])
    torch.testing.assert_close(network(rows, ASKED), mean(rows, ASKED))


def test_order_of_neighbours_and_other_rows_change_nothing() -> None:
    network = lan_network()
    alone = network(rows_of(MESSAGES), ASKED)[0]
    torch.testing.assert_close(network(rows_of(MESSAGES[::-1]), ASKED)[0], alone)
    torch.testing.assert_close(network(rows_of([], [(0, 0), (1, 4)], MESSAGES, [(2, 2)]), ASKED)[2], alone)


def test_entity_without_neighbours_has_its_input_row() -> None:
    network = lan_network()
    torch.testing.assert_close(network(rows_of([], entity=[3]), ASKED)[0], network.entity[3])


def test_large_logits_do_not_overflow() -> None:
    network = lan_network()
    with torch.no_grad():
        network.combine.mul_(1e4)
    assert torch.isfinite(network(rows_of(MESSAGES), ASKED)).all()
