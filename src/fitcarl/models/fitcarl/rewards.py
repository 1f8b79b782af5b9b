"""Rewards of the actions of a path: the closer the reached entity is to the answer, the higher (section "Reward")."""

from __future__ import annotations

import torch
from torch import Tensor


def reward(answer: Tensor, chosen: Tensor, margin: float) -> Tensor:
    """R = sigmoid(θ - ‖h_answer - h_e_a‖₂), [queries].

    Args:
        answer: [queries, d], embeddings of the answers.
        chosen: [queries, d], embeddings of the entities of the chosen actions.
        margin: θ.
    """
    return torch.sigmoid(margin - torch.linalg.vector_norm(answer - chosen, dim=-1))


def returns(rewards: Tensor, gamma: float) -> Tensor:
    """The discounted sum of rewards from each step on, [steps, queries]."""
    out = rewards.clone()
    for step in range(len(rewards) - 2, -1, -1):
        out[step] += gamma * out[step + 1]
    return out


def standardise(weights: Tensor) -> Tensor:
    """The same weights, shifted and scaled to mean 0 and deviation 1 over all steps and queries."""
    return (weights - weights.mean()) / (weights.std() + 1e-6)
