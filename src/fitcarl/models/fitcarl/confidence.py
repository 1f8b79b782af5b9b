"""The confidence learner: a TuckER score of an action's node, independent of the path (Eq. 8)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class ConfidenceLearner(nn.Module):
    """ψ_{a|q} = W ×₁ h_(e', t_q) ×₂ h_r_q ×₃ h_(e_a, t_a) with a learned core tensor W (Eq. 8)."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension
        self.core = nn.Parameter(torch.randn(2 * dimension, dimension, 2 * dimension) * 0.1 / dimension)

    def forward(self, entity: Tensor, h_0: Tensor, relation_rows: Tensor, relation: Tensor) -> Tensor:
        """z, [queries, 2d], such that ψ_{a|q} = z · h_(e_a, t_a).

        W ×₂ h_r is contracted once per distinct relation, and the time half of h_(e', t_q) once in all, because it is
        h_0 for every query.

        Args:
            entity: [queries, d], h_e'.
            h_0: [d], the encoding of Δt = 0.
            relation_rows: [relations, d], the table of relations.
            relation: int64 [queries], r_q.
        """
        distinct, which = torch.unique(relation, return_inverse=True)
        rows = relation_rows.index_select(0, distinct)
        by_entity, by_time = self.core.split(self.dimension)
        matrices = torch.einsum("rj,ijk->rik", rows, by_entity)
        offset = rows @ torch.einsum("i,ijk->jk", h_0, by_time)
        return grouped_product(entity, matrices, which) + offset.index_select(0, which)


def grouped_product(vectors: Tensor, matrices: Tensor, which: Tensor) -> Tensor:
    """``vectors[q] @ matrices[which[q]]`` for every q, [queries, k].

    Args:
        vectors: [queries, i].
        matrices: [groups, i, k].
        which: int64 [queries].
    """
    out: Tensor = _GroupedProduct.apply(vectors, matrices, which)  # type: ignore[no-untyped-call]
    return out


class _GroupedProduct(torch.autograd.Function):
    """One matrix product per group, on vectors sorted by group."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, matrices: Tensor, which: Tensor) -> Tensor:
        order = torch.argsort(which, stable=True)
        counts = torch.bincount(which, minlength=len(matrices)).tolist()
        grouped = vectors.index_select(0, order)
        out = vectors.new_empty(len(vectors), matrices.shape[2])
        for part, matrix, target in zip(grouped.split(counts), matrices, out.split(counts), strict=True):
            torch.mm(part, matrix, out=target)
        ctx.save_for_backward(grouped, matrices, order)
        ctx.counts = counts
        return torch.empty_like(out).index_copy_(0, order, out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        grouped, matrices, order = ctx.saved_tensors
        gradient = gradients[0].index_select(0, order)
        d_grouped, d_matrices = torch.empty_like(grouped), torch.empty_like(matrices)
        parts = grouped.split(ctx.counts), gradient.split(ctx.counts), d_grouped.split(ctx.counts)
        for part, change, matrix, d_part, d_matrix in zip(*parts[:2], matrices, parts[2], d_matrices, strict=True):
            torch.mm(part.T, change, out=d_matrix)
            torch.mm(change, matrix.T, out=d_part)
        return torch.empty_like(d_grouped).index_copy_(0, order, d_grouped), d_matrices, None
