"""Sampling of actions from a policy."""

from __future__ import annotations

import torch
from torch import Tensor


def sample_actions(log_policy: Tensor, generator: torch.Generator) -> Tensor:
    """int64 [states]: one action per state, sampled from π by inverting its cumulative distribution."""
    cumulative = log_policy.double().exp().cumsum(-1)
    # Drawn on the CPU, so that a seed gives the same numbers on every device.
    drawn = torch.rand(len(log_policy), 1, dtype=torch.float64, generator=generator).to(log_policy.device)
    point = drawn * cumulative[:, -1:]
    # The point lies strictly below the total, so padding, which has probability 0 and comes last, is never sampled.
    return torch.searchsorted(cumulative, point, right=True).squeeze(1)
