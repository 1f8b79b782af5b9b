"""The compiled loops of TITer as PyTorch operations, for tensors that are not on the CPU.

Results and gradients are those of ``kernels`` up to rounding. States are processed in chunks whose gathered rows are
computed again in the backward pass, so that memory does not grow with the number of states.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from fitcarl.core.tensors import tensor_of
from fitcarl.models.titer.kernels import GatedActions

_NUMBERS = 1 << 25
"""Numbers of gathered rows per chunk, 4 bytes each."""


def torch_gated_scores(
    vectors: Tensor, state_gate: Tensor, tables: tuple[Tensor, ...], actions: GatedActions
) -> Tensor:
    """``score_actions`` as PyTorch operations, on the device of its tensors.

    Args:
        vectors: [states, d_r + d_e + d_t].
        state_gate: [states].
        tables: Relations, entities and lags, and the part of the gate of each of their rows.
        actions: Rows of the tables for every action.
    """
    width = actions.relation.shape[1]
    chunk = max(1, _NUMBERS // max(1, width * vectors.shape[1]))
    parts = []
    for low in range(0, len(vectors), chunk):
        part = slice(low, low + chunk)
        rows = [tensor_of(array[part], vectors.device) for array in actions]
        parts.append(
            checkpoint(
                _chunk_scores,
                vectors[part],
                state_gate[part],
                *tables,
                *rows,
                use_reentrant=False,
                preserve_rng_state=False,
            )
        )
    return torch.cat(parts) if parts else vectors.new_zeros(0, width)


def _chunk_scores(
    vectors: Tensor,
    state_gate: Tensor,
    relation_rows: Tensor,
    entity_rows: Tensor,
    lag_rows: Tensor,
    relation_gate: Tensor,
    entity_gate: Tensor,
    lag_gate: Tensor,
    relation: Tensor,
    entity: Tensor,
    lag: Tensor,
    mask: Tensor,
) -> Tensor:
    """[states, actions] of one chunk; the last four are [states, actions]."""
    flat, shape = [index.flatten() for index in (relation, entity, lag)], relation.shape
    x_r, x_e, x_t = (
        rows.index_select(0, index).view(*shape, rows.shape[1])
        for rows, index in zip((relation_rows, entity_rows, lag_rows), flat, strict=True)
    )
    gates = (
        gate.index_select(0, index).view(shape)
        for gate, index in zip((relation_gate, entity_gate, lag_gate), flat, strict=True)
    )
    gate = torch.sigmoid(sum(gates, start=state_gate.unsqueeze(1)))
    o_r, o_x = vectors.split([x_r.shape[2], x_e.shape[2] + x_t.shape[2]], 1)
    by_relation = (x_r @ o_r.unsqueeze(2)).squeeze(2)
    by_entity = (torch.cat([x_e, x_t], 2) @ o_x.unsqueeze(2)).squeeze(2)
    return torch.lerp(by_relation, by_entity, gate).masked_fill(~mask, 0)
