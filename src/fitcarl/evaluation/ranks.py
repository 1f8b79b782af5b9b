"""Ranks of the true answers, with ties counted.

PyKEEN, torchmetrics and scikit-learn rank dense score matrices; here candidates are ragged, filtered per query, and
unlisted entities are tied at the end without being stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.evaluation.filtering import Filter, KnownAnswers
from fitcarl.evaluation.kernels import count_better
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries

RankType = Literal["optimistic", "realistic", "pessimistic"]
RANK_TYPES: tuple[RankType, ...] = get_args(RankType)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Counts from which all types of rank are computed."""

    greater: Positions
    """int64 [queries], g: candidates with a higher score than the answer."""
    equal: Positions
    """int64 [queries], q: candidates with the same score as the answer, the answer included."""
    candidates: Positions
    """int64 [queries]: entities that remain after filtering, the answer included."""
    covered: NDArray[np.bool_]
    """bool [queries]: whether the scorer listed the answer."""

    @classmethod
    def empty(cls) -> Ranks:
        """The ranks of no query."""
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, none, np.empty(0, dtype=np.bool_))

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
        """float64 [queries]: optimistic ranks with unlisted answers at rank |E|, as in published tables."""
        return np.where(self.covered, self.of("optimistic"), float(entities))


def rank(scores: Scores, queries: Queries, known: KnownAnswers, entities: int, filter: Filter) -> Ranks:
    """Ranks of the true answers among all entities except other true answers.

    Entities that are not listed are tied below every listed one, so they are counted and never stored: memory is
    proportional to the listed entities.
    """
    scores.check(len(queries), entities)
    n = len(queries)
    others = known.filtered_answers(queries, filter)
    greater, equal, covered = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    columns = scores.offsets, scores.entity, scores.score, queries.answer, others.offsets, others.entity
    parallel_for(split_range(n), lambda _, low, high: count_better(low, high, *columns, greater, equal, covered))
    candidates = entities - np.diff(others.offsets)
    return Ranks(greater, np.where(covered, equal, candidates - greater), candidates, covered)
