"""Updates of single rows of a large table of embeddings; the cost does not depend on the number of rows."""

from __future__ import annotations

import math

import torch
from torch import Tensor

ROW_WISE_FROM = 40_000
"""Entities from which on only the rows of a batch are updated. Below, updates of all rows cost little."""
_BETAS, _EPSILON = (0.9, 0.999), 1e-8


class RowAdam:
    """Adam with decoupled weight decay for the rows of one table; moments of other rows stay as they are.

    ``torch.optim.SparseAdam`` has no weight decay and needs sparse gradients, whose sums depend on the order of
    threads.
    """

    def __init__(self, table: Tensor, weight_decay: float) -> None:
        self._table, self._weight_decay = table, weight_decay
        self._mean, self._square = torch.zeros_like(table), torch.zeros_like(table)
        self._updates = 0

    def step(self, rows: Tensor, gradient: Tensor, learning_rate: float) -> None:
        """Updates distinct rows.

        Args:
            rows: int64 [rows].
            gradient: [rows, dim].
            learning_rate: The learning rate of this update.
        """
        self._updates += 1
        mean = self._mean[rows].lerp_(gradient, 1 - _BETAS[0])
        square = self._square[rows].mul_(_BETAS[1]).addcmul_(gradient, gradient, value=1 - _BETAS[1])
        self._mean[rows], self._square[rows] = mean, square
        size = learning_rate / (1 - _BETAS[0] ** self._updates)
        root = square.sqrt_().div_(math.sqrt(1 - _BETAS[1] ** self._updates)).add_(_EPSILON)
        kept = self._table[rows].mul_(1 - learning_rate * self._weight_decay)
        self._table[rows] = kept.addcdiv_(mean, root, value=-size)
