"""The learning rate of an episode."""

from __future__ import annotations

import math

from fitcarl.config.schema import TrainingConfig


def learning_rate(episode: int, config: TrainingConfig) -> float:
    """Linear warm-up, and cosine decay over all episodes down to a floor.

    Warm-up and decay are multiplied, and a resumed run may get a later last episode, so the rate is a function of the
    episode alone; ``torch.optim.lr_scheduler`` would add state to every checkpoint.

    Args:
        episode: Number of the episode, from 1.
        config: ``learning_rate``, ``warmup``, ``lr_floor`` and ``episodes``.
    """
    warmup = min(1.0, episode / config.warmup) if config.warmup else 1.0
    decay = (1 + math.cos(math.pi * min(1.0, (episode - 1) / config.episodes))) / 2
    return config.learning_rate * warmup * max(decay, config.lr_floor)
