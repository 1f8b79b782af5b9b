"""Gradients of a batch whose rows are divided among the threads of one process.

Each thread computes forward and backward passes of its rows alone. Threads within every operation would wait for each
other after each of hundreds of short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

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

    total: Tensor | None = None
    for parameter in parameters:
        parameter.grad = None
    for value, gradients in parallel_map(shards, differentiate):
        total = value if total is None else total + value
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:  # never added in place: two parameters may have got the same tensor
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
    assert total is not None
    return total
