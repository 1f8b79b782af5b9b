"""What any scorer, trained or trivial, says to a batch of queries: some entities, each with a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.core.arrays import Positions, offsets_of
from fitcarl.data.quadruples import Ids
from fitcarl.tasks.task import Queries, Task


@dataclass(frozen=True, eq=False)
class Answers:
    """Scored entities of each query, ragged. Entities that are not listed share one score, below every listed one."""

    offsets: Positions
    """int64 [queries + 1]: what is said to query q stands at ``offsets[q]:offsets[q + 1]``."""
    entity: Ids
    """int32 [listed], distinct within a query, in any order."""
    score: NDArray[np.float64]
    """float64 [listed], finite, higher is better; may be a log-probability. An impossible entity is left out."""

    def __post_init__(self) -> None:
        if len(self.entity) != len(self.score) or len(self.offsets) < 1 or self.offsets[-1] != len(self.entity):
            raise ValueError("offsets, entities and scores of answers do not fit together")
        if self.offsets[0] != 0 or np.any(np.diff(self.offsets) < 0):
            raise ValueError("offsets of answers must ascend from 0")
        if not np.all(np.isfinite(self.score)):
            raise ValueError("scores of answers must be finite numbers: leave impossible entities out")

    @classmethod
    def from_dense(cls, scores: ArrayLike) -> Answers:
        """Answers from scores [queries, entities]; entities at -inf are left out, NaN is refused."""
        table = np.asarray(scores, dtype=np.float64)
        listed = table != -np.inf
        query, entity = np.nonzero(listed)
        counts = np.bincount(query, minlength=len(table))
        return cls(offsets_of(counts), entity.astype(np.int32), table[listed])

    @classmethod
    def summed(cls, query: ArrayLike, entity: ArrayLike, score: ArrayLike, queries: int, entities: int) -> Answers:
        """Answers from (query, entity, score) in any order; scores of a repeated pair are added up."""
        pair = np.asarray(query, dtype=np.int64) * entities + np.asarray(entity, dtype=np.int64)
        values = np.asarray(score, dtype=np.float64)
        if np.any(pair[1:] < pair[:-1]):  # sorting takes most of the time, and some callers come sorted
            order = np.argsort(pair, kind="stable")
            pair, values = pair[order], values[order]
        first = np.flatnonzero(np.append(True, pair[1:] != pair[:-1])) if len(pair) else np.empty(0, np.int64)
        owner, distinct = np.divmod(pair[first], entities)
        total = np.add.reduceat(values, first) if len(first) else values
        return cls(offsets_of(np.bincount(owner, minlength=queries)), distinct.astype(np.int32), total)

    @classmethod
    def concat(cls, parts: Sequence[Answers]) -> Answers:
        """Answers to the queries of all parts, one part after the other."""
        counts = [np.diff(part.offsets) for part in parts]
        return cls(
            offsets_of(np.concatenate([np.empty(0, np.int64), *counts])),
            np.concatenate([np.empty(0, np.int32), *(part.entity for part in parts)]),
            np.concatenate([np.empty(0, np.float64), *(part.score for part in parts)]),
        )

    def take(self, part: slice) -> Answers:
        """The answers to consecutive queries."""
        first, end, _ = part.indices(len(self))
        listed = slice(int(self.offsets[first]), int(self.offsets[end]))
        return Answers(self.offsets[first : end + 1] - self.offsets[first], self.entity[listed], self.score[listed])

    def shares(self) -> Answers:
        """The same entities with scores that add up to 1 in each query; scores must be positive."""
        total = np.bincount(self.query, weights=self.score, minlength=len(self))
        return Answers(self.offsets, self.entity, self.score / total[self.query])

    def __len__(self) -> int:
        """How many queries are answered."""
        return len(self.offsets) - 1

    @property
    def query(self) -> Positions:
        """int64 [listed]: which query each listed entity belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    def check(self, queries: int, entities: int) -> None:
        """Raises ValueError unless these are answers to so many queries with distinct entities in [0, entities)."""
        if len(self) != queries:
            raise ValueError(f"answers to {len(self)} queries where {queries} were asked")
        if len(self.entity) and not (self.entity.min() >= 0 and self.entity.max() < entities):
            raise ValueError(f"an answer's entity is not in [0, {entities})")
        pair = self.query * entities + self.entity
        if np.any(pair[1:] <= pair[:-1]):  # sorting is only needed where a scorer does not list by ascending entity
            pair = np.sort(pair)
            if np.any(pair[1:] == pair[:-1]):
                raise ValueError("an entity is listed twice in the answers to one query")


class Scorer(Protocol):
    """Anything that answers queries: a trained model or a trivial baseline."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def answer(self, task: Task, queries: Queries) -> Answers:
        """Answers to ``queries``, a part of ``task.queries``, seeing the background and ``task.support`` only."""
        ...
