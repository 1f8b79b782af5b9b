"""Which entities are alike: by the company they keep, and by the relations they are met through."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.graph.temporal import TemporalGraph

_DIRECTIONS = 64
_SPARE = 16
"""More directions than are kept, so that those that are kept come out well."""
_PASSES = 8
_HABITS = 16


def company(graph: TemporalGraph) -> NDArray[np.float32]:
    """float32 [entities, 64], of length 1: the leading directions of who meets whom; 0 for those who meet nobody."""
    entities = graph.entities
    source = np.repeat(np.arange(entities, dtype=np.int64), np.diff(graph.base.offsets))
    pair, times = np.unique(source * entities + graph.base.target, return_counts=True)
    one, other = np.divmod(pair, entities)
    strength = np.log1p(times).astype(np.float32)
    total = np.bincount(one, weights=strength, minlength=entities)
    scale = np.where(total > 0, total, 1) ** -0.5
    weight = torch.from_numpy((strength * scale[one] * scale[other]).astype(np.float32))
    ends = torch.from_numpy(np.stack([one, other]))
    meets = torch.sparse_coo_tensor(ends, weight, (entities, entities), is_coalesced=True, check_invariants=False)
    vectors, values = _leading(meets, min(_DIRECTIONS, entities))
    rows = (vectors * values.abs().sqrt()).numpy()
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    alike = np.zeros((entities, _DIRECTIONS), dtype=np.float32)
    alike[:, : rows.shape[1]] = np.where(total[:, None] > 0, rows / (length + 1e-6), 0)
    return alike


def habits(graph: TemporalGraph) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two tables, [entities, 16] and [2R, 16], whose product is nearly log(1 + count) of (r, o)."""
    base, n = graph.base, graph.relations.directed
    source = np.repeat(np.arange(graph.entities, dtype=np.int64), np.diff(base.offsets))
    met_through = graph.relations.inverse(base.relation.astype(np.int64))
    counts = np.bincount(source * n + met_through, minlength=graph.entities * n).reshape(graph.entities, n)
    table = torch.from_numpy(np.log1p(counts).astype(np.float32))
    # The eigenvectors of the small square are the right singular vectors.
    values, vectors = torch.linalg.eigh(table.T @ table)
    right = vectors[:, values.argsort(descending=True)[:_HABITS]]
    return (table @ right).numpy(), right.contiguous().numpy()


def _leading(matrix: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Leading eigenvectors and eigenvalues of a symmetric matrix, by subspace iteration from a fixed start."""
    size = matrix.shape[0]
    start = torch.Generator().manual_seed(0)
    basis = torch.randn(size, min(count + _SPARE, size), generator=start)
    for _ in range(_PASSES):
        basis, _ = torch.linalg.qr(matrix @ basis)
    small = basis.T @ (matrix @ basis)
    values, vectors = torch.linalg.eigh((small + small.T) / 2)
    best = values.abs().argsort(descending=True)[:count]
    return basis @ vectors[:, best], values[best]
