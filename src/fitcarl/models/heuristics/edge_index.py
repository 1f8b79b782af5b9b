"""Directed edges of a graph with lazily built lookup indices, for the heuristic baselines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fitcarl.core.arrays import Groups, Positions
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.tasks.task import Queries


@dataclass(frozen=True, eq=False)
class EdgeIndex:
    """Both directions of some facts. Each index is built at its first use."""

    directed: Quadruples
    """Quadruples with relations in [0, 2R)."""
    relations: RelationIds
    entities: int

    @classmethod
    def of(cls, facts: Quadruples, entities: int, relations: RelationIds) -> EdgeIndex:
        return cls(facts.both_directions(relations), relations, entities)

    def with_facts(self, facts: Quadruples) -> EdgeIndex:
        """EdgeIndex of other facts over the same entities and relations."""
        return EdgeIndex.of(facts, self.entities, self.relations)

    @cached_property
    def by_subject(self) -> Groups:
        return Groups.of(self.directed.subject.astype(np.int64))

    @cached_property
    def by_subject_relation(self) -> Groups:
        return Groups.of(self.subject_relation(self.directed.subject, self.directed.relation))

    @cached_property
    def by_relation_object(self) -> Groups:
        return Groups.of(self.relation_object(self.directed.relation, self.directed.object))

    def visible(
        self, row: Positions, edge: Positions, queries: Queries, query: Positions
    ) -> tuple[Positions, Positions]:
        """The (row, edge) pairs whose edge the query ``query[row]`` may use."""
        kept = self.directed.time[edge] < queries.visible_before[query[row]]
        return row[kept], edge[kept]

    def objects_of(self, relation: Ids) -> tuple[Positions, Positions]:
        """First position and number of the edges of each relation in ``by_relation_object``, sorted by object."""
        low = relation.astype(np.int64) * self.entities
        return self.by_relation_object.between(low, low + self.entities)

    def subject_relation(self, subject: Ids, relation: Ids) -> Positions:
        """The key of ``by_subject_relation``."""
        return subject.astype(np.int64) * self.relations.directed + relation

    def relation_object(self, relation: Ids, object: Ids) -> Positions:
        """The key of ``by_relation_object``."""
        return relation.astype(np.int64) * self.entities + object
