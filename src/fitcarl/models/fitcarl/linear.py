"""Linear maps of many rows, computed in blocks of rows that stay in the cache."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from fitcarl.core.device import uses_compiled_loops
from fitcarl.models.fitcarl.kernels import gather_rows, scatter_rows

_ROWS = 256  # per block; one product of thousands of rows with a small matrix runs at two thirds of the speed


def linear_map(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``rows @ weightᵀ + bias``, [rows, outputs].

    Args:
        rows: [rows, inputs].
        weight: [outputs, inputs].
        bias: [outputs], or None for none.
    """
    if not uses_compiled_loops(rows):
        return linear(rows, weight, bias)
    out: Tensor = _LinearMap.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    return out


def add_rows(base: Tensor, first: Tensor, first_index: Tensor, second: Tensor, second_index: Tensor) -> Tensor:
    """``base + first[first_index] + second[second_index]``, [states, outputs]; ``base`` may be overwritten.

    Args:
        base: [states, outputs].
        first: [rows, outputs], a table.
        first_index: int64 [states].
        second: [rows, outputs], another table.
        second_index: int64 [states].
    """
    if not uses_compiled_loops(base):
        return base + first.index_select(0, first_index) + second.index_select(0, second_index)
    out: Tensor = _AddRows.apply(base, first, first_index, second, second_index)  # type: ignore[no-untyped-call]
    return out


def project_rows(rows: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """``rows[index] @ weightᵀ``; multiplies before the lookup if the table has fewer rows than the index."""
    if len(rows) < len(index):
        return (rows @ weight.T).index_select(0, index)
    return rows.index_select(0, index) @ weight.T


class _LinearMap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        out = rows.new_empty(len(rows), len(weight))
        for part, target in zip(rows.split(_ROWS), out.split(_ROWS), strict=True):
            torch.mm(part, weight.T, out=target)
            if bias is not None:
                target += bias
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        gradient = gradients[0]
        d_rows = None
        if ctx.needs_input_grad[0]:
            d_rows = torch.empty_like(rows)
            for part, target in zip(gradient.split(_ROWS), d_rows.split(_ROWS), strict=True):
                torch.mm(part, weight, out=target)
        d_weight = gradient.T @ rows if ctx.needs_input_grad[1] else None
        d_bias = torch.mv(gradient.T, gradient.new_ones(len(rows))) if ctx.needs_input_grad[2] else None
        return d_rows, d_weight, d_bias


class _AddRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, base: Tensor, first: Tensor, i: Tensor, second: Tensor, j: Tensor) -> Tensor:
        ctx.save_for_backward(i, j)
        ctx.sizes = len(first), len(second)
        ctx.mark_dirty(base)
        gather_rows(base.numpy(), first.numpy(), i.numpy(), second.numpy(), j.numpy())
        return base

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gradient, (i, j) = gradients[0].contiguous(), ctx.saved_tensors
        d_first, d_second = (gradient.new_zeros(size, gradient.shape[1]) for size in ctx.sizes)
        scatter_rows(gradient.numpy(), d_first.numpy(), i.numpy(), d_second.numpy(), j.numpy())
        return gradient, d_first, None, d_second, None
