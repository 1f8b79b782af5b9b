"""The confidence learner: a TuckER score of an action's node, independent of the path (Eq. 8)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_BLOCK = 16  # queries of one relation that share a matrix product; smaller blocks pad less, larger ones copy less


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
        return _grouped_product(entity, matrices, which) + offset.index_select(0, which)


def _grouped_product(vectors: Tensor, matrices: Tensor, which: Tensor) -> Tensor:
    """``vectors[q] @ matrices[which[q]]`` for every q, in blocks of vectors that share a matrix."""
    counts = torch.bincount(which, minlength=len(matrices))
    blocks = (counts + _BLOCK - 1) // _BLOCK
    first_block = torch.cumsum(blocks, 0) - blocks
    order = torch.argsort(which, stable=True)
    within = torch.arange(len(which)) - (torch.cumsum(counts, 0) - counts)[which[order]]
    position = torch.empty_like(order)
    position[order] = first_block[which[order]] * _BLOCK + within

    padded = vectors.new_zeros(int(blocks.sum()) * _BLOCK, vectors.shape[1]).index_copy(0, position, vectors)
    shared = matrices.index_select(0, torch.repeat_interleave(torch.arange(len(matrices)), blocks))
    product = torch.bmm(padded.view(-1, _BLOCK, vectors.shape[1]), shared)
    return product.flatten(0, 1).index_select(0, position)
