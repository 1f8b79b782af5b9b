"""The background without its times: which entities answer (e, r, ?), and how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitcarl.core.arrays import Positions, spans
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds


@dataclass(frozen=True, eq=False)
class Triples:
    """Distinct pairs (e, r) of both directions, ascending, each with its distinct answers; equal for equal facts."""

    relations: RelationIds
    entity: Positions
    """int64 [pairs], e."""
    relation: Positions
    """int64 [pairs], r in [0, 2R)."""
    offsets: Positions
    """int64 [pairs + 1]: answers of pair i are ``offsets[i]:offsets[i + 1]``."""
    answer: Positions
    """int64 [triples], ascending within a pair."""
    count: Positions
    """int64 [triples], at least 1: how many facts differ from each other only in their time."""

    @classmethod
    def of(cls, facts: Quadruples, relations: RelationIds) -> Triples:
        both = facts.both_directions(relations)
        entities = int(both.subject.max(initial=-1)) + 1
        pair = both.subject.astype(np.int64) * relations.directed + both.relation
        triple, count = np.unique(pair * entities + both.object, return_counts=True)
        pair, answer = np.divmod(triple, max(1, entities))
        pair, first = np.unique(pair, return_index=True)
        entity, relation = np.divmod(pair, max(1, relations.directed))
        offsets = np.append(first, len(triple)).astype(np.int64)
        return cls(relations, entity, relation, offsets, answer, count.astype(np.int64))

    def __len__(self) -> int:
        """How many pairs (e, r) there are."""
        return len(self.entity)

    def answers(self, pairs: Positions) -> tuple[Positions, Positions]:
        """Row (into ``pairs``) and position (in ``answer`` and ``count``) of every answer of these pairs."""
        return spans(self.offsets[pairs], self.offsets[pairs + 1] - self.offsets[pairs])

    def find(self, entity: Ids, relation: Ids) -> Positions:
        """int64 [wanted]: the numbers of these pairs, every one of which must be there."""
        keys = self.entity * self.relations.directed + self.relation
        wanted = entity.astype(np.int64) * self.relations.directed + relation
        place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
        if not np.array_equal(keys[place], wanted):
            raise ValueError("a pair has no answer in these facts")
        return place
