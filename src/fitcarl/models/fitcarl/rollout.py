"""Rollouts for training: one path per query, sampled from the policy (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.process_group import BatchShard
from fitcarl.core.tensors import array_of, tensor_of
from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Ids
from fitcarl.models.fitcarl.concepts import concept_divergence, concept_fit
from fitcarl.models.fitcarl.network import EncodedQueries, Fitcarl, TaskContext
from fitcarl.models.sampling import sample_actions


@dataclass(frozen=True)
class ConceptPrior:
    """Input of the concept regularizer: C_e of every entity and P(c | r) (Eq. 10)."""

    concepts: Concepts
    probability: NDArray[np.float64]
    """float64 [2R, concepts]."""


@dataclass(frozen=True)
class Rollout:
    """Sampled actions and the terms of the loss; every field has one entry per step."""

    log_policy: list[Tensor]
    """log π(a⁽ˡ⁾ | s⁽ˡ⁾), [queries]."""
    divergence: list[Tensor]
    """L_KL (Eq. 11), [queries]; empty if the concept regularizer is off."""
    entropy: list[Tensor]
    """Entropy of π, [queries]; empty unless requested."""
    entity: list[Ids]
    """e⁽ˡ⁺¹⁾, int32 [queries]: the reached entities."""


def sample_rollout(
    model: Fitcarl,
    context: TaskContext,
    encoded: EncodedQueries,
    generator: torch.Generator,
    concept_prior: ConceptPrior | None = None,
    with_entropy: bool = False,
    shard: BatchShard | None = None,
) -> Rollout:
    """Samples a path of L steps for every query, each action from π.

    Args:
        model: The network.
        context: The encoded task.
        encoded: The encoded queries.
        generator: Source of randomness.
        concept_prior: Records L_KL of every step if given.
        with_entropy: Whether to record the entropy of π of every step.
        shard: Which queries of the task these are; by default all.
    """
    state = model.start(context, encoded)
    out = Rollout([], [], [], [])
    device = encoded.vectors.device
    every = torch.arange(len(encoded), device=device)
    for hop in range(model.config.hops):
        space = model.actions(context, encoded, state)
        step = model.step(context, encoded, state, space)
        action = sample_actions(step.log_policy.detach(), generator, shard)
        out.log_policy.append(step.log_policy[every, action])
        if concept_prior is not None:
            prior = concept_prior.probability, concept_prior.concepts
            fit = concept_fit(*prior, encoded.relation, space.entity, device)
            out.divergence.append(concept_divergence(step.log_policy, fit, tensor_of(space.mask, device)))
        if with_entropy:
            finite = step.log_policy.masked_fill(~tensor_of(space.mask, device), 0)
            out.entropy.append(-(step.log_policy.exp() * finite).sum(-1))
        chosen = np.arange(len(encoded)), array_of(action)
        out.entity.append(space.entity[chosen])
        if hop + 1 < model.config.hops:
            state = model.advance(
                context, encoded, state, space.relation[chosen], space.entity[chosen], space.time[chosen]
            )
    return out
