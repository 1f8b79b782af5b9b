"""Training facts as queries: the answers of every (e, r, ?), or of every (e, r, ?, t), and their counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitcarl.core.arrays import Positions, spans
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds


@dataclass(frozen=True, eq=False)
class Triples:
    """Distinct (e, r) pairs of both directions in ascending order, each with its distinct answers.

    With times, distinct (e, r, t) are listed instead.
    """

    relations: RelationIds
    entity: Positions
    """int64 [pairs], e."""
    relation: Positions
    """int64 [pairs], r in [0, 2R)."""
    offsets: Positions
    """int64 [pairs + 1]: the answers of pair i are ``offsets[i]:offsets[i + 1]``."""
    answer: Positions
    """int64 [triples], ascending within a pair."""
    count: Positions
    """int64 [triples], at least 1: the number of facts of this triple, which differ in time only."""
    time: Positions
    """int64 [pairs], ticks; all 0 without times."""

    @classmethod
    def of(cls, facts: Quadruples, relations: RelationIds, *, temporal: bool = False) -> Triples:
        """The triples of facts, whose times are dropped unless ``temporal``."""
        both = facts.both_directions(relations)
        entities = int(both.subject.max(initial=-1)) + 1
        ticks = int(both.time.max(initial=0)) + 1 if temporal else 1
        pair = both.subject.astype(np.int64) * relations.directed + both.relation
        if temporal:
            pair = pair * ticks + both.time
        triple, count = np.unique(pair * entities + both.object, return_counts=True)
        pair, answer = np.divmod(triple, max(1, entities))
        pair, first = np.unique(pair, return_index=True)
        pair, time = np.divmod(pair, ticks)
        entity, relation = np.divmod(pair, max(1, relations.directed))
        offsets = np.append(first, len(triple)).astype(np.int64)
        return cls(relations, entity, relation, offsets, answer, count.astype(np.int64), time)

    def __len__(self) -> int:
        """The number of (e, r) pairs."""
        return len(self.entity)

    def answers(self, pairs: Positions) -> tuple[Positions, Positions]:
        """Row (into ``pairs``) and position (in ``answer`` and ``count``) of every answer of the given pairs."""
        return spans(self.offsets[pairs], self.offsets[pairs + 1] - self.offsets[pairs])

    def find(self, entity: Ids, relation: Ids) -> Positions:
        """int64 [pairs]: the positions of the given pairs.

        Raises:
            ValueError: If a pair does not occur.
        """
        keys = self.entity * self.relations.directed + self.relation
        pair_keys = entity.astype(np.int64) * self.relations.directed + relation
        position = np.searchsorted(keys, pair_keys).clip(max=len(keys) - 1)
        if not np.array_equal(keys[position], pair_keys):
            raise ValueError("a pair has no answer in these facts")
        return position
