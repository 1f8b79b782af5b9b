"""Scores objects of r_q held by entities that share a (relation, object) with the query entity."""

from __future__ import annotations

import numpy as np

from fitcarl.core.arrays import batches
from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics.decay import hyperbolic_decay
from fitcarl.models.heuristics.edge_index import EdgeIndex
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_PAIRS = 1_000_000  # (query, fact) pairs in memory at once


class SimilarEntities:
    """Scores the objects of r_q of background entities that share a (relation, object) with e'.

    A pair is weighted by 1/√n if n facts share it; facts are weighted by their distance in time from t_q.
    """

    name = "peers"

    def __init__(self, dataset: Dataset, background: EdgeIndex | None = None) -> None:
        entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
        self.background = background or EdgeIndex.of(dataset.background, entities, relations)
        self.half_life = dataset.calendar.half_life

    def score(self, task: Task, queries: Queries) -> Scores:
        similar = self._similar(self.background.with_facts(task.support.facts), queries)
        keys = self.background.subject_relation(similar.entity, queries.relation[similar.query])
        _, objects = self.background.by_subject_relation.find(keys)
        cost = np.bincount(similar.query, weights=objects, minlength=len(queries)).astype(np.int64)
        return Scores.concat([self._objects(similar.take(part), queries.take(part)) for part in batches(cost, _PAIRS)])

    def _similar(self, support: EdgeIndex, queries: Queries) -> Scores:
        """Entities that share a (relation, object) with e', scored by similarity."""
        every = np.arange(len(queries))
        start, fact = support.by_subject.members(queries.entity.astype(np.int64))
        start, fact = support.visible(start, fact, queries, every)
        pair = self.background.relation_object(support.directed.relation[fact], support.directed.object[fact])
        row, edge = self.background.visible(*self.background.by_relation_object.members(pair), queries, start)
        sharing = np.bincount(row, minlength=len(pair))
        similarity = hyperbolic_decay(self.background.directed.time[edge], queries.time[start[row]], self.half_life)
        similarity /= np.sqrt(sharing[row])
        other = self.background.directed.subject[edge]
        return Scores.summed(start[row], other, similarity, len(queries), self.background.entities)

    def _objects(self, similar: Scores, queries: Queries) -> Scores:
        """Objects of r_q of the similar entities, weighted by similarity and time."""
        query = similar.query
        keys = self.background.subject_relation(similar.entity, queries.relation[query])
        row, edge = self.background.visible(*self.background.by_subject_relation.members(keys), queries, query)
        score = similar.score[row] * hyperbolic_decay(
            self.background.directed.time[edge], queries.time[query[row]], self.half_life
        )
        object = self.background.directed.object[edge]
        return Scores.summed(query[row], object, score, len(queries), self.background.entities)
