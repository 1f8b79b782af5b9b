"""Paths that a beam search keeps: the scores of the entities where they end, and their text as explanations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar
from fitcarl.data.quadruples import Ids
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.scoring.path import ExplanationPath, PathStep, make_step
from fitcarl.scoring.scores import Scores


@dataclass(frozen=True, eq=False)
class BeamStep:
    """One step of every kept path."""

    relation: Ids
    """int32 [queries, paths]."""
    entity: Ids
    """int32 [queries, paths], the entity that the step leads to."""
    time: Ids
    """int32 [queries, paths]."""
    log_probability: NDArray[np.float64]
    """float64 [queries, paths], log π of the step."""
    confidence: NDArray[np.float64]
    """float64 [queries, paths], conf_{a|q}; nan if the confidence learner is off."""

    def take(self, path: NDArray[np.int64]) -> BeamStep:
        """The selected paths of each query; ``path`` is int64 [queries, selected]."""
        return BeamStep(
            np.take_along_axis(self.relation, path, axis=1),
            np.take_along_axis(self.entity, path, axis=1),
            np.take_along_axis(self.time, path, axis=1),
            np.take_along_axis(self.log_probability, path, axis=1),
            np.take_along_axis(self.confidence, path, axis=1),
        )


@dataclass(frozen=True, eq=False)
class BeamPaths:
    """The paths that a beam search keeps for every query, best first."""

    score: NDArray[np.float64]
    """float64 [queries, paths], log-probability of the whole path; -inf if a query has fewer paths."""
    steps: list[BeamStep]
    """One entry per step."""

    @property
    def entity(self) -> Ids:
        """int32 [queries, paths], the last entity of each path."""
        return self.steps[-1].entity


def entity_scores(paths: BeamPaths, aggregate: str) -> Scores:
    """Scores of the distinct entities where the paths of each query end.

    Args:
        paths: The result of a beam search.
        aggregate: "max" scores an entity by the log-probability of its best path, "sum" by that of all its paths.
    """
    row, column = np.nonzero(np.isfinite(paths.score))
    entity, score = paths.entity[row, column], paths.score[row, column]
    order = np.lexsort((-score, entity, row))
    row, entity, score = row[order], entity[order], score[order]
    first = np.append(True, (row[1:] != row[:-1]) | (entity[1:] != entity[:-1]))[: len(row)]
    start = np.flatnonzero(first)
    best = score[start]
    if aggregate == "sum" and len(start):
        relative = np.exp(score - np.repeat(best, np.diff(np.append(start, len(score)))))
        best = best + np.log(np.add.reduceat(relative, start))
    offsets = np.searchsorted(row[start], np.arange(len(paths.score) + 1)).astype(np.int64)
    return Scores(offsets, entity[start], best)


def explanation_path(
    paths: BeamPaths, query: int, rank: int, start: int, vocabulary: Vocabulary, calendar: Calendar
) -> ExplanationPath:
    """One path of a query as an explanation; self-loops are left out.

    Args:
        paths: The result of a beam search.
        query: Row of the query in ``paths``.
        rank: Column of the path in ``paths``; 0 is the best.
        start: The query entity.
        vocabulary: Names of entities and relations.
        calendar: Names of ticks.
    """
    source = start
    steps: list[PathStep] = []
    for step in paths.steps:
        relation, target, time = (int(part[query, rank]) for part in (step.relation, step.entity, step.time))
        if relation != vocabulary.relation_ids.self_loop:
            probability = math.exp(step.log_probability[query, rank])
            confidence = float(step.confidence[query, rank])
            optional_confidence = None if math.isnan(confidence) else confidence
            steps.append(
                make_step(source, relation, target, time, probability, optional_confidence, vocabulary, calendar)
            )
        source = target
    names = vocabulary.entities
    return ExplanationPath(names[start], names[source], float(paths.score[query, rank]), tuple(steps))


def best_paths_to(paths: BeamPaths, query: int, entity: int, limit: int) -> list[int]:
    """Columns of the best paths of a query that end at an entity, best first; at most ``limit``."""
    found = np.flatnonzero((paths.entity[query] == entity) & np.isfinite(paths.score[query]))
    return [int(rank) for rank in found[:limit]]
