"""Mini-batches of distinct training triples, with corrupted triples and sampled neighbourhoods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.aggregation import AggregationTrainingConfig
from fitcarl.core.arrays import Positions
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.models.aggregation.neighbourhoods import Neighbourhoods

_REDRAWS = 8
"""Corruptions that are true triples are drawn again at most this often."""


@dataclass(frozen=True, eq=False)
class TripleBatch:
    """Triples (h, r, t), each with triples in which one of its two entities is replaced."""

    head: Positions
    """int64 [n]."""
    relation: Positions
    """int64 [n] in [0, R)."""
    tail: Positions
    """int64 [n]."""
    corrupts_tail: NDArray[np.bool_]
    """bool [n]: whether the tail is replaced; otherwise the head is."""
    corrupted: Positions
    """int64 [n, negatives]: the entities that replace it."""
    neighbourhoods: Neighbourhoods
    """Rows of the n heads, of the n tails and of the n · negatives replacements."""

    @property
    def entities(self) -> Positions:
        """int64 [rows], the entity of each row of ``neighbourhoods``."""
        return np.concatenate([self.head, self.tail, self.corrupted.ravel()])

    def query_relations(self, relations: RelationIds) -> Positions:
        """int64 [rows] in [0, 2R), the relation that each row is asked about: r as a head, r + R as a tail."""
        inverse = relations.inverse(self.relation)
        replaced = np.where(self.corrupts_tail, inverse, self.relation)
        return np.concatenate([self.relation, inverse, np.repeat(replaced, self.corrupted.shape[1])])


class TripleBatches:
    """Batches by number: the same seed and number give the same batch, regardless of earlier calls."""

    def __init__(
        self,
        facts: Quadruples,
        entities: int,
        relations: RelationIds,
        config: AggregationTrainingConfig,
        seed: int,
    ) -> None:
        """Indexes the distinct triples of facts, whose times are dropped."""
        self._config, self._seed, self._entities, self._relations = config, seed, entities, relations
        self._neighbourhoods = Neighbourhoods.of_facts(facts, entities, relations)
        self._pool = np.unique(np.concatenate([facts.subject, facts.object])).astype(np.int64)
        self._keys = np.unique(
            self._key(*(ids.astype(np.int64) for ids in (facts.subject, facts.relation, facts.object)))
        )
        pair, self._tail = np.divmod(self._keys, entities)
        self._relation, self._head = np.divmod(pair, entities)
        self._message_of_tail = self._neighbourhoods.find(self._relation, self._tail)
        self._message_of_head = self._neighbourhoods.find(relations.inverse(self._relation), self._head)
        self._epoch = lru_cache(1)(self._make_epoch)

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return -(-len(self._keys) // self._config.batch_size)

    def batch(self, number: int) -> TripleBatch:
        """Batch ``number``, from 1: a part of a random order of all triples, which is another one in every epoch."""
        epoch, position = divmod(number - 1, len(self))
        order, shuffled = self._epoch(epoch)
        size, config = self._config.batch_size, self._config
        chosen = order[position * size : (position + 1) * size]
        rng = np.random.default_rng([self._seed, 2, number])
        head, relation, tail = self._head[chosen], self._relation[chosen], self._tail[chosen]
        corrupts_tail = rng.random(len(chosen)) < 0.5
        corrupted = self._corrupt(head, relation, tail, corrupts_tail, rng)
        rows = np.concatenate([head, tail, corrupted.ravel()])
        leave_out = None
        if config.leave_target_out:
            none = np.full(corrupted.size, -1, dtype=np.int64)
            leave_out = np.concatenate([self._message_of_tail[chosen], self._message_of_head[chosen], none])
        sampled = shuffled.sample(rows, config.neighbours, rng, leave_out)
        return TripleBatch(head, relation, tail, corrupts_tail, corrupted, sampled)

    def _make_epoch(self, epoch: int) -> tuple[Positions, Neighbourhoods]:
        rng = np.random.default_rng([self._seed, 1, epoch])
        return rng.permutation(len(self._keys)), self._neighbourhoods.shuffled(rng)

    def _corrupt(
        self,
        head: Positions,
        relation: Positions,
        tail: Positions,
        corrupts_tail: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> Positions:
        """int64 [n, negatives]: entities that make no true triple, uniformly from those of the training triples."""
        corrupted = self._draw(corrupts_tail, relation, rng)
        side, r = corrupts_tail[:, None], relation[:, None]
        for _ in range(_REDRAWS):
            key = self._key(np.where(side, head[:, None], corrupted), r, np.where(side, corrupted, tail[:, None]))
            true = self._keys[np.searchsorted(self._keys, key).clip(max=len(self._keys) - 1)] == key
            if not true.any():
                break
            corrupted[true] = self._draw(corrupts_tail, relation, rng)[true]
        return corrupted

    def _draw(self, corrupts_tail: NDArray[np.bool_], relation: Positions, rng: np.random.Generator) -> Positions:
        shape = len(relation), self._config.negatives
        if self._config.corrupt == "uniform":
            return rng.choice(self._pool, shape)
        # Messages are sorted by relation: those of r are its tails, those of r + R its heads.
        slot = np.where(corrupts_tail, relation, self._relations.inverse(relation))
        start, end = (np.searchsorted(self._neighbourhoods.relation, slot, side) for side in ("left", "right"))
        position = start[:, None] + (rng.random(shape) * (end - start)[:, None]).astype(np.int64)
        return self._neighbourhoods.neighbour[position]

    def _key(self, head: Positions, relation: Positions, tail: Positions) -> Positions:
        return (relation * self._entities + head) * self._entities + tail
