"""Scorers that see one graph and one support set, applied to queries that may not use all facts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fitcarl.data.dataset import MetaSet
from fitcarl.scoring.scorer import PathlessExplainer, Scorer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import NO_LIMIT, Queries, Task


class LimitedScorer(PathlessExplainer):
    """Scores queries with the same ``visible_before`` together, on a graph and a support set without later facts.

    For models that combine facts of many entities without regard to time, such as MEAN. It costs one graph per distinct
    tick; models that read edges in order of time need no such wrapper.
    """

    def __init__(self, unlimited: Scorer, before: Callable[[int], Scorer]) -> None:
        """Args:
        unlimited: The scorer of queries that may use all facts.
        before: Makes the scorer of queries that may use facts strictly before a tick.
        """
        self._unlimited, self._scorer_before = unlimited, before
        self.name = unlimited.name

    def score(self, task: Task, queries: Queries) -> Scores:
        parts, order = [], []
        for before in np.unique(queries.visible_before).tolist():
            chosen = np.flatnonzero(queries.visible_before == before)
            scorer, support = self._unlimited, task.support
            if before < NO_LIMIT:
                scorer, support = self._scorer_before(before), _before(support, before)
            parts.append(scorer.score(Task(support, task.queries), queries.take(chosen)))
            order.append(chosen)
        return Scores.concat(parts).reordered(np.concatenate([np.empty(0, np.int64), *order]))


def _before(support: MetaSet, tick: int) -> MetaSet:
    visible = support.facts.time < tick
    return MetaSet(support.entity_of_fact[visible], support.facts.take(visible))
