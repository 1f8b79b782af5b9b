"""Gradients of a batch whose rows are divided among the threads of one process.

Each thread computes forward and backward passes of its rows alone. Threads within every operation would wait for each
other after each of hundreds of short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from fitcarl.core.parallel import parallel_map, thread_count
from fitcarl.core.process_group import BatchShard

_MIN_ROWS = 64
"""Rows for which another thread is used."""


def thread_shards(shard: BatchShard, device: torch.device, min_rows: int = _MIN_ROWS) -> list[BatchShard]:
    """The rows of a process, divided among its threads; undivided on a GPU.

    Args:
        shard: The rows of the process.
        device: Where they are computed.
        min_rows: The least number of rows for which another thread is used.
    """
    rows = shard.rows.stop - shard.rows.start
    parts = max(1, min(thread_count(), rows // min_rows)) if device.type == "cpu" else 1
    bounds = [shard.rows.start + rows * part // parts for part in range(parts + 1)]
    return [
        BatchShard(slice(low, high), shard.share * (high - low) / max(rows, 1), shard.total)
        for low, high in pairwise(bounds)
    ]


def parallel_gradients(
    shards: Sequence[BatchShard], loss: Callable[[BatchShard], Tensor], parameters: Sequence[Tensor]
) -> Tensor:
    """The sum of the losses of all shards; its gradients replace those of the parameters.

    Gradients are added in the order of the shards, so the same shards give the same sums.

    Args:
        shards: Parts of a batch.
        loss: The loss of a part, a scalar; called by several threads at the same time.
        parameters: What is differentiated; a parameter that no loss depends on gets no gradient.
    """

    def differentiate(shard: BatchShard) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        value = loss(shard)
        return value.detach(), torch.autograd.grad(value, parameters, allow_unused=True)

    total, gradients = sum_in_order(parallel_map(shards, differentiate))
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    return total


def sum_in_order(parts: Iterable[tuple[Tensor, Sequence[Tensor | None]]]) -> tuple[Tensor, list[Tensor | None]]:
    """The sum of values, and the sum of their gradients, added in the order of the parts.

    Args:
        parts: A value and its gradient by each parameter, None if it does not depend on it; at least one part.
    """
    value, gradients = None, None
    for part_value, part_gradients in parts:
        if value is None or gradients is None:
            value, gradients = part_value, list(part_gradients)
            continue
        value = value + part_value
        for number, gradient in enumerate(part_gradients):
            if gradient is not None:  # never added in place: two parameters may have got the same tensor
                before = gradients[number]
                gradients[number] = gradient if before is None else before + gradient
    assert value is not None
    assert gradients is not None
    return value, gradients


def with_gradients(value: Tensor, gradients: Sequence[Tensor | None], parameters: Sequence[Tensor]) -> Tensor:
    """A value whose backward pass gives the parameters gradients that are already computed.

    Args:
        value: A scalar.
        gradients: The gradient of the value by each parameter, or None.
        parameters: What it was differentiated by.
    """
    found: Tensor = _KnownGradients.apply(value, gradients, *parameters)  # type: ignore[no-untyped-call]
    return found


class _KnownGradients(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, value: Tensor, gradients: Sequence[Tensor | None], *_: Tensor) -> Tensor:
        context.gradients = gradients
        return value.clone()

    @staticmethod
    def backward(context: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(None if gradient is None else gradient * scale for gradient in context.gradients)
