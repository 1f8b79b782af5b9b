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


def margin_loss(vectors: Tensor, translation: Tensor, corrupts_tail: Tensor, negatives: int, margin: float) -> Tensor:
    """mean [margin + d(h, r, t) - d(corrupted)]₊ with d = ``translation_distance``.

    Args:
        vectors: [(2 + negatives) · n, d]: the n heads, the n tails, and the replacements by triple.
        translation: [n, d].
        corrupts_tail: bool [n]: whether tails are replaced; otherwise heads are.
        negatives: Corrupted triples per triple.
        margin: The margin.
    """
    count = len(translation)
    unit, step, side = normalize(vectors, dim=-1), normalize(translation, dim=-1), corrupts_tail[:, None]
    head, tail = unit[:count], unit[count : 2 * count]
    target = torch.where(side, head + step, tail - step)
    positive = (target - torch.where(side, tail, head)).abs().sum(-1, keepdim=True)
    corrupted = unit[2 * count :].view(count, negatives, -1)
    return relu(margin + positive - (target[:, None] - corrupted).abs().sum(-1)).mean()


def all_distances(query: Tensor, candidates: Tensor) -> Tensor:
    """|q - c|₁ of every query and every candidate, float64 [queries, candidates]."""
    return torch.cdist(query.double(), candidates.double(), p=1)
