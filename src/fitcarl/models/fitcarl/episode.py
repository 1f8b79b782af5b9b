"""One training task from supports to gradients (one pass of Algorithm 1)."""

from __future__ import annotations

import torch
from torch import Tensor

from fitcarl.config.schema import FitcarlConfig
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import EpisodeResult
from fitcarl.models.fitcarl.loss import task_loss
from fitcarl.models.fitcarl.network import EncodedQueries, Fitcarl, TaskContext
from fitcarl.models.fitcarl.rewards import reward
from fitcarl.models.fitcarl.rollout import ConceptPrior, Rollout, sample_rollout
from fitcarl.tasks.task import Queries, Task


def play(
    model: Fitcarl,
    background: TemporalGraph,
    task: Task,
    config: FitcarlConfig,
    concept_prior: ConceptPrior | None,
    max_delta: int,
    seed: int,
) -> EpisodeResult:
    """Encodes the task's entities, walks once for every query, and weighs the walks."""
    context = model.encode_task(background, task.support, max_delta, seed)
    encoded = model.encode_queries(context, task.queries)
    generator = torch.Generator().manual_seed(seed)
    rollout = sample_rollout(
        model, context, encoded, generator, concept_prior, with_entropy=config.training.entropy_coef > 0
    )
    rewards = step_rewards(context, encoded, task.queries, rollout, config.training.reward_margin)
    hit_rate = (rollout.entity[-1] == task.queries.answer).mean()
    metrics = {"reward": float(rewards[-1].mean()), "hit_rate": float(hit_rate)}
    return EpisodeResult(task_loss(rollout, rewards, config.training), metrics)


@torch.no_grad()
def step_rewards(
    context: TaskContext, encoded: EncodedQueries, queries: Queries, rollout: Rollout, margin: float
) -> Tensor:
    """R of every step, [steps, queries]; e' is measured by that query's own h_e', as a step and as an answer."""

    def represented(entity: Ids) -> Tensor:
        own = torch.from_numpy(entity == queries.entity).unsqueeze(1)
        return torch.where(own, encoded.entity_embedding, context.represent(entity))

    answer = represented(queries.answer)
    return torch.stack([reward(answer, represented(entity), margin) for entity in rollout.entity])
