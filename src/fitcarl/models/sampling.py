"""Sampling of actions from a policy."""

from __future__ import annotations

import torch
from torch import Tensor

from fitcarl.core.process_group import BatchShard


def sample_actions(log_policy: Tensor, generator: torch.Generator, shard: BatchShard | None = None) -> Tensor:
    """int64 [states]: one action per state, sampled from π by inverting its cumulative distribution.

    Args:
        log_policy: [states, actions].
        generator: Source of randomness.
        shard: Which states of a batch these are, for the same actions as in the whole batch; by default all.
    """
    cumulative = log_policy.double().exp().cumsum(-1)
    total, rows = (len(log_policy), slice(None)) if shard is None else (shard.total, shard.rows)
    # Drawn on the CPU, so that a seed gives the same numbers on every device.
    drawn = torch.rand(total, 1, dtype=torch.float64, generator=generator)[rows].to(log_policy.device)
    point = drawn * cumulative[:, -1:]
    # The point lies strictly below the total, so padding, which has probability 0 and comes last, is never sampled.
    return torch.searchsorted(cumulative, point, right=True).squeeze(1)
