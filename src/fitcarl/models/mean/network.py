"""MEAN's network: transitions of neighbours, and their mean."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import embedding, layer_norm, relu

from fitcarl.config.mean import MeanNetworkConfig
from fitcarl.data.relations import RelationIds
from fitcarl.models.aggregation.decoder import project, weighted_sum
from fitcarl.models.aggregation.network import AggregationNetwork, NeighbourTensors, xavier

SLOTS = 64
"""Neighbours that the public code has room for; an unmasked mean divides by at least this number."""


class MeanNetwork(AggregationNetwork):
    """v_e = mean of T_r(x_n) over the distinct neighbours (r, n) of e."""

    by_query: ClassVar[bool] = False

    def __init__(self, config: MeanNetworkConfig, entities: int, relations: RelationIds) -> None:
        super().__init__(entities, relations.count, config.dim)
        self.config = config
        if config.transition == "linear":
            self.transition = xavier(relations.directed, config.dim, config.dim)
        else:
            self.transition = xavier(relations.directed, config.dim)
        if not config.masked:
            self.padding = xavier(1, config.dim)
            """The message of an empty slot, [1, d]."""

    def messages(self, rows: NeighbourTensors) -> tuple[Tensor, ...]:
        """T_r(x_n), [messages, d]."""
        sender = embedding(rows.neighbour, self.entity)
        if self.config.transition == "linear":
            return (relu(layer_norm(relation_products(sender, rows.relation, self.transition), sender.shape[-1:])),)
        return (project(sender, rows.relation, self.transition),)

    def aggregate(self, messages: tuple[Tensor, ...], rows: NeighbourTensors, query_relation: Tensor) -> Tensor:  # noqa: ARG002
        """The mean over each row, whatever relation is asked about."""
        [message] = messages
        total, count = weighted_sum(message, rows.message, rows.offsets), rows.counts[:, None]
        if not self.config.masked:
            empty = (SLOTS - count).clamp(min=0)
            total, count = total + empty * self.padding, count + empty
        return self.with_rows(total / count.clamp(min=1), rows)


def relation_products(x: Tensor, relation: Tensor, matrix: Tensor) -> Tensor:
    """A_r x for each row x with its relation r, [n, d]; ``relation`` int64 [n] ascending, ``matrix`` [relations, d, d].

    One product per relation: gathering a matrix for each row would need n · d² numbers.
    """
    sizes = torch.bincount(relation, minlength=len(matrix)).tolist()
    parts = zip(x.split(sizes), matrix.unbind(), strict=True)
    return torch.cat([part @ weight.T for part, weight in parts if len(part)]) if len(x) else x
