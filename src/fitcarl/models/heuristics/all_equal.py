"""The same score for all entities."""

from __future__ import annotations

import numpy as np

from fitcarl.data.dataset import Dataset
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task


class AllEqual:
    """Gives every entity the same score: a check of how a metric treats ties."""

    name = "all-equal"

    def __init__(self, dataset: Dataset) -> None:
        self.entities = len(dataset.vocabulary.entities)

    def score(self, task: Task, queries: Queries) -> Scores:  # noqa: ARG002
        listed = len(queries) * self.entities
        return Scores(
            np.arange(0, listed + 1, self.entities, dtype=np.int64),
            np.tile(np.arange(self.entities, dtype=np.int32), len(queries)),
            np.zeros(listed),
        )
