"""The inductive mean (IM): the row of an unseen query entity, from the entities that occur with the query relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.arrays import offsets_of
from fitcarl.core.tensors import long_tensor, tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.tasks.task import Queries


@dataclass(frozen=True, eq=False)
class InductiveMean:
    """Means over the distinct subjects of every directed relation in a background, as known at any time."""

    offsets: NDArray[np.int64]
    """int64 [2R + 1]: the subjects of each relation."""
    first_time: Ids
    """int32 [subjects], ascending within a relation: when the subject first has the relation."""
    total: Tensor
    """float64 [subjects + 1, d_e]: the sum of the rows of all subjects before each one."""
    seen: NDArray[np.bool_]
    """bool [entities]: whether the entity has a fact in the background."""

    @classmethod
    def of(cls, graph: TemporalGraph, rows: Tensor) -> InductiveMean:
        """The means of the rows [entities, d_e] on the background of a graph."""
        base, relations = graph.base, graph.relations.directed
        edges = base.edges()
        order = np.lexsort((edges.time, edges.subject, edges.relation))
        pair = edges.relation[order].astype(np.int64) * graph.entities + edges.subject[order]
        first = order[np.unique(pair, return_index=True)[1]]
        first = first[np.lexsort((edges.subject[first], edges.time[first], edges.relation[first]))]
        total = rows.new_zeros(len(first) + 1, rows.shape[1], dtype=torch.float64)
        torch.cumsum(rows.index_select(0, long_tensor(edges.subject[first], rows.device)).double(), 0, out=total[1:])
        offsets = offsets_of(np.bincount(edges.relation[first], minlength=relations))
        return cls(offsets, edges.time[first], total, np.diff(base.offsets) > 0)

    def shift(self, rows: Tensor, queries: Queries, share: float) -> tuple[Tensor, Ids]:
        """Rows of the query entities; nothing is changed in place, so queries do not affect each other.

        Args:
            rows: [entities, d_e].
            queries: The queries.
            share: μ, the share of an unseen entity's own row.

        Returns:
            Further rows μ x + (1 - μ) mean, one per query with an unseen entity and a known relation, and the row of
            each query entity, int32 [queries], counted after the rows of the entities.
        """
        low = self.offsets[queries.relation]
        high = np.array(
            [
                start + np.searchsorted(self.first_time[start:end], before)
                for start, end, before in zip(
                    low, self.offsets[queries.relation + 1], queries.visible_before, strict=True
                )
            ],
            dtype=np.int64,
        )
        shifted = ~self.seen[queries.entity] & (high > low)
        first, end = (tensor_of(part[shifted], rows.device) for part in (low, high))
        mean = (self.total[end] - self.total[first]) / (end - first).unsqueeze(1)
        row = queries.entity.copy()
        row[shifted] = len(rows) + np.arange(len(first), dtype=np.int32)
        own = rows.index_select(0, long_tensor(queries.entity[shifted], rows.device))
        return share * own + (1 - share) * mean.to(rows.dtype), row
