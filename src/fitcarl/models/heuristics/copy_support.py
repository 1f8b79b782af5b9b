"""Scores the entities in the support facts of the query entity."""

from __future__ import annotations

import numpy as np

from fitcarl.core.arrays import Groups
from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics.decay import hyperbolic_decay
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task


class CopySupport:
    """Scores the other entities of the support facts by their frequency; lists no other entity.

    Args:
        dataset: The dataset; only its vocabulary is used.
        half_life: If given, facts are weighted by their distance in time from t_q, see ``hyperbolic_decay``.
    """

    name = "copy"

    def __init__(self, dataset: Dataset, half_life: float | None = None) -> None:
        self.entities = len(dataset.vocabulary.entities)
        self.relations = dataset.vocabulary.relation_ids
        self.half_life = half_life

    def score(self, task: Task, queries: Queries) -> Scores:
        seen = task.support.facts.seen_from(task.support.entity_of_fact, self.relations)
        query, fact = Groups.of(seen.subject.astype(np.int64)).members(queries.entity.astype(np.int64))
        visible = seen.time[fact] < queries.visible_before[query]
        query, fact = query[visible], fact[visible]
        weight = np.ones(len(query))
        if self.half_life is not None:
            weight = hyperbolic_decay(seen.time[fact], queries.time[query], self.half_life)
        return Scores.summed(query, seen.object[fact], weight, len(queries), self.entities)
