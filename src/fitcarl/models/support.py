"""The support facts of unseen entities or queries: ragged rows, and the same rows padded to K columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of, spans
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.tasks.task import Queries


@dataclass(frozen=True, eq=False)
class PaddedSupport:
    """Support facts in a table, [rows, K]; cells that hold no fact are ``False`` in ``known``."""

    known: NDArray[np.bool_]
    """bool [rows, K]: whether the cell holds a fact."""
    entity: Ids
    """int32 [rows, K], the neighbour: the other entity of the fact."""
    relation: Ids
    """int32 [rows, K] in [0, 2R), from the unseen entity to the neighbour."""
    time: Ids
    """int32 [rows, K], in ticks."""


@dataclass(frozen=True, eq=False)
class SupportFacts:
    """Support facts as seen from the unseen entity, one ragged row per entity or per query."""

    offsets: NDArray[np.int64]
    """int64 [rows + 1]: the facts of row i are ``offsets[i]:offsets[i + 1]``."""
    entity: Ids
    """int32 [facts], the neighbour: the other entity of the fact."""
    relation: Ids
    """int32 [facts] in [0, 2R), from the unseen entity to the neighbour."""
    time: Ids
    """int32 [facts], in ticks."""

    @classmethod
    def of_entities(cls, support: MetaSet, relations: RelationIds) -> SupportFacts:
        """One row per unseen entity, in the order of ``support.entities``."""
        seen = support.facts.seen_from(support.entity_of_fact, relations)
        return cls(support.offsets, seen.object, seen.relation, seen.time)

    @classmethod
    def of_queries(cls, support: MetaSet, queries: Queries, relations: RelationIds) -> SupportFacts:
        """One row per query: the support facts of its entity.

        Raises:
            ValueError: If a query is about an entity without support facts.
        """
        return cls.of_entities(support, relations).take(support_rows(support, queries.entity))

    @classmethod
    def from_rows(cls, rows: Sequence[Quadruples]) -> SupportFacts:
        """One row for each of the given parts, whose subject is the unseen entity."""
        facts = Quadruples.concat(rows)
        return cls(offsets_of(np.array([len(row) for row in rows])), facts.object, facts.relation, facts.time)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64 [rows], facts of each row."""
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.int64]) -> SupportFacts:
        """The given rows, in that order; a row may be taken more than once."""
        counts = self.counts[rows]
        _, fact = spans(self.offsets[rows], counts)
        return SupportFacts(offsets_of(counts), self.entity[fact], self.relation[fact], self.time[fact])

    def padded(self, width: int | None = None, fill_entity: Ids | None = None) -> PaddedSupport:
        """The rows as a table.

        Args:
            width: K, the number of columns; by default the size of the largest row.
            fill_entity: int32 [rows], the entity in cells without a fact; 0 by default, as relation and time are.
        """
        counts = self.counts
        shape = len(self), int(counts.max(initial=0)) if width is None else width
        known = np.arange(shape[1]) < counts[:, None]
        entity, relation, time = (np.zeros(shape, dtype=np.int32) for _ in range(3))
        if fill_entity is not None:
            entity[:] = fill_entity[:, None]
        for table, column in ((entity, self.entity), (relation, self.relation), (time, self.time)):
            table[known] = column
        return PaddedSupport(known, entity, relation, time)


def query_support(support: MetaSet | SupportFacts, queries: Queries, relations: RelationIds) -> SupportFacts:
    """One row per query; facts that are given per query already are returned unchanged."""
    return support if isinstance(support, SupportFacts) else SupportFacts.of_queries(support, queries, relations)


def support_rows(support: MetaSet, entity: Ids) -> NDArray[np.int64]:
    """int64 [entities]: the position of each entity in ``support.entities``.

    Raises:
        ValueError: If an entity has no support facts.
    """
    order = np.argsort(support.entities, kind="stable")
    sorted_entities = support.entities[order]
    position = np.searchsorted(sorted_entities, entity)
    if len(entity) and (position.max() == len(order) or np.any(sorted_entities[position] != entity)):
        raise ValueError("a query about an entity that is not in the support")
    rows: NDArray[np.int64] = order[position].astype(np.int64)
    return rows
