"""The inductive mean (IM): the row of an unseen query entity, from the entities that occur with the query relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fitcarl.core.tensors import long_tensor
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.tasks.task import Queries


@dataclass(frozen=True, eq=False)
class InductiveMean:
    """Means over the distinct subjects of every directed relation in a background."""

    mean: Tensor
    """[2R, d_e]."""
    known: Tensor
    """bool [2R]: whether the relation has a subject."""
    seen: Tensor
    """bool [entities]: whether the entity has a fact in the background."""

    @classmethod
    def of(cls, graph: TemporalGraph, rows: Tensor) -> InductiveMean:
        """The means of the rows [entities, d_e] on the background of a graph."""
        base, relations = graph.base, graph.relations.directed
        edges = base.edges()
        pair = np.unique(edges.relation.astype(np.int64) * graph.entities + edges.subject)
        relation, entity = (torch.from_numpy(part) for part in np.divmod(pair, max(1, graph.entities)))
        total = rows.new_zeros(relations, rows.shape[1]).index_add_(0, relation, rows.index_select(0, entity))
        count = torch.bincount(relation, minlength=relations)
        mean = total / count.clamp(min=1).unsqueeze(1)
        return cls(mean, count > 0, torch.from_numpy(np.diff(base.offsets) > 0))

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
        entity, relation = long_tensor(queries.entity), long_tensor(queries.relation)
        shifted = ~self.seen[entity] & self.known[relation]
        own, mean = rows.index_select(0, entity[shifted]), self.mean.index_select(0, relation[shifted])
        row = queries.entity.copy()
        row[shifted.numpy()] = len(rows) + np.arange(len(own), dtype=np.int32)
        return share * own + (1 - share) * mean, row
