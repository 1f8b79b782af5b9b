"""One training task from supports to gradients (one pass of Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fitcarl.config.schema import Config
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.fitcarl.loss import task_loss
from fitcarl.models.fitcarl.network import Asked, Fitcarl, Scene
from fitcarl.models.fitcarl.rewards import reward
from fitcarl.models.fitcarl.rollout import ConceptGuide, Rollout, roll_out
from fitcarl.tasks.task import Queries, Task


@dataclass(frozen=True)
class Episode:
    """What one task gave."""

    loss: Tensor
    """Scalar, with the graph of operations that led to it."""
    reward: float
    """Mean reward of the last step."""
    arrived: float
    """Share of walks that ended at the answer."""


def play(
    model: Fitcarl,
    background: TemporalGraph,
    task: Task,
    config: Config,
    guide: ConceptGuide | None,
    reach: int,
    seed: int,
) -> Episode:
    """Encodes the task's entities, walks once for every query, and weighs the walks."""
    scene = model.scene(background, task.support, reach, seed)
    asked = model.ask(scene, task.queries)
    generator = torch.Generator().manual_seed(seed)
    rollout = roll_out(model, scene, asked, generator, guide, with_entropy=config.learn.entropy > 0)
    rewards = step_rewards(scene, asked, task.queries, rollout, config.learn.margin)
    arrived = (rollout.entity[-1] == task.queries.answer).mean()
    return Episode(task_loss(rollout, rewards, config.learn), float(rewards[-1].mean()), float(arrived))


@torch.no_grad()
def step_rewards(scene: Scene, asked: Asked, queries: Queries, rollout: Rollout, margin: float) -> Tensor:
    """R of every step, [steps, queries]; e' is measured by that query's own h_e', as a step and as an answer."""

    def represented(entity: Ids) -> Tensor:
        own = torch.from_numpy(entity == queries.entity).unsqueeze(1)
        return torch.where(own, asked.own, scene.represent(entity))

    answer = represented(queries.answer)
    return torch.stack([reward(answer, represented(entity), margin) for entity in rollout.entity])
