"""Where the agent has been: a GRU over the nodes and relations of its path (Eq. 3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class HistoryEncoder(nn.Module):
    """h_hist, [states, 3d], from a relation, an entity and a time difference a step."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension
        self.cell = nn.GRUCell(3 * dimension, 3 * dimension)

    def begin(self, dummy: Tensor, entity: Tensor, now: Tensor) -> Tensor:
        """hist⁽⁰⁾ = GRU(h_dummy ‖ h_e' ‖ h_0, 0); the dummy relation [d] and Δt = 0 [d] are the same for everybody."""
        by_relation, by_entity, by_time = self._input_weights()
        constant = dummy @ by_relation.T + now @ by_time.T
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
        """hist⁽ˡ⁾ after a step along ``relation`` (row numbers) to ``entity`` [states, d] at ``difference``."""
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
    """``rows[index] @ weightᵀ``, multiplying whichever is fewer: the rows, or those that are encoded for."""
    if len(rows) < len(index):
        return (rows @ weight.T).index_select(0, index)
    return rows.index_select(0, index) @ weight.T
