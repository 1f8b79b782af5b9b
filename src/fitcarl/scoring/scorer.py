"""Protocols of scorers and explainers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task


class Scorer(Protocol):
    """Anything that scores the candidate answers of queries: a trained model or a heuristic baseline.

    ``fitcarl.testing.check_scorer`` tests whether an implementation keeps the contract.
    """

    @property
    def name(self) -> str:
        """The label of the scorer in tables."""
        ...

    def score(self, task: Task, queries: Queries) -> Scores:
        """Scores candidate answers.

        The result must depend on nothing but the background, ``task.support`` and the query itself: not on the other
        queries of the batch, not on ``queries.answer`` (which is -1 in an evaluation).

        Args:
            task: Support facts of the unseen entities.
            queries: Queries (e', r_q, ?, t_q), a subset of ``task.queries``.

        Returns:
            Scored entities of each query, in the order of ``queries``.
        """
        ...


class Explainer(Scorer, Protocol):
    """A scorer that can explain its scores by paths."""

    def explain(
        self,
        task: Task,
        query: Queries,
        entities: Sequence[int],
        vocabulary: Vocabulary,
        calendar: Calendar,
        limit: int = 3,
    ) -> list[list[ExplanationPath]]:
        """Returns the most probable paths of one query to each entity, best first, at most ``limit`` per entity."""
        ...


class PathlessExplainer:
    """Base of scorers that have no paths."""

    def explain(
        self,
        task: Task,  # noqa: ARG002
        query: Queries,  # noqa: ARG002
        entities: Sequence[int],
        vocabulary: Vocabulary,  # noqa: ARG002
        calendar: Calendar,  # noqa: ARG002
        limit: int = 3,  # noqa: ARG002
    ) -> list[list[ExplanationPath]]:
        """No paths for any entity."""
        return [[] for _ in entities]
