"""Whom those deal with who behave like it."""

from __future__ import annotations

import numpy as np

from fitcarl.core.arrays import batches
from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics.decay import decay
from fitcarl.models.heuristics.edges import Edges
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_PAIRS = 1_000_000  # (query, fact) pairs held at once


class SimilarEntities:
    """Scores what background entities that share a (relation, object) with e' have as objects of r_q.

    What many share says less about each of them; times count by their nearness to t_q.
    """

    name = "peers"

    def __init__(self, dataset: Dataset, background: Edges | None = None) -> None:
        entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
        self.background = background or Edges.of(dataset.background, entities, relations)
        self.half = dataset.calendar.half_life

    def score(self, task: Task, queries: Queries) -> Scores:
        peers = self._peers(self.background.same_world(task.support.facts), queries)
        keys = self.background.subject_relation(peers.entity, queries.relation[peers.query])
        _, objects = self.background.by_subject_relation.find(keys)
        cost = np.bincount(peers.query, weights=objects, minlength=len(queries)).astype(np.int64)
        return Scores.concat([self._objects(peers.take(part), queries.take(part)) for part in batches(cost, _PAIRS)])

    def _peers(self, support: Edges, queries: Queries) -> Scores:
        """Entities that share something with e', and how alike they are."""
        start, fact = support.by_subject.members(queries.entity.astype(np.int64))
        pair = self.background.relation_object(support.directed.relation[fact], support.directed.object[fact])
        _, sharing = self.background.by_relation_object.find(pair)
        row, edge = self.background.by_relation_object.members(pair)
        likeness = decay(self.background.directed.time[edge], queries.time[start[row]], self.half)
        likeness /= np.sqrt(sharing[row])
        peer = self.background.directed.subject[edge]
        return Scores.summed(start[row], peer, likeness, len(queries), self.background.entities)

    def _objects(self, peers: Scores, queries: Queries) -> Scores:
        """The objects of r_q that the peers have, by likeness and nearness."""
        query = peers.query
        keys = self.background.subject_relation(peers.entity, queries.relation[query])
        row, edge = self.background.by_subject_relation.members(keys)
        score = peers.score[row] * decay(self.background.directed.time[edge], queries.time[query[row]], self.half)
        object = self.background.directed.object[edge]
        return Scores.summed(query[row], object, score, len(queries), self.background.entities)
