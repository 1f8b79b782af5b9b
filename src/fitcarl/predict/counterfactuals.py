"""Answers to one query with some facts left out, recomputed for every set of facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fitcarl.data.quadruples import Quadruples, Row
from fitcarl.evaluation.calibration import Calibration
from fitcarl.predict.probabilities import shares
from fitcarl.scoring.counterfactual import Counterfactual
from fitcarl.scoring.scores import Scores


@dataclass(frozen=True)
class RecomputedAnswer:
    """One entity as an answer to a query without some facts."""

    share: float
    """Its share; 0 if it has no score."""
    rank: int | None
    """Its rank among all answers, from 1; None if it has no score."""
    score: float | None
    """Its score; None if it has none."""
    answered: bool = True
    """False if nothing is known about the query entity, so that there are no answers at all."""

    def below(self, other: RecomputedAnswer) -> bool:
        """Whether it has lost its place among the answers: its rank is higher than that of the other, or it has none.

        If there are no answers at all, there is no place to lose.
        """
        return self.answered and (self.rank is None or (other.rank is not None and self.rank > other.rank))

    def log_ratio(self, other: RecomputedAnswer) -> float:
        """log(share / share of the other); a share of 0 counts as the smallest one that makes a difference."""
        floor = min(_MIN_SHARE, _MIN_RATIO * self.share) or _MIN_SHARE
        return float(np.log(max(self.share, floor)) - np.log(max(other.share, floor)))


_MIN_SHARE, _MIN_RATIO = 1e-6, 1e-3
"""Shares below one in a million, or below a thousandth of a share that is itself so small, make no difference."""
NO_ANSWER, NO_ANSWERS = RecomputedAnswer(0.0, None, None), RecomputedAnswer(0.0, None, None, answered=False)
"""The entity is not among the answers; there are no answers."""


class Counterfactuals:
    """Recomputes the place of one entity among the answers to one query, without sets of facts.

    Each set is answered once, all sets of a call in one batch.
    """

    def __init__(
        self,
        score: Callable[[Sequence[Counterfactual]], Scores],
        support_without: Callable[[frozenset[Row]], Quadruples],
        query_entity: int,
        entity: int,
        calibration: Calibration | None,
    ) -> None:
        """Args:
        score: Scores the query once for every counterfactual.
        support_without: The support facts of the query entity if some facts are left out.
        query_entity: The entity of the query, which is never an answer.
        entity: The answer whose place is recomputed.
        calibration: Calibration of the run.
        """
        self._score, self._support_without = score, support_without
        self._query_entity, self._entity, self._calibration = query_entity, entity, calibration
        self._known: dict[frozenset[Row], RecomputedAnswer] = {}

    @property
    def recomputed(self) -> int:
        """The number of sets that have been answered."""
        return len(self._known)

    def without(self, sets: Iterable[Iterable[Row]]) -> list[RecomputedAnswer]:
        """The place of the entity without the facts of each set."""
        keys = [frozenset(rows) for rows in sets]
        missing = [key for key in dict.fromkeys(keys) if key not in self._known]
        if missing:
            variants = [
                Counterfactual(Quadruples.from_rows(sorted(key)), self._support_without(key)) for key in missing
            ]
            scores = self._score(variants)
            for index, key in enumerate(missing):
                self._known[key] = recomputed_answer(scores, index, self._entity, self._query_entity, self._calibration)
        return [self._known[key] for key in keys]


def recomputed_answer(
    scores: Scores, row: int, entity: int, query_entity: int, calibration: Calibration | None
) -> RecomputedAnswer:
    """The place of an entity among the answers to the query in a row; equal scores are ordered by entity id."""
    part = slice(int(scores.offsets[row]), int(scores.offsets[row + 1]))
    listed, score = scores.entity[part], scores.score[part]
    others = listed != query_entity
    listed, score = listed[others], score[others]
    found = np.flatnonzero(listed == entity)
    if not len(found):
        return NO_ANSWER if part.stop > part.start else NO_ANSWERS
    own = score[found[0]]
    rank = 1 + int((score > own).sum()) + int(((score == own) & (listed < entity)).sum())
    return RecomputedAnswer(float(shares(score, calibration)[found[0]]), rank, float(own))
