"""A scorer for models that score all entities by the dot product of a query row and entity rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fitcarl.scoring.scorer import PathlessExplainer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

ScorerRows = Callable[[Task, Queries], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""float64 [queries, d] and [E, d]: rows of queries and of entities, whose dot products are the scores."""

_CHUNK = 256
"""Queries per matrix product; bounds memory."""


class DotProductScorer(PathlessExplainer):
    """Scores every entity of the vocabulary; has no paths."""

    def __init__(self, name: str, rows: ScorerRows) -> None:
        """Args:
        name: The label in tables.
        rows: Computes the rows of queries and entities.
        """
        self.name = name
        self._rows = rows

    def score(self, task: Task, queries: Queries) -> Scores:
        """Scores of all entities."""
        query_rows, entity_rows = self._rows(task, queries)
        chunks = (query_rows[first : first + _CHUNK] for first in range(0, len(queries), _CHUNK))
        return Scores.concat([Scores.from_dense(chunk @ entity_rows.T) for chunk in chunks])
