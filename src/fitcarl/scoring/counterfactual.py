"""Counterfactuals: a query without some of its facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fitcarl.data.quadruples import Quadruples
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The facts of a query, with some of them left out."""

    hidden: Quadruples
    """Facts that the query does not see, in their original direction; they may be support facts."""
    support: Quadruples
    """The support facts of the query entity that remain, in their original direction."""


@runtime_checkable
class CounterfactualScorer(Protocol):
    """A scorer that answers a query without facts in less time than on a new graph."""

    def score_counterfactuals(self, task: Task, query: Queries, variants: Sequence[Counterfactual]) -> Scores:
        """Scores one query once for every variant.

        The result equals that of ``score`` on a graph without the hidden facts.

        Args:
            task: Support facts of the unseen entities.
            query: One query.
            variants: What to leave out.

        Returns:
            One row of scores per variant; a row is empty if no support fact of the query entity remains.
        """
        ...
