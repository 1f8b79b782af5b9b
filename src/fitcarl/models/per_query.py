"""Scorers that take the support facts of each query, so that queries at different times share a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from fitcarl.core.arrays import Positions
from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.models.support import SupportFacts
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries


class Evaluated(Protocol):
    """A batch of queries with their scores, and what is needed to explain them."""

    @property
    def scores(self) -> Scores:
        """The scored entities of each query."""
        ...

    def explain(
        self, row: int, entities: Sequence[int], vocabulary: Vocabulary, calendar: Calendar, limit: int
    ) -> list[list[ExplanationPath]]:
        """The most probable paths of the query in a row to each entity, at most ``limit`` per entity."""
        ...


@runtime_checkable
class PerQueryScorer(Protocol):
    """A scorer whose result for a query rests on the query, its support facts and the graph before its limit.

    Support facts of other unseen entities count as facts of the graph only.
    """

    def evaluate(self, support: SupportFacts, queries: Queries) -> Iterator[tuple[Positions, Evaluated]]:
        """Evaluates queries in batches of bounded memory.

        Args:
            support: One row per query; the graph of the scorer has these facts.
            queries: The queries, each with its own limit.

        Returns:
            The positions of the queries of each batch, and the batch.
        """
        ...
