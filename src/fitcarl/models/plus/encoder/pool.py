"""The pool of a large encoder: the entities that every query is compared with.

Scoring every entity would cost more with every entity of the graph. Instead the entities with the highest bias, which
are the most frequent ones in training, are scored for every query, and a sample of the others represents them in the
normalisation. Candidates outside of the pool are scored one by one. The pool depends on the trained weights only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.tensors import array_of
from fitcarl.models.plus.features.inputs import UNKNOWN_BIAS

POOL_FROM = 40_000
"""Entities from which on a pool is used; below, all entities are scored."""
_FREQUENT, _SAMPLED = 16_384, 4_096


@dataclass(frozen=True, eq=False)
class Pool:
    """Entities that are scored for every query."""

    entity: NDArray[np.int64]
    """int64 [pool]: the frequent entities first, then the sample of the others."""
    rows: Tensor
    """float32 [pool, dim]."""
    bias: Tensor
    """float32 [pool]; that of a sampled entity includes the log of how many it represents."""
    log_weight: Tensor
    """float32 [pool]: that log; 0 for the frequent ones."""

    @classmethod
    def of(cls, rows: Tensor, bias: Tensor) -> Pool:
        """The pool of an encoder.

        Args:
            rows: float32 [entities, dim]: the rows of all entities as answers.
            bias: float32 [entities]; very low for entities that were not in training.
        """
        order = torch.argsort(bias, descending=True, stable=True)
        order = order[: int((bias > UNKNOWN_BIAS).sum())]
        others = order[_FREQUENT:]
        chosen = others[torch.linspace(0, max(len(others) - 1, 0), min(_SAMPLED, len(others))).long()]
        pool = torch.cat([order[:_FREQUENT], chosen])
        represented = np.log(len(others) / len(chosen)) if len(chosen) else 0.0
        log_weight = bias.new_zeros(len(pool))
        log_weight[_FREQUENT:] = represented
        return cls(array_of(pool), rows[pool].contiguous(), bias[pool] + log_weight, log_weight)
