"""The interface of aggregating networks, and the tensors of neighbourhoods that they take."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding

from fitcarl.core.device import CPU
from fitcarl.core.tensors import tensor_of
from fitcarl.models.aggregation.neighbourhoods import Neighbourhoods


@dataclass(frozen=True, eq=False)
class NeighbourTensors:
    """``Neighbourhoods`` as tensors, with the entity of each row."""

    relation: Tensor
    """int64 [messages]."""
    neighbour: Tensor
    """int64 [messages]."""
    offsets: Tensor
    """int64 [rows + 1]."""
    message: Tensor
    """int64 [elements]."""
    entity: Tensor
    """int64 [rows]."""
    arrays: Neighbourhoods
    """The same neighbourhoods on the CPU."""

    @classmethod
    def of(cls, rows: Neighbourhoods, entity: NDArray[np.integer], device: torch.device = CPU) -> NeighbourTensors:
        arrays = (rows.relation, rows.neighbour, rows.offsets, rows.message, entity.astype(np.int64))
        relation, neighbour, offsets, message, entities = (tensor_of(array, device) for array in arrays)
        return cls(relation, neighbour, offsets, message, entities, rows)

    @property
    def counts(self) -> Tensor:
        """int64 [rows], messages of each row."""
        return self.offsets.diff()

    @property
    def row(self) -> Tensor:
        """int64 [elements]: the row of each element."""
        return torch.repeat_interleave(self.counts)


class AggregationNetwork(nn.Module):
    """A network that represents an entity by an aggregate of the messages of its neighbours."""

    by_query: ClassVar[bool]
    """Whether the output of an entity depends on the relation that is asked about."""

    def __init__(self, entities: int, relations: int, dim: int) -> None:
        """Random input rows of ``entities`` entities and translations of ``relations`` relations."""
        super().__init__()
        self.entity = xavier(entities, dim)
        """Input rows, [E, d]; rows of entities outside the training facts are 0 and never change."""
        self.translation = xavier(relations, dim)
        """u, [R, d]: the decoder's translations; a relation and its inverse have the same."""

    def forward(self, rows: NeighbourTensors, query_relation: Tensor) -> Tensor:
        """Output vectors [rows, d]; ``query_relation`` int64 [rows] or, for all rows the same, int64 []."""
        return self.aggregate(self.messages(rows), rows, query_relation)

    @abstractmethod
    def messages(self, rows: NeighbourTensors) -> tuple[Tensor, ...]:
        """What follows from the distinct messages alone, whatever is asked."""

    @abstractmethod
    def aggregate(self, messages: tuple[Tensor, ...], rows: NeighbourTensors, query_relation: Tensor) -> Tensor:
        """Output vectors [rows, d] from the result of ``messages``; rows without messages get their input row."""

    def with_rows(self, total: Tensor, rows: NeighbourTensors) -> Tensor:
        """``total`` [rows, d], with the input row of the entity where there are no messages."""
        empty = torch.nonzero(rows.counts == 0).squeeze(1)
        return total.index_copy(0, empty, embedding(rows.entity[empty], self.entity)) if len(empty) else total


def xavier(*shape: int) -> nn.Parameter:
    """A parameter with Glorot's uniform distribution over its last two dimensions."""
    bound = (6 / (shape[-2] + shape[-1])) ** 0.5
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))
