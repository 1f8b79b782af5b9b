"""Hand values and identities of the projection, the decoder and the loss."""

from __future__ import annotations

import pytest
import torch

from fitcarl.models.aggregation.decoder import all_distances, margin_loss, project, translation_distance, weighted_sum


def test_projection_removes_the_part_along_the_normal() -> None:
    x = torch.tensor([3.0, 4.0])
    for scale in (1.0, 7.0, -0.5):
        assert project(x, scale * torch.tensor([1.0, 0.0])).tolist() == pytest.approx([0, 4])


def test_projection_is_idempotent_and_orthogonal() -> None:
    torch.manual_seed(0)
    x, normal = torch.randn(5, 6, dtype=torch.float64), torch.randn(5, 6, dtype=torch.float64)
    once = project(x, normal)
    torch.testing.assert_close(project(once, normal), once)
    torch.testing.assert_close((once * normal).sum(-1), torch.zeros(5, dtype=torch.float64))


def test_weighted_sum_of_ragged_rows() -> None:
    messages = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    index, offsets = torch.tensor([0, 1, 1]), torch.tensor([0, 2, 2, 3])
    assert weighted_sum(messages, index, offsets).tolist() == [[1, 2], [0, 0], [0, 2]]
    assert weighted_sum(messages, index, offsets, torch.tensor([3.0, 1, 2])).tolist() == [[3, 2], [0, 0], [0, 4]]


def test_distance_is_l1_of_vectors_of_length_one() -> None:
    head, relation, tail = torch.tensor([3.0, 4.0]), torch.tensor([0.0, 2.0]), torch.tensor([5.0, 0.0])
    assert float(translation_distance(head, relation, tail)) == pytest.approx(0.4 + 1.8)
    assert float(translation_distance(9 * head, 2 * relation, 3 * tail)) == pytest.approx(0.4 + 1.8)


def test_all_distances_equal_single_ones() -> None:
    torch.manual_seed(0)
    query, candidates = torch.randn(3, 4), torch.randn(5, 4)
    expected = [[float((q.double() - c.double()).abs().sum()) for c in candidates] for q in query]
    torch.testing.assert_close(all_distances(query, candidates), torch.tensor(expected, dtype=torch.float64))


def test_margin_loss_counts_violations_only() -> None:
    positive, negative = torch.tensor([1.0, 2.0]), torch.tensor([[1.5, 4.0], [2.5, 2.0]])
    assert float(margin_loss(positive, negative, 1.0)) == pytest.approx((0.5 + 0 + 0.5 + 1) / 4)
