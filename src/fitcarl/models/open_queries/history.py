"""Entities at a tick with the facts that are known about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions, offsets_of
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.models.support import SupportFacts, support_rows
from fitcarl.tasks.task import Queries


@dataclass(frozen=True, eq=False)
class Histories:
    """Entities at a tick and their support facts that are visible then."""

    entity: Ids
    """int32 [histories]."""
    time: Ids
    """int32 [histories], the tick that is asked about."""
    before: Ids
    """int32 [histories], ticks: only facts strictly before it are visible."""
    facts: SupportFacts
    """One row per history: the visible facts, as seen from the entity."""

    @classmethod
    def of(cls, support: MetaSet, entity: Ids, time: Ids, before: Ids, relations: RelationIds) -> Histories:
        """The visible support facts of each entity.

        Args:
            support: Support facts.
            entity: int32 [histories], entities with support facts.
            time: int32 [histories], the tick that is asked about.
            before: int32 [histories], ticks: only facts strictly before it are visible.
            relations: The relation ids.
        """
        rows = SupportFacts.of_entities(support, relations).take(support_rows(support, entity))
        history = np.repeat(np.arange(len(rows)), rows.counts)
        visible = rows.time < before[history]
        offsets = offsets_of(np.bincount(history[visible], minlength=len(rows)))
        facts = SupportFacts(offsets, rows.entity[visible], rows.relation[visible], rows.time[visible])
        return cls(entity, time, before, facts)

    @classmethod
    def of_queries(cls, support: MetaSet, queries: Queries, relations: RelationIds) -> tuple[Histories, Positions]:
        """The distinct histories of queries regardless of their relations, and the history of each query [queries]."""
        key = np.stack([queries.entity, queries.time, queries.visible_before], axis=1)
        distinct, position = np.unique(key, axis=0, return_inverse=True)
        entity, time, before = distinct.T.astype(np.int32)
        return cls.of(support, entity, time, before, relations), position.ravel()

    def __len__(self) -> int:
        return len(self.entity)

    def facts_of(self, history: int) -> tuple[Ids, Ids, Ids]:
        """Relations, other entities and ticks of the visible facts of one history."""
        part = slice(int(self.facts.offsets[history]), int(self.facts.offsets[history + 1]))
        return self.facts.relation[part], self.facts.entity[part], self.facts.time[part]

    def take(self, index: NDArray[np.int64]) -> Histories:
        """Some of the histories, in that order."""
        return Histories(self.entity[index], self.time[index], self.before[index], self.facts.take(index))
