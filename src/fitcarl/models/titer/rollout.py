"""Training walks: a mini-batch of facts, one sampled walk for each, and the loss of REINFORCE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.titer import TiterTrainingConfig
from fitcarl.core.process_group import BatchShard
from fitcarl.core.tensors import array_of, tensor_of
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.backward import backward_action_space
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.sampling import sample_actions
from fitcarl.models.titer.policy import TiterPolicy

_STD_FLOOR = 1e-6


class FactBatches:
    """Mini-batches of directed facts: a new permutation of all facts in every epoch, by seed and epoch only."""

    def __init__(self, facts: Quadruples, batch_size: int, seed: int) -> None:
        self._facts, self._size, self._seed = facts, batch_size, seed
        self._order: tuple[int, NDArray[np.int64]] | None = None

    def batch(self, number: int) -> Quadruples:
        """The mini-batch with this number, from 1; the last one of an epoch may be smaller."""
        epoch, index = divmod(number - 1, -(-len(self._facts) // self._size))
        if self._order is None or self._order[0] != epoch:
            order = np.random.default_rng([self._seed, 3, epoch]).permutation(len(self._facts))
            self._order = epoch, order
        return self._facts.take(self._order[1][index * self._size : (index + 1) * self._size])


@dataclass(frozen=True)
class Walks:
    """One sampled walk per query."""

    log_policy: Tensor
    """[steps, queries], log π of the sampled actions."""
    entropy: Tensor
    """[steps, queries], entropy of π."""
    entity: Ids
    """int32 [queries], where the walks end."""
    lag: Ids
    """int32 [queries], t_q - t of the end."""


def sample_walks(
    policy: TiterPolicy,
    graph: TemporalGraph,
    queries: Quadruples,
    generator: torch.Generator,
    shard: BatchShard | None = None,
) -> Walks:
    """Samples a walk of L steps for every query (s, r, ?, t); the objects of ``queries`` are not used.

    Args:
        policy: The policy.
        graph: The facts to walk on.
        queries: The queries.
        generator: Source of randomness.
        shard: Which queries of a mini-batch these are; by default all.
    """
    entities = policy.entity_rows()
    rows = policy.encode_queries(entities, queries.subject, queries.relation)
    history = policy.start(entities, rows)
    entity, time = queries.subject, queries.time
    device = rows.embedded.device
    every = torch.arange(len(queries), device=device)
    chosen_log, entropy = [], []
    for hop in range(policy.config.hops):
        size = policy.config.action_space
        space = backward_action_space(graph, entity, time, queries.time, size, may_stay=hop > 0)
        lag = queries.time[:, None] - space.time
        log_policy = policy.log_policy(entities, rows, history, space, space.entity, lag)
        action = sample_actions(log_policy.detach(), generator, shard)
        chosen_log.append(log_policy[every, action])
        finite = log_policy.masked_fill(~tensor_of(space.mask, device), 0)
        entropy.append(-(log_policy.exp() * finite).sum(1))
        chosen = np.arange(len(queries)), array_of(action)
        entity, time = space.entity[chosen], space.time[chosen]
        if hop + 1 < policy.config.hops:
            history = policy.step_history(entities, space.relation[chosen], entity, queries.time - time, history)
    return Walks(torch.stack(chosen_log), torch.stack(entropy), entity, queries.time - time)


def reinforce_loss(
    walks: Walks, reward: Tensor, config: TiterTrainingConfig, number: int, shard: BatchShard | None = None
) -> Tensor:
    """-log π times the discounted reward, standardised over the batch and all steps, minus the entropy bonus.

    Args:
        walks: The sampled walks.
        reward: [queries], at the end of each walk of the whole mini-batch, over which it is standardised.
        config: γ is ``gamma``.
        number: Number of the episode, from 1: the entropy bonus decays with it.
        shard: The queries of the walks, over which the mean is taken; by default all.
    """
    steps = len(walks.log_policy)
    discount = config.gamma ** torch.arange(steps - 1, -1, -1, dtype=reward.dtype, device=reward.device)
    returns = discount.unsqueeze(1) * reward
    weight = (returns - returns.mean()) / (returns.std() + _STD_FLOOR)
    if shard is not None:
        weight = weight[:, shard.rows]
    bonus = config.entropy_coef * config.entropy_decay ** (number - 1) * walks.entropy.mean()
    return -(walks.log_policy * weight).mean() - bonus
