"""The search history: a GRU over the relations and nodes of a path (Eq. 3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fitcarl.models.fitcarl.linear import add_rows, linear_map


class HistoryEncoder(nn.Module):
    """h_hist, [states, 3d]; each step reads a relation, an entity and a time difference (Eq. 3).

    Equals ``nn.GRUCell`` on the concatenated input. The input weights are applied part by part, and to tables before
    the lookup, because relations and times take few distinct values.
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
        return self._gates(linear_map(entity, by_entity, constant + self.cell.bias_ih), self.cell.bias_hh, None)

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
        relation_rows, relation = _used_rows(relation_rows, relation)
        time_rows, difference = _used_rows(time_rows, difference)
        from_relation = torch.addmm(self.cell.bias_ih, relation_rows, by_relation.T)
        inputs = linear_map(entity, by_entity)
        inputs = add_rows(inputs, from_relation, relation, time_rows @ by_time.T, difference)
        return self._gates(inputs, linear_map(hidden, self.cell.weight_hh, self.cell.bias_hh), hidden)

    def _input_weights(self) -> tuple[Tensor, ...]:
        return self.cell.weight_ih.split(self.dimension, dim=1)

    @staticmethod
    def _gates(inputs: Tensor, state: Tensor, hidden: Tensor | None) -> Tensor:
        width = inputs.shape[-1] // 3
        # Split, not sliced: the gradient of each slice would be a whole array of zeros.
        (gate_inputs, new_inputs), (gate_state, new_state) = (
            part.split([2 * width, width], -1) for part in (inputs, state)
        )
        reset, update = torch.sigmoid(gate_inputs + gate_state).split(width, -1)
        new = torch.tanh(torch.addcmul(new_inputs, reset, new_state.expand_as(reset)))
        return new - update * new if hidden is None else torch.lerp(new, hidden, update)


def _used_rows(rows: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """A table with at most as many rows as the index, and the index into it."""
    if len(rows) <= len(index):
        return rows, index
    return rows.index_select(0, index), torch.arange(len(index), device=rows.device)
