"""The projection of TransH, sums over neighbourhoods, and TransE on vectors of length 1."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize, relu


def project(x: Tensor, normal: Tensor) -> Tensor:
    """x - (x · n) n with n = normal / |normal|, [..., d]: the part of x in the hyperplane of a relation."""
    unit = normalize(normal, dim=-1)
    return x - (x * unit).sum(-1, keepdim=True) * unit


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


def margin_loss(positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """mean [margin + d⁺ - d⁻]₊ over distances of facts [n] and of their corruptions [n, negatives]."""
    return relu(margin + positive[:, None] - negative).mean()


def all_distances(query: Tensor, candidates: Tensor) -> Tensor:
    """|q - c|₁ of every query and every candidate, float64 [queries, candidates]."""
    return torch.cdist(query.double(), candidates.double(), p=1)
