"""The training loss of a task (Eq. 12)."""

from __future__ import annotations

import torch
from torch import Tensor

from fitcarl.config.schema import FitcarlTrainingConfig
from fitcarl.core.process_group import BatchShard
from fitcarl.models.fitcarl.rewards import returns, standardise
from fitcarl.models.fitcarl.rollout import Rollout


def task_loss(
    rollout: Rollout, rewards: Tensor, config: FitcarlTrainingConfig, episode: int = 1, shard: BatchShard | None = None
) -> Tensor:
    """L_T (Eq. 12): the mean over queries of Σ_l γˡ (η L_KL - log π(a) R).

    The paper weights a step by its own reward; ``reward = "return"``, the baseline and the entropy bonus are additions,
    and without ``discount_loss`` the factor γˡ is left out.

    Args:
        rollout: Sampled actions with log π(a) and, if the regularizer is on, L_KL of every step.
        rewards: [steps, queries], of all queries of the task, over which the baseline is computed.
        config: γ is ``gamma``, η is ``kl_weight``.
        episode: Number of the episode, from 1; the entropy bonus fades with it.
        shard: The queries of the rollout, over which the mean is taken; by default all.
    """
    weight = returns(rewards, config.gamma) if config.reward == "return" else rewards
    if config.baseline == "mean":
        weight = weight - weight.mean(1, keepdim=True)
    elif config.baseline == "standardise":
        weight = standardise(weight)
    if shard is not None:
        weight = weight[:, shard.rows]
    per_step = -torch.stack(rollout.log_policy) * weight.detach()
    if rollout.divergence:
        per_step = per_step + config.kl_weight * torch.stack(rollout.divergence)
    if rollout.entropy:
        per_step = per_step - config.entropy_bonus(episode) * torch.stack(rollout.entropy)
    if not config.discount_loss:
        return per_step.sum(0).mean()
    discount = config.gamma ** torch.arange(len(per_step), dtype=per_step.dtype, device=per_step.device)
    return (discount @ per_step).mean()
