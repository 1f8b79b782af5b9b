"""Beam search: the most probable walks of every query; the last step is expanded to all ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.core.tensors import array_of, tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.graph.backward import backward_action_space
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.paths import BeamPaths, BeamStep
from fitcarl.models.titer.policy import EntityRows, TiterPolicy
from fitcarl.tasks.task import Queries

_MAX_STATES = 4096  # bounds memory: a state costs about 5 kB with 51 actions


@dataclass(frozen=True, eq=False)
class KeptWalks:
    """The walks that are kept after one step, [queries, walks] each."""

    parent: NDArray[np.int64]
    """int64, the column of the walk before this step."""
    step: BeamStep
    score: NDArray[np.float64]
    """float64, log-probability of the walk so far; -inf if there is none."""


@torch.no_grad()
def search_walks(
    policy: TiterPolicy, entities: EntityRows, graph: TemporalGraph, queries: Queries, query_row: Ids, beam: int
) -> Iterator[list[KeptWalks]]:
    """Searches the walks of the queries.

    Args:
        policy: The network.
        entities: The rows of the entities.
        graph: The background with the support facts.
        queries: The queries.
        query_row: int32 [queries], the row of each query entity in ``entities``.
        beam: The number of walks kept per query after every step but the last, after which all are returned.

    Yields:
        One entry per step, for consecutive chunks of queries, so that memory is bounded.
    """
    chunk = max(1, _MAX_STATES // beam)
    for low in range(0, len(queries), chunk):
        part = slice(low, low + chunk)
        yield _search(policy, entities, graph, queries.take(part), query_row[part], beam)


def _search(
    policy: TiterPolicy, entities: EntityRows, graph: TemporalGraph, queries: Queries, query_row: Ids, beam: int
) -> list[KeptWalks]:
    encoded = policy.encode_queries(entities, query_row, queries.relation)
    count, hops = len(queries), policy.config.hops
    expanded, history = encoded, policy.start(entities, encoded)
    owner = np.arange(count)
    entity, time = queries.entity, queries.time
    device = encoded.embedded.device
    score = torch.zeros(count, 1, dtype=torch.float64, device=device)
    kept: list[KeptWalks] = []
    for hop in range(hops):
        now, size = queries.time[owner], policy.config.action_space
        limit = queries.visible_before[owner]
        space = backward_action_space(graph, entity, time, now, size, may_stay=hop > 0, visible_before=limit)
        is_query_entity = space.entity == queries.entity[owner, None]
        row = np.where(is_query_entity, query_row[owner, None], space.entity)
        log_policy = policy.log_policy(entities, expanded, history, space, row, now[:, None] - space.time).double()
        total = (score.flatten().unsqueeze(1) + log_policy).view(count, -1)
        if hop + 1 < hops:
            score, extension = total.topk(min(beam, total.shape[1]), dim=1)
            width = int(torch.isfinite(score).any(0).sum())
            score, extension = score[:, :width], extension[:, :width]
        else:
            score, extension = total, torch.arange(total.shape[1], device=device).expand(count, -1)
        parent, action = extension // space.width, extension % space.width
        rows = (parent + torch.arange(count, device=device).unsqueeze(1) * (total.shape[1] // space.width)).flatten()
        chosen, shape = (array_of(rows), array_of(action.flatten())), tuple(score.shape)
        step = BeamStep(
            space.relation[chosen].reshape(shape),
            space.entity[chosen].reshape(shape),
            space.time[chosen].reshape(shape),
            array_of(log_policy)[chosen].reshape(shape),
            np.broadcast_to(np.nan, shape),
        )
        kept.append(KeptWalks(array_of(parent), step, array_of(score)))
        if hop + 1 < hops:
            owner = np.repeat(np.arange(count), shape[1])
            expanded = encoded.take(tensor_of(owner, device))
            entity, time = step.entity.ravel(), step.time.ravel()
            lag = queries.time[owner] - time
            history = policy.step_history(entities, step.relation.ravel(), row[chosen], lag, history.take(rows))
    return kept


def ranked_paths(kept: list[KeptWalks]) -> BeamPaths:
    """All walks of each query with their steps, best first."""
    last = kept[-1]
    column = np.argsort(-last.score, axis=1, kind="stable")
    score = np.take_along_axis(last.score, column, axis=1)
    steps: list[BeamStep] = []
    for walks in reversed(kept):
        steps.insert(0, walks.step.take(column))
        column = np.take_along_axis(walks.parent, column, axis=1)
    return BeamPaths(score, steps)
