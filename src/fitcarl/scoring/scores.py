"""Scores: the candidate entities that a scorer lists for each query of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.core.arrays import Positions, offsets_of, spans
from fitcarl.data.quadruples import Ids
from fitcarl.errors import InputError


class NotFiniteError(InputError, ValueError):
    """Scores that are NaN or infinite: of a custom scorer, or of a model whose weights have no such numbers themselves,
    but are so large that sums of them have."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scored entities of each query, ragged. All entities that are not listed are tied below every listed one.

    A custom scorer with a matrix of scores returns ``Scores.from_dense(matrix)``.
    """

    offsets: Positions
    """int64 [queries + 1]: the entities of query q are at ``offsets[q]:offsets[q + 1]``."""
    entity: Ids
    """int32 [listed], distinct within a query, in any order."""
    score: NDArray[np.float64]
    """float64 [listed], finite, higher is better; may be a log-probability. Impossible entities are not listed."""

    def __post_init__(self) -> None:
        if len(self.entity) != len(self.score) or len(self.offsets) < 1 or self.offsets[-1] != len(self.entity):
            raise ValueError("offsets, entities and scores have inconsistent lengths")
        if self.offsets[0] != 0 or np.any(np.diff(self.offsets) < 0):
            raise ValueError("offsets must start at 0 and must not decrease")
        if not np.all(np.isfinite(self.score)):
            raise NotFiniteError("scores must be finite: do not list impossible entities")

    @classmethod
    def empty(cls, queries: int) -> Scores:
        """No entity for any of ``queries`` queries."""
        return cls(np.zeros(queries + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float64))

    @classmethod
    def from_dense(cls, scores: ArrayLike) -> Scores:
        """Converts a matrix of scores, the usual output of a custom scorer.

        Args:
            scores: Float [queries, entities], higher is better; entities at -inf are not listed.

        Returns:
            The listed entities and their scores.

        Raises:
            ValueError: If a score is NaN or +inf.
        """
        table = np.asarray(scores, dtype=np.float64)
        listed = table != -np.inf
        if listed.all():
            rows, columns = table.shape
            return cls(np.arange(rows + 1) * columns, np.tile(np.arange(columns, dtype=np.int32), rows), table.ravel())
        query, entity = np.nonzero(listed)
        counts = np.bincount(query, minlength=len(table))
        return cls(offsets_of(counts), entity.astype(np.int32), table[listed])

    @classmethod
    def summed(cls, query: ArrayLike, entity: ArrayLike, score: ArrayLike, queries: int, entities: int) -> Scores:
        """Scores from triples (query, entity, score) in any order; the scores of repeated pairs are added up.

        Args:
            query: Integer [triples] in [0, queries).
            entity: Integer [triples] in [0, entities).
            score: Float [triples].
            queries: Number of queries.
            entities: Number of entities of the dataset.

        Returns:
            One entry for each distinct (query, entity), by ascending entity.
        """
        pair = np.asarray(query, dtype=np.int64) * entities + np.asarray(entity, dtype=np.int64)
        values = np.asarray(score, dtype=np.float64)
        if np.any(pair[1:] < pair[:-1]):  # sorting takes most of the time, and some callers pass sorted pairs
            order = np.argsort(pair, kind="stable")
            pair, values = pair[order], values[order]
        first = np.flatnonzero(np.append(True, pair[1:] != pair[:-1])) if len(pair) else np.empty(0, np.int64)
        owner, distinct = np.divmod(pair[first], entities)
        total = np.add.reduceat(values, first) if len(first) else values
        return cls(offsets_of(np.bincount(owner, minlength=queries)), distinct.astype(np.int32), total)

    @classmethod
    def concat(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of the queries of all ``parts``, in their order."""
        if len(parts) == 1:
            return parts[0]
        counts = [np.diff(part.offsets) for part in parts]
        return cls(
            offsets_of(np.concatenate([np.empty(0, np.int64), *counts])),
            np.concatenate([np.empty(0, np.int32), *(part.entity for part in parts)]),
            np.concatenate([np.empty(0, np.float64), *(part.score for part in parts)]),
        )

    def take(self, part: slice) -> Scores:
        """The scores of the consecutive queries in ``part``."""
        first, end, _ = part.indices(len(self))
        listed = slice(int(self.offsets[first]), int(self.offsets[end]))
        return Scores(self.offsets[first : end + 1] - self.offsets[first], self.entity[listed], self.score[listed])

    def reordered(self, position: Positions) -> Scores:
        """The same scores in another order of queries.

        Args:
            position: int64 [queries]: the new position of each query.
        """
        order = np.argsort(position)
        counts = np.diff(self.offsets)[order]
        _, listed = spans(self.offsets[order], counts)
        return Scores(offsets_of(counts), self.entity[listed], self.score[listed])

    def shares(self) -> Scores:
        """The same entities with scores normalised to sum to 1 in each query; scores must be positive."""
        total = np.bincount(self.query, weights=self.score, minlength=len(self))
        return Scores(self.offsets, self.entity, self.score / total[self.query])

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.offsets) - 1

    @property
    def query(self) -> Positions:
        """int64 [listed]: the query of each listed entity."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    def check(self, queries: int, entities: int) -> None:
        """Checks shapes and ranges.

        Args:
            queries: Number of queries.
            entities: Number of entities of the dataset.

        Raises:
            ValueError: Unless there are scores for ``queries`` queries with distinct entities in [0, entities).
        """
        if len(self) != queries:
            raise ValueError(f"scores of {len(self)} queries instead of {queries}")
        if len(self.entity) and not (self.entity.min() >= 0 and self.entity.max() < entities):
            raise ValueError(f"a scored entity is not in [0, {entities})")
        falls = self.entity[1:] <= self.entity[:-1]
        starts = self.offsets[1:-1]
        falls[starts[(starts > 0) & (starts < len(self.entity))] - 1] = False
        if falls.any():  # sorting is only needed if a scorer does not list by ascending entity
            pair = np.sort(self.query * entities + self.entity)
            if np.any(pair[1:] == pair[:-1]):
                raise ValueError("an entity is listed twice for one query")
