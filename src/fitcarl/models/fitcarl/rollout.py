"""One random walk per query, as the policy leads: what learning learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Ids
from fitcarl.models.fitcarl.concepts import concept_divergence, concept_fit
from fitcarl.models.fitcarl.network import Asked, Fitcarl, Scene


@dataclass(frozen=True)
class ConceptGuide:
    """What the concept regulariser knows: C_e and P(c | r)."""

    concepts: Concepts
    probability: NDArray[np.float64]
    """float64 [2R, concepts]."""


@dataclass(frozen=True)
class Rollout:
    """Sampled actions and what the loss needs of them; every field has one entry per step."""

    log_policy: list[Tensor]
    """log π(a⁽ˡ⁾ | s⁽ˡ⁾), [queries]."""
    divergence: list[Tensor]
    """L_KL, [queries]; empty where the concept regulariser is off."""
    entropy: list[Tensor]
    """Entropy of π, [queries]; empty unless asked for."""
    entity: list[Ids]
    """e⁽ˡ⁺¹⁾, int32 [queries]."""


def roll_out(
    model: Fitcarl,
    scene: Scene,
    asked: Asked,
    generator: torch.Generator,
    guide: ConceptGuide | None = None,
    with_entropy: bool = False,
) -> Rollout:
    """Walks L steps for every query, drawing each action from π."""
    walkers = model.start(scene, asked)
    out = Rollout([], [], [], [])
    every = torch.arange(len(asked))
    for level in range(model.config.steps):
        space = model.actions(scene, asked, walkers)
        step = model.step(scene, asked, walkers, space)
        action = draw(step.log_policy.detach(), generator)
        out.log_policy.append(step.log_policy[every, action])
        if guide is not None:
            fit = concept_fit(guide.probability, guide.concepts, asked.relation, space.entity)
            out.divergence.append(concept_divergence(step.log_policy, fit, torch.from_numpy(space.mask)))
        if with_entropy:
            finite = step.log_policy.masked_fill(~torch.from_numpy(space.mask), 0)
            out.entropy.append(-(step.log_policy.exp() * finite).sum(-1))
        chosen = every.numpy(), action.numpy()
        out.entity.append(space.entity[chosen])
        if level + 1 < model.config.steps:
            walkers = model.advance(
                scene, asked, walkers, space.relation[chosen], space.entity[chosen], space.time[chosen]
            )
    return out


def draw(log_policy: Tensor, generator: torch.Generator) -> Tensor:
    """int64 [walkers]: one action each, drawn with probability π by inverting its distribution function."""
    cumulative = log_policy.double().exp().cumsum(-1)
    point = torch.rand(len(log_policy), 1, dtype=torch.float64, generator=generator) * cumulative[:, -1:]
    # The point lies strictly below the total, so padding, which adds nothing behind the last action, is never drawn.
    return torch.searchsorted(cumulative, point, right=True).squeeze(1)
