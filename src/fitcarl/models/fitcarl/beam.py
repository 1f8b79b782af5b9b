"""Beam search: the most probable paths of every query."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fitcarl.core.tensors import array_of
from fitcarl.models.fitcarl.network import Fitcarl, SearchState, TaskContext
from fitcarl.models.paths import BeamPaths, BeamStep
from fitcarl.tasks.task import Queries

_MAX_STATES = 4096  # bounds memory: a state costs about 20 kB at d = 100 and 51 actions


@torch.no_grad()
def beam_search(model: Fitcarl, context: TaskContext, queries: Queries, beam: int) -> Iterator[BeamPaths]:
    """Searches the paths of the queries.

    Args:
        model: The network.
        context: The encoded task.
        queries: Queries of the task.
        beam: The number of paths kept per query after every step.

    Yields:
        The paths of consecutive chunks of queries, so that memory is bounded.
    """
    chunk = max(1, _MAX_STATES // beam)
    for low in range(0, len(queries), chunk):
        yield _search(model, context, queries.take(slice(low, low + chunk)), beam)


def _search(model: Fitcarl, context: TaskContext, queries: Queries, beam: int) -> BeamPaths:
    encoded = model.encode_queries(context, queries)
    count = len(queries)
    expanded = encoded  # one row per kept path
    state = model.start(context, encoded)
    device = encoded.vectors.device
    score = torch.zeros(count, 1, dtype=torch.float64, device=device)
    query = torch.arange(count, device=device)
    steps: list[BeamStep] = []
    for hop in range(model.config.hops):
        space = model.actions(context, expanded, state)
        step = model.step(context, expanded, state, space)
        # [queries, kept paths × actions]: all extensions of the kept paths
        total = (score.flatten().unsqueeze(1) + step.log_policy.double()).view(count, -1)
        score, extension = total.topk(min(beam, total.shape[1]), dim=1)
        score, extension = _drop_empty_columns(score, extension)
        parent, action = extension // space.width, extension % space.width
        rows = (parent + query.unsqueeze(1) * (total.shape[1] // space.width)).flatten()
        chosen = array_of(rows), array_of(action.flatten())
        confidence = torch.full_like(step.probability, torch.nan) if step.confidence is None else step.confidence
        shape = tuple(score.shape)
        steps = [earlier.take(array_of(parent)) for earlier in steps]
        steps.append(
            BeamStep(
                *(column[chosen].reshape(shape) for column in (space.relation, space.entity, space.time)),
                *(array_of(column.double())[chosen].reshape(shape) for column in (step.log_policy, confidence)),
            )
        )
        if hop + 1 < model.config.hops:
            expanded = encoded.take(query.repeat_interleave(shape[1]))
            parents = SearchState(state.entity[chosen[0]], state.time[chosen[0]], state.history.index_select(0, rows))
            last = steps[-1]
            state = model.advance(
                context, expanded, parents, last.relation.ravel(), last.entity.ravel(), last.time.ravel()
            )
    return BeamPaths(array_of(score), steps)


def _drop_empty_columns(score: Tensor, extension: Tensor) -> tuple[Tensor, Tensor]:
    """Removes the trailing columns that hold no path of any query (all -inf)."""
    width = int(torch.isfinite(score).any(0).sum())
    return score[:, :width], extension[:, :width]
