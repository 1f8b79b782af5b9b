"""Whom it met it will meet again."""

from __future__ import annotations

import numpy as np

from fitcarl.core.arrays import Groups
from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics.decay import decay
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task


class CopySupport:
    """Scores the other ends of the entity's own support facts by how often they occur there, and no one else.

    With ``half`` an occurrence counts less the further its time is from the query's.
    """

    name = "copy"

    def __init__(self, dataset: Dataset, half: float | None = None) -> None:
        self.entities = len(dataset.vocabulary.entities)
        self.relations = dataset.vocabulary.relation_ids
        self.half = half

    def score(self, task: Task, queries: Queries) -> Scores:
        seen = task.support.facts.seen_from(task.support.entity_of_fact, self.relations)
        query, fact = Groups.of(seen.subject.astype(np.int64)).members(queries.entity.astype(np.int64))
        weight = np.ones(len(query))
        if self.half is not None:
            weight = decay(seen.time[fact], queries.time[query], self.half)
        return Scores.summed(query, seen.object[fact], weight, len(queries), self.entities)
