"""Hand values and identities of the projection, the decoder and the loss."""

from __future__ import annotations

import pytest
import torch

from fitcarl.models.aggregation.decoder import (
    all_distances,
    margin_loss,
    project,
    translated,
    translation_distance,
    weighted_sum,
)


def test_projection_removes_the_part_along_the_normal() -> None:
    normals = torch.tensor([[1.0, 0.0], [7.0, 0.0], [-0.5, 0.0], [0.0, 0.0]])
    found = project(torch.tensor([[3.0, 4.0]] * 4), torch.arange(4), normals)
    torch.testing.assert_close(found, torch.tensor([[0.0, 4.0]] * 3 + [[3.0, 4.0]]))


def test_projection_is_idempotent_and_orthogonal() -> None:
    torch.manual_seed(0)
    x, normals = torch.randn(5, 6, dtype=torch.float64), torch.randn(3, 6, dtype=torch.float64)
    relation = torch.tensor([0, 2, 2, 1, 0])
    once = project(x, relation, normals)
    torch.testing.assert_close(project(once, relation, normals), once)
    torch.testing.assert_close((once * normals[relation]).sum(-1), torch.zeros(5, dtype=torch.float64))


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


def test_translated_ends_meet_for_a_true_triple() -> None:
    torch.manual_seed(0)
    head, tail, step = torch.randn(2, 6), torch.randn(2, 6), torch.randn(2, 6)
    expected = translation_distance(head, step, tail)
    as_head = translated(head, step, torch.tensor([False, False])) - tail / tail.norm(dim=-1, keepdim=True)
    as_tail = translated(tail, step, torch.tensor([True, True])) - head / head.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(as_head.abs().sum(-1), expected)
    torch.testing.assert_close(as_tail.abs().sum(-1), expected)


def test_margin_loss_of_shared_corruptions() -> None:
    torch.manual_seed(0)
    target, answer, wrong = torch.randn(3, 6), torch.randn(3, 6), torch.randn(2, 6)
    index = torch.tensor([[0, 1], [0, 1], [1, 1]])
    copied = torch.cat([answer, wrong[index].view(6, 6)])
    expected = margin_loss(target, copied, torch.arange(6).view(3, 2), 3.0)
    torch.testing.assert_close(margin_loss(target, torch.cat([answer, wrong]), index, 3.0), expected)


def test_margin_loss_counts_violations_only() -> None:
    torch.manual_seed(0)
    target, answer, wrong = torch.randn(2, 6), torch.randn(2, 6), torch.randn(2, 3, 6)
    for margin in (0.1, 0.5, 9.0):
        terms = []
        for i in range(2):
            positive = (target[i] - answer[i] / answer[i].norm()).abs().sum()
            for k in range(3):
                negative = (target[i] - wrong[i, k] / wrong[i, k].norm()).abs().sum()
                terms.append(max(0.0, margin + float(positive - negative)))
        found = margin_loss(target, torch.cat([answer, wrong.view(6, 6)]), torch.arange(6).view(2, 3), margin)
        assert float(found) == pytest.approx(sum(terms) / 6, rel=1e-5)
        assert (min(terms) == 0) == (margin < 9)
