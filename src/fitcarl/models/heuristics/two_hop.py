"""Scores the ends of two-step paths from the query entity."""

from __future__ import annotations

import numpy as np

from fitcarl.core.arrays import batches
from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics.decay import hyperbolic_decay
from fitcarl.models.heuristics.edge_index import EdgeIndex
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_PAIRS = 2_000_000  # (query, path) pairs in memory at once


class TwoHop:
    """Scores the ends of all two-step paths from e' over support and background.

    Each step is weighted by its distance in time from t_q, and each path by 1 / degree of its middle node.
    """

    name = "two-hop"

    def __init__(self, dataset: Dataset, background: EdgeIndex | None = None) -> None:
        entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
        self.background = background or EdgeIndex.of(dataset.background, entities, relations)
        self.half_life = dataset.calendar.half_life

    def score(self, task: Task, queries: Queries) -> Scores:
        support = self.background.with_facts(task.support.facts)
        start, step = support.by_subject.members(queries.entity.astype(np.int64))
        middle = support.directed.object[step].astype(np.int64)
        degree = self.background.by_subject.find(middle)[1] + support.by_subject.find(middle)[1]
        cost = np.bincount(start, weights=degree, minlength=len(queries)).astype(np.int64)
        return Scores.concat([self._score(support, queries.take(part)) for part in batches(cost, _PAIRS)])

    def _score(self, support: EdgeIndex, queries: Queries) -> Scores:
        start, step = support.by_subject.members(queries.entity.astype(np.int64))
        start, step = support.visible(start, step, queries, np.arange(len(queries)))
        middle = support.directed.object[step].astype(np.int64)
        layers = [
            (layer.directed, *layer.visible(*layer.by_subject.members(middle), queries, start))
            for layer in (self.background, support)
        ]
        degree = sum(np.bincount(path, minlength=len(middle)) for _, path, _ in layers)
        first = hyperbolic_decay(support.directed.time[step], queries.time[start], self.half_life) / degree

        query, entity, score = [], [], []
        for edges, path, edge in layers:
            end = edges.object[edge]
            valid = end != queries.entity[start[path]]  # paths back to e' are not answers
            path, edge = path[valid], edge[valid]
            query.append(start[path])
            entity.append(end[valid])
            score.append(first[path] * hyperbolic_decay(edges.time[edge], queries.time[start[path]], self.half_life))
        parts = (np.concatenate(query), np.concatenate(entity), np.concatenate(score))
        return Scores.summed(*parts, len(queries), self.background.entities)
