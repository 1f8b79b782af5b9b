"""One training task, from its support set to the loss (one iteration of Algorithm 1)."""

from __future__ import annotations

import torch
from torch import Tensor

from fitcarl.config.schema import FitcarlConfig
from fitcarl.core.process_group import ONE_PROCESS, ProcessGroup
from fitcarl.core.tensors import tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import EpisodeResult
from fitcarl.models.fitcarl.loss import task_loss
from fitcarl.models.fitcarl.network import EncodedQueries, Fitcarl, TaskContext
from fitcarl.models.fitcarl.rewards import reward
from fitcarl.models.fitcarl.rollout import ConceptPrior, Rollout, sample_rollout
from fitcarl.tasks.task import Queries, Task


def run_episode(
    model: Fitcarl,
    background: TemporalGraph,
    task: Task,
    config: FitcarlConfig,
    concept_prior: ConceptPrior | None,
    max_delta: int,
    seed: int,
    number: int = 1,
    processes: ProcessGroup = ONE_PROCESS,
) -> EpisodeResult:
    """Encodes the task, samples one path per query and computes the loss (Eq. 12).

    Args:
        model: The network.
        background: The background graph.
        task: Support set and queries.
        config: Settings of training.
        concept_prior: Input of the concept regularizer; None switches it off.
        max_delta: The largest time difference, in ticks.
        seed: Seed of the sampled actions, and of the action spaces in ablation A1.
        number: Number of the episode, from 1.
        processes: The processes that search for a shard of the queries each.
    """
    shard = processes.shard(len(task.queries))
    queries = task.queries.take(shard.rows)
    context = model.encode_task(background, task.support, max_delta, seed, task.queries.limited)
    encoded = model.encode_queries(context, queries)
    generator = torch.Generator().manual_seed(seed)
    rollout = sample_rollout(
        *(model, context, encoded, generator, concept_prior),
        with_entropy=config.training.entropy_bonus(number) > 0,
        shard=shard,
    )
    rewards = step_rewards(context, encoded, queries, rollout, config.training.reward_margin)
    hit_rate = (rollout.entity[-1] == queries.answer).mean()
    metrics = {"reward": float(rewards[-1].mean()), "hit_rate": float(hit_rate)}
    loss = task_loss(rollout, processes.gather(rewards, shard), config.training, number, shard)
    return EpisodeResult(loss, metrics, shard.share)


@torch.no_grad()
def step_rewards(
    context: TaskContext, encoded: EncodedQueries, queries: Queries, rollout: Rollout, margin: float
) -> Tensor:
    """R of every step, [steps, queries]; the query entity e' is represented by h_e' of its own query."""

    def embed(entity: Ids) -> Tensor:
        is_query_entity = tensor_of(entity == queries.entity, encoded.vectors.device).unsqueeze(1)
        return torch.where(is_query_entity, encoded.entity_embedding, context.embed(entity))

    answer = embed(queries.answer)
    return torch.stack([reward(answer, embed(entity), margin) for entity in rollout.entity])
