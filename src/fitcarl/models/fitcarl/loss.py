"""What learning makes small (Eq. 12)."""

from __future__ import annotations

import torch
from torch import Tensor

from fitcarl.config.schema import FitcarlTrainingConfig
from fitcarl.models.fitcarl.rewards import returns
from fitcarl.models.fitcarl.rollout import Rollout


def task_loss(rollout: Rollout, rewards: Tensor, config: FitcarlTrainingConfig) -> Tensor:
    """L_T: the mean over queries of Σ_l γˡ (η L_KL - log π(a) R), for rewards [steps, queries].

    In the paper a step is weighed by its own reward; ``reward = "return"``, a baseline and an entropy bonus are ours.
    """
    weight = returns(rewards, config.gamma) if config.reward == "return" else rewards
    if config.baseline:
        weight = weight - weight.mean(1, keepdim=True)
    per_step = -torch.stack(rollout.log_policy) * weight.detach()
    if rollout.divergence:
        per_step = per_step + config.kl_weight * torch.stack(rollout.divergence)
    if rollout.entropy:
        per_step = per_step - config.entropy_coef * torch.stack(rollout.entropy)
    discount = config.gamma ** torch.arange(len(per_step), dtype=per_step.dtype)
    return (discount @ per_step).mean()
