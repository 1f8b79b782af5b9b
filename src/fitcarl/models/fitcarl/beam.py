"""Answering: the most probable paths of every query, step by step, never more than a beam of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.data.quadruples import Ids
from fitcarl.models.fitcarl.network import Fitcarl, SearchState, TaskContext
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries

_WALKERS_AT_ONCE = 4096  # bounds memory: each walker costs about 20 kB at d = 100 and 51 actions


@dataclass(frozen=True, eq=False)
class BeamStep:
    """One step of every kept path."""

    relation: Ids
    """int32 [queries, paths]."""
    entity: Ids
    """int32 [queries, paths], where the step leads."""
    time: Ids
    """int32 [queries, paths]."""
    log_probability: NDArray[np.float64]
    """float64 [queries, paths], log π of the step."""
    confidence: NDArray[np.float64]
    """float64 [queries, paths], conf_{a|q}; nan where the confidence learner is off."""

    def take(self, path: NDArray[np.int64]) -> BeamStep:
        """Each query's paths in another order, [queries, chosen]."""
        return BeamStep(
            np.take_along_axis(self.relation, path, axis=1),
            np.take_along_axis(self.entity, path, axis=1),
            np.take_along_axis(self.time, path, axis=1),
            np.take_along_axis(self.log_probability, path, axis=1),
            np.take_along_axis(self.confidence, path, axis=1),
        )


@dataclass(frozen=True, eq=False)
class BeamPaths:
    """What a beam search kept: paths of every query, best first."""

    score: NDArray[np.float64]
    """float64 [queries, paths], log-probability of the whole path; -inf where a query has fewer paths."""
    steps: list[BeamStep]
    """One entry per step."""

    @property
    def entity(self) -> Ids:
        """int32 [queries, paths], where each path ends."""
        return self.steps[-1].entity


@torch.no_grad()
def beam_search(model: Fitcarl, context: TaskContext, queries: Queries, beam: int) -> Iterator[BeamPaths]:
    """Paths of the queries in chunks of consecutive queries, so that memory stays bounded."""
    chunk = max(1, _WALKERS_AT_ONCE // beam)
    for low in range(0, len(queries), chunk):
        yield _search(model, context, queries.take(slice(low, low + chunk)), beam)


def _search(model: Fitcarl, context: TaskContext, queries: Queries, beam: int) -> BeamPaths:
    encoded = model.encode_queries(context, queries)
    count = len(queries)
    everybody = encoded
    state = model.start(context, encoded)
    score = torch.zeros(count, 1, dtype=torch.float64)
    steps: list[BeamStep] = []
    for level in range(model.config.hops):
        space = model.actions(context, everybody, state)
        step = model.step(context, everybody, state, space)
        # [queries, kept paths × actions]: everything that could come next
        total = (score.flatten().unsqueeze(1) + step.log_policy.double()).view(count, -1)
        score, place = total.topk(min(beam, total.shape[1]), dim=1)
        score, place = _without_dead_columns(score, place)
        parent, action = place // space.width, place % space.width
        rows = (parent + torch.arange(count).unsqueeze(1) * (total.shape[1] // space.width)).flatten()
        chosen = rows.numpy(), action.flatten().numpy()
        confidence = torch.full_like(step.probability, torch.nan) if step.confidence is None else step.confidence
        shape = tuple(score.shape)
        steps = [earlier.take(parent.numpy()) for earlier in steps]
        steps.append(
            BeamStep(
                *(column[chosen].reshape(shape) for column in (space.relation, space.entity, space.time)),
                *(column.double().numpy()[chosen].reshape(shape) for column in (step.log_policy, confidence)),
            )
        )
        if level + 1 < model.config.hops:
            everybody = encoded.take(torch.arange(count).repeat_interleave(shape[1]))
            before = SearchState(state.entity[chosen[0]], state.time[chosen[0]], state.history.index_select(0, rows))
            now = steps[-1]
            state = model.advance(
                context, everybody, before, now.relation.ravel(), now.entity.ravel(), now.time.ravel()
            )
    return BeamPaths(score.numpy(), steps)


def _without_dead_columns(score: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """Paths come best first, so those that no query has (all -inf) stand at the end."""
    alive = int(torch.isfinite(score).any(0).sum())
    return score[:, :alive], place[:, :alive]


def entity_scores(paths: BeamPaths, aggregate: str) -> Scores:
    """Distinct entities that each query's paths end at, scored by the best path's log-probability or all paths' sum."""
    row, column = np.nonzero(np.isfinite(paths.score))
    entity, score = paths.entity[row, column], paths.score[row, column]
    order = np.lexsort((-score, entity, row))
    row, entity, score = row[order], entity[order], score[order]
    first = np.append(True, (row[1:] != row[:-1]) | (entity[1:] != entity[:-1]))[: len(row)]
    start = np.flatnonzero(first)
    best = score[start]
    if aggregate == "sum" and len(start):
        share = np.exp(score - np.repeat(best, np.diff(np.append(start, len(score)))))
        best = best + np.log(np.add.reduceat(share, start))
    offsets = np.searchsorted(row[start], np.arange(len(paths.score) + 1)).astype(np.int64)
    return Scores(offsets, entity[start], best)
