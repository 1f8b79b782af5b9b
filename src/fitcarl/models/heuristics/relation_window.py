"""Scores the objects of r_q in the background, weighted by time."""

from __future__ import annotations

import numpy as np

from fitcarl.core.arrays import batches, spans
from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics.decay import hyperbolic_decay
from fitcarl.models.heuristics.edge_index import EdgeIndex
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_PAIRS = 2_000_000  # (query, fact) pairs in memory at once


class RelationWindow:
    """Scores the objects of r_q in the background, each fact weighted by its distance in time from t_q.

    The query entity and its support are ignored.
    """

    name = "relation-window"

    def __init__(self, dataset: Dataset, background: EdgeIndex | None = None) -> None:
        entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
        self.background = background or EdgeIndex.of(dataset.background, entities, relations)
        self.half_life = dataset.calendar.half_life

    def score(self, task: Task, queries: Queries) -> Scores:  # noqa: ARG002
        _, cost = self.background.objects_of(queries.relation)
        return Scores.concat([self._score(queries.take(part)) for part in batches(cost, _PAIRS)])

    def _score(self, queries: Queries) -> Scores:
        edges = self.background.directed
        query, position = spans(*self.background.objects_of(queries.relation))
        edge = self.background.by_relation_object.order[position]
        query, edge = self.background.visible(query, edge, queries, np.arange(len(queries)))
        weight = hyperbolic_decay(edges.time[edge], queries.time[query], self.half_life)
        return Scores.summed(query, edges.object[edge], weight, len(queries), self.background.entities)
