"""LAN's network: neural and logic attention over the messages of an entity."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding

from fitcarl.config.lan import LanNetworkConfig
from fitcarl.core.tensors import tensor_of
from fitcarl.data.relations import RelationIds
from fitcarl.models.aggregation.decoder import project, weighted_sum
from fitcarl.models.aggregation.network import AggregationNetwork, NeighbourTensors, xavier
from fitcarl.models.lan.logic import strongest_rivals


class LanNetwork(AggregationNetwork):
    """o_e(q) = Σ_j (a_j + l_j) p_j over the messages p_j of e, with weights that depend on the query relation q."""

    by_query: ClassVar[bool] = True

    def __init__(
        self, config: LanNetworkConfig, entities: int, relations: RelationIds, implications: NDArray[np.float32]
    ) -> None:
        """Random weights; ``implications`` is P(x ⇒ y), float32 [2R, 2R]."""
        super().__init__(entities, relations.count, config.dim)
        self.config = config
        self.normal = xavier(relations.directed, config.dim)
        self.query = xavier(relations.directed, config.dim)
        """z, [2R, d]."""
        self.attention = xavier(2 * config.dim, 2 * config.dim)
        """A = [A_q | A_p], [2d, 2d]: A_q is applied to z_q, A_p to the message."""
        self.combine = xavier(2 * config.dim, 1)
        """v, [2d, 1]."""
        self.implications = implications

    def messages(self, rows: NeighbourTensors) -> tuple[Tensor, ...]:
        """p_j = T_r(x_n) [messages, d], A_p p_j [messages, 2d], and 1 + the strongest rival [elements]."""
        message = project(embedding(rows.neighbour, self.entity), rows.relation, self.normal)
        arrays = rows.arrays
        strongest = strongest_rivals(arrays.offsets, arrays.relation[arrays.message], self.implications)
        rival = tensor_of(strongest, message.device)
        return message, message @ self.attention[:, self.config.dim :].T, 1 + rival

    def aggregate(self, messages: tuple[Tensor, ...], rows: NeighbourTensors, query_relation: Tensor) -> Tensor:
        """Σ_j (a_j + l_j) p_j of each row, asked about its query relation."""
        message, hidden, rival = messages
        asked = self.query[query_relation] @ self.attention[:, : self.config.dim].T
        implied = tensor_of(self.implications, message.device)
        if query_relation.ndim:  # one query relation per row: logits differ between the rows of a message
            row = rows.row
            logit = (torch.tanh(hidden[rows.message] + asked[row]) @ self.combine).squeeze(1)
            logic = implied[rows.relation[rows.message], query_relation[row]]
        else:
            logit = (torch.tanh(hidden + asked) @ self.combine).squeeze(1)[rows.message]
            logic = implied[:, query_relation][rows.relation][rows.message]
        weight = segment_softmax(logit, rows) + logic / rival
        return self.with_rows(weighted_sum(message, rows.message, rows.offsets, weight), rows)


def segment_softmax(logit: Tensor, rows: NeighbourTensors) -> Tensor:
    """Softmax of the logits [elements] within each row."""
    row, count = rows.row, len(rows.entity)
    highest = torch.full((count,), -torch.inf, device=logit.device).scatter_reduce(0, row, logit.detach(), "amax")
    weight = torch.exp(logit - highest[row])
    total = torch.zeros(count, device=logit.device).index_add(0, row, weight)
    return weight / total[row]
