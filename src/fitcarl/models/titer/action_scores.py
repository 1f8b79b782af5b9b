"""Gated scores of actions as a differentiable operation; embeddings stay in their tables (see ``kernels``)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fitcarl.core.device import uses_compiled_loops
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.models.titer.kernels import GatedActions, GatedParts, GatedTables, gated_scores, gated_scores_backward
from fitcarl.models.titer.torch_kernels import torch_gated_scores


def score_actions(vectors: Tensor, state_gate: Tensor, tables: tuple[Tensor, ...], actions: GatedActions) -> Tensor:
    """(1 - g) r · o_r + g x_e(lag) · o_e of every action, with g = sigmoid of the summed gate parts.

    Args:
        vectors: [states, d_r + d_e + d_t], o_r ‖ o_e.
        state_gate: [states], the part of the gate that depends on the state, bias included.
        tables: Relations [·, d_r], entities [·, d_e], lags [·, d_t], and the part of the gate of each of their rows.
        actions: Rows of the tables for every action.

    Returns:
        [states, actions]; 0 where an action is not allowed.
    """
    if not uses_compiled_loops(vectors):
        return torch_gated_scores(vectors, state_gate, tables, actions)
    out: Tensor = _GatedScores.apply(actions, vectors, state_gate, *tables)  # type: ignore[no-untyped-call]
    return out


class _GatedScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, actions: GatedActions, vectors: Tensor, state_gate: Tensor, *tables: Tensor) -> Tensor:
        vectors, state_gate, *tables_ = (tensor.contiguous() for tensor in (vectors, state_gate, *tables))
        out = vectors.new_zeros(actions.relation.shape)
        parts = [torch.empty_like(out) for _ in range(3)]
        ctx.save_for_backward(vectors, *tables_, *parts)
        ctx.actions = actions
        arguments = vectors.numpy(), state_gate.numpy(), _tables(tables_), actions, _parts(parts), out.numpy()
        parallel_for(split_range(len(vectors)), lambda _, low, high: gated_scores(low, high, *arguments))
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vectors, *rest = ctx.saved_tensors
        tables, parts = rest[:6], rest[6:]
        d_vectors, d_state_gate = torch.zeros_like(vectors), vectors.new_zeros(len(vectors))
        # States share the tables, so each thread adds to its own copy; copies are summed in a fixed order.
        ranges = split_range(len(vectors))
        copies = [[torch.zeros_like(table) for table in tables] for _ in ranges]
        gradient = gradients[0].contiguous().numpy()
        arguments = gradient, vectors.numpy(), _tables(tables), ctx.actions, _parts(parts)

        def work(part: int, low: int, high: int) -> None:
            d_tables = _tables(copies[part])
            gated_scores_backward(low, high, *arguments, d_vectors.numpy(), d_state_gate.numpy(), d_tables)

        parallel_for(ranges, work)
        d_tables = copies[0]
        for copy in copies[1:]:
            for total, other in zip(d_tables, copy, strict=True):
                total += other
        return (None, d_vectors, d_state_gate, *d_tables)


def _tables(tables: list[Tensor]) -> GatedTables:
    return GatedTables(*(table.numpy() for table in tables))


def _parts(parts: list[Tensor]) -> GatedParts:
    return GatedParts(*(part.numpy() for part in parts))
