"""A scorer for models that score all entities by the dot product of a query row and entity rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

QueryRows = Callable[[Task, Queries], NDArray[np.float64]]
"""float64 [queries, d]: the row of each query, whose dot products with entity rows are the scores."""

_CHUNK = 256
"""Queries per matrix product; bounds memory."""


class DotProductScorer:
    """Scores every entity of the vocabulary; has no paths."""

    def __init__(self, name: str, query_rows: QueryRows, entity_rows: NDArray[np.float64]) -> None:
        """Args:
        name: The label in tables.
        query_rows: Computes the rows of queries.
        entity_rows: float64 [E, d].
        """
        self.name = name
        self._query_rows = query_rows
        self._entity_rows = entity_rows

    def score(self, task: Task, queries: Queries) -> Scores:
        """Scores of all entities."""
        rows = self._query_rows(task, queries)
        chunks = (rows[first : first + _CHUNK] for first in range(0, len(rows), _CHUNK))
        return Scores.concat([Scores.from_dense(chunk @ self._entity_rows.T) for chunk in chunks])

    def explain(
        self,
        task: Task,  # noqa: ARG002
        query: Queries,  # noqa: ARG002
        entities: Sequence[int],
        vocabulary: Vocabulary,  # noqa: ARG002
        calendar: Calendar,  # noqa: ARG002
        limit: int = 3,  # noqa: ARG002
    ) -> list[list[ExplanationPath]]:
        """No paths."""
        return [[] for _ in entities]
