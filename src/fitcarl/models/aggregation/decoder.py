"""The projection of TransH, sums over neighbourhoods, and TransE on vectors of length 1."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding, embedding_bag, normalize, relu


def project(x: Tensor, relation: Tensor, normals: Tensor) -> Tensor:
    """x - (x · n) n with n = normals[relation] / |normals[relation]|: the part of x in a relation's hyperplane, [n, d].

    Args:
        x: [n, d].
        relation: int64 [n].
        normals: [relations, d], of any length.
    """
    unit = embedding(relation, normalize(normals, dim=-1))
    return torch.addcmul(x, (x * unit).sum(-1, keepdim=True), unit, value=-1)


def weighted_sum(messages: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None = None) -> Tensor:
    """The (weighted) sum over each ragged row of messages, [rows, d]; 0 for empty rows.

    Args:
        messages: [messages, d].
        index: int64 [elements], positions in ``messages``.
        offsets: int64 [rows + 1]: row i are the elements ``offsets[i]:offsets[i + 1]``.
        weight: [elements]; 1 by default.
    """
    total: Tensor = embedding_bag(
        index, messages, offsets, mode="sum", per_sample_weights=weight, include_last_offset=True
    )
    return total


def translation_distance(head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
    """|norm(h) + norm(r) - norm(t)|₁ along the last dimension; TransE's score is its negative."""
    return (normalize(head, dim=-1) + normalize(relation, dim=-1) - normalize(tail, dim=-1)).abs().sum(-1)


def translated(entity: Tensor, translation: Tensor, is_tail: Tensor) -> Tensor:
    """Where the other entity of a triple should be: norm(h) + norm(r), or norm(t) - norm(r) for a tail, [n, d].

    Args:
        entity: [n, d], heads or tails.
        translation: [n, d].
        is_tail: bool [n].
    """
    sign = 1 - 2 * is_tail.to(translation.dtype)
    return normalize(entity, dim=-1) + sign[:, None] * normalize(translation, dim=-1)


def margin_loss(target: Tensor, candidates: Tensor, corrupted: Tensor, margin: float) -> Tensor:
    """mean [margin + |target - norm(answer)|₁ - |target - norm(corrupted)|₁]₊.

    Args:
        target: [n, d], the result of ``translated``.
        candidates: [n + m, d]: the n answers, then what replaces them.
        corrupted: int64 [n, negatives], positions in the last m candidates.
        margin: The margin.
    """
    unit = normalize(candidates, dim=-1)
    positive = (target - unit[: len(target)]).abs().sum(-1, keepdim=True)
    negative = (target[:, None] - embedding(corrupted, unit[len(target) :])).abs().sum(-1)
    return relu(margin + positive - negative).mean()


def all_distances(query: Tensor, candidates: Tensor) -> Tensor:
    """|q - c|₁ of every query and every candidate, float64 [queries, candidates]."""
    return torch.cdist(query.double(), candidates.double(), p=1)
