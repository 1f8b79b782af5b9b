"""What an action is worth: the closer its entity is to the answer, the more."""

from __future__ import annotations

import torch
from torch import Tensor


def reward(answer: Tensor, chosen: Tensor, margin: float) -> Tensor:
    """R = sigmoid(θ - ‖h_answer - h_e_a‖₂), [queries], for representations [queries, d]."""
    return torch.sigmoid(margin - torch.linalg.vector_norm(answer - chosen, dim=-1))


def returns(rewards: Tensor, discount: float) -> Tensor:
    """The discounted sum of the rewards from each step on, [steps, queries]."""
    out = rewards.clone()
    for step in range(len(rewards) - 2, -1, -1):
        out[step] += discount * out[step + 1]
    return out
