"""At which rank the answer stands, with ties counted instead of hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions
from fitcarl.evaluation.filtering import Filter, KnownAnswers
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries

RankType = Literal["optimistic", "realistic", "pessimistic"]
RANK_TYPES: tuple[RankType, ...] = get_args(RankType)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Counts from which every kind of rank follows."""

    greater: Positions
    """int64 [queries], g: candidates with a higher score than the answer."""
    equal: Positions
    """int64 [queries], q: candidates with the answer's score, the answer included."""
    candidates: Positions
    """int64 [queries]: entities that survive the filter, the answer included."""
    covered: NDArray[np.bool_]
    """bool [queries]: whether the scorer listed the answer at all."""

    @classmethod
    def concat(cls, parts: Sequence[Ranks]) -> Ranks:
        return cls(
            np.concatenate([part.greater for part in parts]),
            np.concatenate([part.equal for part in parts]),
            np.concatenate([part.candidates for part in parts]),
            np.concatenate([part.covered for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.greater)

    def take(self, index: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Ranks:
        return Ranks(self.greater[index], self.equal[index], self.candidates[index], self.covered[index])

    def of(self, kind: RankType) -> NDArray[np.float64]:
        """float64 [queries]: optimistic g + 1, pessimistic g + q, realistic their mean."""
        optimistic = (self.greater + 1).astype(np.float64)
        pessimistic = (self.greater + self.equal).astype(np.float64)
        if kind == "optimistic":
            return optimistic
        return pessimistic if kind == "pessimistic" else (optimistic + pessimistic) / 2

    def paper(self, entities: int) -> NDArray[np.float64]:
        """float64 [queries]: optimistic ranks, answers that were not covered at rank |E|, as in published tables."""
        return np.where(self.covered, self.of("optimistic"), float(entities))


def rank(answers: Scores, queries: Queries, known: KnownAnswers, entities: int, filter: Filter) -> Ranks:
    """Ranks of the true answers among all entities but the other true answers.

    Entities that are not listed share one score below every listed one, so they are counted, never stored: memory
    follows what the scorer listed.
    """
    answers.check(len(queries), entities)
    n = len(queries)
    query = answers.query
    others = known.filtered_answers(queries, filter)
    removed = others.contains(answers)

    is_answer = answers.entity == queries.answer[query]
    covered = np.zeros(n, dtype=np.bool_)
    covered[query[is_answer]] = True
    score = np.full(n, -np.inf)
    score[query[is_answer]] = answers.score[is_answer]

    listed = np.bincount(query[~removed], minlength=n)
    greater = np.bincount(query[~removed & (answers.score > score[query])], minlength=n)
    equal = np.bincount(query[~removed & (answers.score == score[query])], minlength=n)
    candidates = entities - np.diff(others.offsets)
    return Ranks(greater, np.where(covered, equal, candidates - listed), candidates, covered)
