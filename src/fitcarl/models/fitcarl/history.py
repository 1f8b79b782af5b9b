"""The search history: a GRU over the relations and nodes of a path (Eq. 3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class HistoryEncoder(nn.Module):
    """h_hist, [states, 3d]; each step reads a relation, an entity and a time difference (Eq. 3).

    Equals ``nn.GRUCell`` on the concatenated input. The input weights are applied part by part, because the relation
    and time parts take few distinct values.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension
        self.cell = nn.GRUCell(3 * dimension, 3 * dimension)

    def begin(self, dummy: Tensor, entity: Tensor, h_0: Tensor) -> Tensor:
        """hist⁽⁰⁾ = GRU(h_dummy ‖ h_e' ‖ h_0, 0).

        Args:
            dummy: [d], the dummy relation.
            entity: [states, d], h_e'.
            h_0: [d], the encoding of Δt = 0.
        """
        by_relation, by_entity, by_time = self._input_weights()
        constant = dummy @ by_relation.T + h_0 @ by_time.T
        return self._gates(entity @ by_entity.T + (constant + self.cell.bias_ih), self.cell.bias_hh, None)

    def step(
        self,
        hidden: Tensor,
        relation_rows: Tensor,
        relation: Tensor,
        entity: Tensor,
        time_rows: Tensor,
        difference: Tensor,
    ) -> Tensor:
        """hist⁽ˡ⁾ = GRU(h_r ‖ h_e ‖ h_Δt, hist⁽ˡ⁻¹⁾).

        Args:
            hidden: [states, 3d], hist⁽ˡ⁻¹⁾.
            relation_rows: [relations, d], the table of relations.
            relation: int64 [states], rows of that table.
            entity: [states, d], embeddings of the reached entities.
            time_rows: [2 max_delta + 1, d], the time table.
            difference: int64 [states], rows of that table.
        """
        by_relation, by_entity, by_time = self._input_weights()
        inputs = entity @ by_entity.T + self.cell.bias_ih
        inputs = inputs + _project(relation_rows, relation, by_relation) + _project(time_rows, difference, by_time)
        return self._gates(inputs, torch.addmm(self.cell.bias_hh, hidden, self.cell.weight_hh.T), hidden)

    def _input_weights(self) -> tuple[Tensor, ...]:
        return self.cell.weight_ih.split(self.dimension, dim=1)

    @staticmethod
    def _gates(inputs: Tensor, state: Tensor, hidden: Tensor | None) -> Tensor:
        width = inputs.shape[-1] // 3
        gates = torch.sigmoid(inputs[..., : 2 * width] + state[..., : 2 * width])
        reset, update = gates.split(width, -1)
        new = torch.tanh(torch.addcmul(inputs[..., 2 * width :], reset, state[..., 2 * width :].expand_as(reset)))
        return new - update * new if hidden is None else torch.lerp(new, hidden, update)


def _project(rows: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """``rows[index] @ weightᵀ``; multiplies before the lookup if the table has fewer rows than the index."""
    if len(rows) < len(index):
        return (rows @ weight.T).index_select(0, index)
    return rows.index_select(0, index) @ weight.T
