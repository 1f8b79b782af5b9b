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

ScorerRows = Callable[[Task, Queries], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""float64 [queries, d] and [E, d]: rows of queries and of entities, whose dot products are the scores."""

_CHUNK = 256
"""Queries per matrix product; bounds memory."""


class DotProductScorer:
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
