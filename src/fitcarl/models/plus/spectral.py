"""Spectral embeddings of entities: by their neighbours, and by the relations of which they are objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.arrays import read_only
from fitcarl.core.compiled import array_function
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.core.sorting import sort_range
from fitcarl.graph.temporal import TemporalGraph

_DIMENSIONS = 64
_OVERSAMPLING = 16
"""Extra directions during the iteration, so that the leading ones converge."""
_ITERATIONS = 8
_PROFILE_DIMENSIONS = 16


def entity_embedding(graph: TemporalGraph) -> NDArray[np.float32]:
    """Leading eigenvectors of the normalised co-occurrence matrix of entities.

    Returns:
        float32 [entities, 64], rows of length 1; 0 for entities without edges.
    """
    matrix, known = _cooccurrence_matrix(graph)
    vectors, values = _leading_eigenvectors(matrix, _DIMENSIONS)
    rows = (vectors * values.abs().sqrt()).numpy()
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    embedding = np.zeros((graph.entities, _DIMENSIONS), dtype=np.float32)
    embedding[:, : rows.shape[1]] = np.where(known[:, None], rows / (length + 1e-6), 0)
    return embedding


def relation_profile(graph: TemporalGraph) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A rank-16 factorization of log(1 + count of (r, o)).

    Returns:
        Factors of the entities, float32 [entities, 16], and of the relations, float32 [2R, 16].
    """
    columns, n = graph.base.columns, graph.relations.directed
    inverse = graph.relations.inverse(np.arange(n, dtype=np.int32)).astype(np.int32)
    counts = np.zeros((graph.entities, n), dtype=np.int64)
    _count_relations(columns.offsets, columns.relation, read_only(inverse), counts)
    table = torch.from_numpy(np.log1p(counts).astype(np.float32))
    # The eigenvectors of the small Gram matrix are the right singular vectors.
    values, vectors = torch.linalg.eigh(table.T @ table)
    right = vectors[:, values.argsort(descending=True)[:_PROFILE_DIMENSIONS]]
    return (table @ right).numpy(), right.contiguous().numpy()


@array_function()
def _count_relations(
    offsets: NDArray[np.int64], relation: NDArray[np.int32], inverse: NDArray[np.int32], counts: NDArray[np.int64]
) -> None:
    """Adds the edges of every entity to ``counts`` [entities, 2R], by the relation of which it is the object."""
    for entity in range(len(offsets) - 1):
        for edge in range(offsets[entity], offsets[entity + 1]):
            counts[entity, inverse[relation[edge]]] += 1


@dataclass(frozen=True, eq=False)
class _SparseMatrix:
    """A square matrix in rows of positions and weights."""

    offsets: NDArray[np.int64]
    """int64 [rows + 1]."""
    column: NDArray[np.int32]
    """int32 [entries]."""
    weight: NDArray[np.float32]
    """float32 [entries]."""

    def __matmul__(self, table: Tensor) -> Tensor:
        """The product with a table of contiguous rows; several times faster than torch's sparse tensors."""
        out = np.zeros(tuple(table.shape), dtype=np.float32)
        arguments = self.offsets, self.column, self.weight, np.ascontiguousarray(table.numpy()), out
        parallel_for(split_range(len(out)), lambda _, low, high: _multiply(low, high, *arguments))
        return torch.from_numpy(out)


def _cooccurrence_matrix(graph: TemporalGraph) -> tuple[_SparseMatrix, NDArray[np.bool_]]:
    """The normalised co-occurrence matrix, and bool [entities]: which entities have edges."""
    columns = graph.base.columns
    most = int(np.diff(columns.offsets).max(initial=0))
    offsets, other, times = _neighbours(columns.offsets, columns.target, most)
    one = np.repeat(np.arange(graph.entities, dtype=np.int32), np.diff(offsets))
    strength = np.log1p(times).astype(np.float32)
    total = np.bincount(one, weights=strength, minlength=graph.entities)
    scale = np.where(total > 0, total, 1) ** -0.5
    weight = (strength * scale[one] * scale[other]).astype(np.float32)
    return _SparseMatrix(offsets, other, weight), total > 0


@array_function()
def _neighbours(
    offsets: NDArray[np.int64], target: NDArray[np.int32], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The distinct targets of every entity, ascending: their offsets, the targets, and the number of edges of each.

    ``most`` is the highest number of edges of an entity.
    """
    starts = np.zeros_like(offsets)
    targets = np.empty(most, dtype=np.int64)
    found, times = np.empty_like(target), np.zeros(len(target), dtype=np.int32)
    count = 0
    for entity in range(len(offsets) - 1):
        first, edges = offsets[entity], offsets[entity + 1] - offsets[entity]
        for i in range(edges):
            targets[i] = target[first + i]
        sort_range(targets, 0, edges)
        for i in range(edges):
            if i == 0 or targets[i] != targets[i - 1]:
                found[count] = targets[i]
                count += 1
            times[count - 1] += 1
        starts[entity + 1] = count
    return starts, found[:count].copy(), times[:count].copy()


@array_function(fastmath={"contract"})
def _multiply(
    low: int,
    high: int,
    offsets: NDArray[np.int64],
    column: NDArray[np.int32],
    weight: NDArray[np.float32],
    table: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Adds rows low to high of the product to ``out``; each number is summed in the order of the entries."""
    for row in range(low, high):
        for entry in range(offsets[row], offsets[row + 1]):
            factor, source = weight[entry], column[entry]
            for i in range(table.shape[1]):
                out[row, i] += factor * table[source, i]


def _leading_eigenvectors(matrix: _SparseMatrix, count: int) -> tuple[Tensor, Tensor]:
    """Eigenvectors and eigenvalues of a symmetric matrix, largest magnitude first, by subspace iteration.

    Written out because ``torch.svd_lowrank`` starts from the global random state and drops the signs of the
    eigenvalues, and ``torch.lobpcg`` finds one end of the spectrum only and needs 3 × count < size.
    """
    size = len(matrix.offsets) - 1
    count = min(count, size)
    start = torch.Generator().manual_seed(0)
    basis = torch.randn(size, min(count + _OVERSAMPLING, size), generator=start)
    for _ in range(_ITERATIONS):
        basis, _ = torch.linalg.qr(matrix @ basis)
    small = basis.T @ (matrix @ basis)
    values, vectors = torch.linalg.eigh((small + small.T) / 2)
    best = values.abs().argsort(descending=True)[:count]
    return basis @ vectors[:, best], values[best]
