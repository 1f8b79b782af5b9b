"""Identities of MEAN's network."""

from __future__ import annotations

import pytest
import torch

from fitcarl.models.aggregation.decoder import project, translation_distance
from fitcarl.models.mean.network import SLOTS, relation_products
from tests.models.aggregation.small_graph import ANY, DIM, ENTITIES, mean_network, rows_of

TRANSITIONS = ("projection", "linear")


@pytest.mark.parametrize("transition", TRANSITIONS)
def test_single_neighbour_is_the_vector(transition: str) -> None:
    network = mean_network(transition=transition)
    rows = rows_of([(4, 3)])
    torch.testing.assert_close(network(rows, ANY), network.messages(rows)[0])


@pytest.mark.parametrize("transition", TRANSITIONS)
def test_order_and_repetition_of_neighbours_change_nothing(transition: str) -> None:
    network = mean_network(transition=transition)
    once = network(rows_of([(0, 1), (4, 3), (2, 2)]), ANY)
    for messages in ([(2, 2), (0, 1), (4, 3)], [(0, 1), (4, 3), (2, 2)] * 2):
        torch.testing.assert_close(network(rows_of(messages), ANY), once)


def test_projection_messages_and_their_mean() -> None:
    network = mean_network()
    expected = project(network.entity[[1, 3]], torch.tensor([0, 4]), network.transition)
    found = network(rows_of([(0, 1), (4, 3)], [(4, 3)]), ANY)
    torch.testing.assert_close(found, torch.stack([(expected[0] + expected[1]) / 2, expected[1]]))


def test_linear_messages_are_normalised_and_not_negative() -> None:
    network = mean_network(transition="linear")
    [message] = network.messages(rows_of([(3, 2)]))
    product = network.transition[3] @ network.entity[2]
    normalised = (product - product.mean()) / (product.var(unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(message[0], normalised.clamp(min=0))


def test_relation_products_with_identity_matrices() -> None:
    x, relation = torch.randn(6, DIM), torch.tensor([0, 0, 2, 2, 2, 3])
    matrices = torch.eye(DIM).repeat(5, 1, 1) * torch.arange(5)[:, None, None]
    torch.testing.assert_close(relation_products(x, relation, matrices), x * relation[:, None])
    assert relation_products(x[:0], relation[:0], matrices).shape == (0, DIM)


def test_entity_without_neighbours_has_its_input_row() -> None:
    for masked in (True, False):
        network = mean_network(masked=masked)
        torch.testing.assert_close(network(rows_of([], [(0, 1)], entity=[3, 2]), ANY)[0], network.entity[3])


def test_unmasked_mean_counts_empty_slots() -> None:
    network = mean_network(masked=False)
    rows = rows_of([(4, 3)])
    expected = (network.messages(rows)[0] + (SLOTS - 1) * network.padding) / SLOTS
    torch.testing.assert_close(network(rows, ANY), expected)


def test_self_loops_without_projection_are_transe() -> None:
    network = mean_network()
    with torch.no_grad():
        network.transition.zero_()  # a zero normal projects nothing
    output = network(rows_of(*([(0, e)] for e in range(ENTITIES))), ANY)
    torch.testing.assert_close(output, network.entity)
    head, relation, tail = network.entity[0], network.translation[1], network.entity[4]
    unit = [vector / vector.norm() for vector in (head, relation, tail)]
    expected = (unit[0] + unit[1] - unit[2]).abs().sum()
    torch.testing.assert_close(translation_distance(output[0], relation, output[4]), expected)
