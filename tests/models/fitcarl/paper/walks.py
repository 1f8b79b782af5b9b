"""Paths of the network, recorded step by step, so that the reference model can follow them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fitcarl.graph.actions import ActionSpace
from fitcarl.models.fitcarl.network import EncodedQueries, Fitcarl, TaskContext
from fitcarl.models.fitcarl.policy import PolicyStep
from fitcarl.models.sampling import sample_actions
from tests.models.fitcarl.paper.reference import Edge

Choice = Callable[[PolicyStep, ActionSpace], Tensor]


@dataclass(frozen=True)
class Taken:
    """One step of the path of every query."""

    space: ActionSpace
    step: PolicyStep
    column: Tensor
    """int64 [queries], the action that was chosen."""

    def actions(self, row: int) -> list[Edge]:
        """The actions of a query without padding, in the order of their columns."""
        keep = self.space.mask[row]
        columns = (self.space.relation[row][keep], self.space.entity[row][keep], self.space.time[row][keep])
        return [Edge(*edge) for edge in zip(*(column.tolist() for column in columns), strict=True)]

    def chosen(self, row: int) -> Edge:
        return self.actions(row)[int(self.column[row])]


def walk(model: Fitcarl, context: TaskContext, encoded: EncodedQueries, choose: Choice) -> list[Taken]:
    """A path of L steps for every query; ``choose`` selects the column of each action."""
    state = model.start(context, encoded)
    out = []
    for _ in range(model.config.hops):
        space = model.actions(context, encoded, state)
        step = model.step(context, encoded, state, space)
        column = choose(step, space)
        out.append(Taken(space, step, column))
        place = np.arange(len(encoded)), column.numpy()
        state = model.advance(context, encoded, state, space.relation[place], space.entity[place], space.time[place])
    return out


def at_random(seed: int) -> Choice:
    """Any action except padding with equal probability, so that improbable actions are tested, too."""
    rng = np.random.default_rng(seed)

    def choose(_: PolicyStep, space: ActionSpace) -> Tensor:
        return torch.from_numpy(rng.integers(0, space.mask.sum(1)))

    return choose


def by_policy(seed: int) -> Choice:
    """Samples like a rollout with a generator of this seed."""
    generator = torch.Generator().manual_seed(seed)

    def choose(step: PolicyStep, _: ActionSpace) -> Tensor:
        return sample_actions(step.log_policy.detach(), generator)

    return choose


def paths(taken: list[Taken]) -> list[list[Edge]]:
    """The path of every query."""
    return [[step.chosen(row) for step in taken] for row in range(len(taken[0].column))]


def spaces(taken: list[Taken]) -> list[list[list[Edge]]]:
    """The action spaces along the path of every query."""
    return [[step.actions(row) for step in taken] for row in range(len(taken[0].column))]
