"""The optimizer of the support encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fitcarl.core.process_group import ONE_PROCESS, BatchShard, ProcessGroup
from fitcarl.core.thread_shards import parallel_gradients
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.encoder.row_updates import ROW_WISE_FROM, RowAdam

_WEIGHT_DECAY = 1e-5


class EncoderOptimizer:
    """AdamW; in a large encoder, only the rows of the entity table that a batch reads are updated.

    Gradients of the entity table are computed for the rows of the batch. In a small encoder they are copied to one
    table of zeros that is kept: a new one for every use of the table costs more than the update itself.
    """

    def __init__(self, encoder: SupportEncoder) -> None:
        self._encoder = encoder
        table = encoder.entity.detach()
        self._rows = RowAdam(table, _WEIGHT_DECAY) if len(table) >= ROW_WISE_FROM else None
        self._gradient = None if self._rows else torch.zeros_like(table)
        encoder.entity.requires_grad = self._rows is None
        parameters = [part for part in encoder.parameters() if part.requires_grad]
        self._shared = [part for part in parameters if part is not encoder.entity]
        self._adam = torch.optim.AdamW(parameters, weight_decay=_WEIGHT_DECAY, fused=True)

    def differentiate(self, shards: Sequence[BatchShard], loss: Callable[[BatchShard], Tensor]) -> Tensor:
        """The loss of a batch; its gradients are kept for ``step``.

        Args:
            shards: The rows of this process, by threads.
            loss: The loss of a shard.
        """
        selected = self._encoder.selected
        assert selected is not None, "EncoderBatch.select_rows was called"
        return parallel_gradients(shards, loss, [*self._shared, selected.rows])

    def step(self, learning_rate: float, processes: ProcessGroup = ONE_PROCESS) -> None:
        """Updates all weights along the gradients of the last loss.

        Args:
            learning_rate: The learning rate of this update.
            processes: The processes that train together.
        """
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        selected = self._encoder.selected
        assert selected is not None, "differentiate was called"
        processes.sum_gradients([*self._shared, selected.rows])
        gradient = selected.rows.grad
        assert gradient is not None
        if self._gradient is None:
            self._adam.step()
        else:
            self._encoder.entity.grad = self._gradient.index_copy_(0, selected.ids, gradient)
            self._adam.step()
            self._gradient.index_fill_(0, selected.ids, 0.0)
        if self._rows is not None:
            self._rows.step(selected.ids, gradient, learning_rate)
