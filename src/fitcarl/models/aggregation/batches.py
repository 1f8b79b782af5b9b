"""Mini-batches of distinct training triples, with corrupted triples and sampled neighbourhoods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fitcarl.config.aggregation import AggregationTrainingConfig
from fitcarl.core.arrays import Positions
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.models.aggregation.neighbourhoods import Neighbourhoods

_REDRAWS = 8
"""Corruptions that are true triples are drawn again at most this often."""


@dataclass(frozen=True, eq=False)
class TripleBatch:
    """Training triples as queries (e, r, ?) about one of their two entities, with true and corrupted answers."""

    entity: Positions
    """int64 [n], e: the head of a triple, or its tail."""
    relation: Positions
    """int64 [n] in [0, 2R): the relation if e is the head, its inverse if e is the tail."""
    answer: Positions
    """int64 [n], the other entity of the triple."""
    corrupted: Positions
    """int64 [n, negatives], what replaces the answer: positions in ``replacement``."""
    replacement: Positions
    """int64 [m], entities."""
    replacement_relation: Positions
    """int64 [m] in [0, 2R): the relation r of the triples that an entity is a replacement in; pairs are distinct."""
    neighbourhoods: Neighbourhoods
    """Rows of the n entities and, if candidates have them, of the n answers and of the m replacements."""

    def take(self, rows: slice) -> TripleBatch:
        """Some of the triples, with the replacements and neighbourhoods that they need.

        Args:
            rows: Contiguous rows.
        """
        chosen, count = np.arange(len(self.entity))[rows], len(self.entity)
        used, corrupted = np.unique(self.corrupted[rows], return_inverse=True)
        # Rows of entities, then, if candidates have them, of answers and of replacements.
        wanted = np.concatenate([chosen, count + chosen, 2 * count + used])
        return TripleBatch(
            *(self.entity[rows], self.relation[rows], self.answer[rows]),
            corrupted.reshape(len(chosen), -1),
            *(self.replacement[used], self.replacement_relation[used]),
            self.neighbourhoods.take(wanted[wanted < len(self.neighbourhoods)]),
        )

    @property
    def candidates(self) -> Positions:
        """int64 [n + m]: the answers, then the replacements."""
        return np.concatenate([self.answer, self.replacement])

    def row_entities(self) -> Positions:
        """int64 [rows], the entity of each row of ``neighbourhoods``."""
        return np.concatenate([self.entity, self.candidates])[: len(self.neighbourhoods)]

    def row_relations(self, relations: RelationIds) -> Positions:
        """int64 [rows] in [0, 2R), what each row is asked about: r for e, and its inverse for candidates."""
        inverse = relations.inverse(np.concatenate([self.relation, self.replacement_relation]))
        return np.concatenate([self.relation, inverse])[: len(self.neighbourhoods)]


class TripleBatches:
    """Batches by number: the same seed and number give the same batch, regardless of earlier calls."""

    def __init__(
        self,
        facts: Quadruples,
        entities: int,
        relations: RelationIds,
        config: AggregationTrainingConfig,
        seed: int,
        *,
        encode_candidates: bool,
    ) -> None:
        """Indexes the distinct triples of facts, whose times are dropped.

        Args:
            facts: The training facts.
            entities: Number of entities.
            relations: The relation ids.
            config: Settings of the batches.
            seed: Seed of all batches.
            encode_candidates: Whether answers and their replacements have rows of neighbours, too.
        """
        self._encode_candidates = encode_candidates
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
        forward = rng.random(len(chosen)) < 0.5
        head, relation, tail = self._head[chosen], self._relation[chosen], self._tail[chosen]
        entity, answer = np.where(forward, head, tail), np.where(forward, tail, head)
        relation = np.where(forward, relation, self._relations.inverse(relation))
        pair, corrupted = np.unique(
            relation[:, None] * self._entities + self._corrupt(entity, relation, rng), return_inverse=True
        )
        replacement_relation, replacement = np.divmod(pair, self._entities)
        rows = [entity]
        leave_out = [np.where(forward, self._message_of_tail[chosen], self._message_of_head[chosen])]
        if self._encode_candidates:
            rows += [answer, replacement]
            leave_out += [np.where(forward, self._message_of_head[chosen], self._message_of_tail[chosen])]
            leave_out += [np.full(len(pair), -1, dtype=np.int64)]
        target = np.concatenate(leave_out) if config.leave_target_out else None
        sampled = shuffled.sample(np.concatenate(rows), config.neighbours, rng, target)
        corrupted = corrupted.reshape(len(entity), config.negatives)
        return TripleBatch(entity, relation, answer, corrupted, replacement, replacement_relation, sampled)

    def _make_epoch(self, epoch: int) -> tuple[Positions, Neighbourhoods]:
        rng = np.random.default_rng([self._seed, 1, epoch])
        return rng.permutation(len(self._keys)), self._neighbourhoods.shuffled(rng)

    def _corrupt(self, entity: Positions, relation: Positions, rng: np.random.Generator) -> Positions:
        """int64 [n, negatives]: entities of the training triples that make no true triple."""
        corrupted = self._draw(relation, rng)
        for _ in range(_REDRAWS):
            key = self._key(entity[:, None], relation[:, None], corrupted)
            true = self._keys[np.searchsorted(self._keys, key).clip(max=len(self._keys) - 1)] == key
            if not true.any():
                break
            corrupted[true] = self._draw(relation, rng)[true]
        return corrupted

    def _draw(self, relation: Positions, rng: np.random.Generator) -> Positions:
        shape = len(relation), self._config.negatives
        if self._config.corrupt == "shared":
            distinct, group = np.unique(relation, return_inverse=True)
            found: Positions = rng.choice(self._pool, (len(distinct), shape[1]))[group]
            return found
        if self._config.corrupt == "uniform":
            return rng.choice(self._pool, shape)
        # Messages are sorted by relation: the neighbours in those of r are the answers of r in all triples.
        start, end = (np.searchsorted(self._neighbourhoods.relation, relation, side) for side in ("left", "right"))
        position = start[:, None] + (rng.random(shape) * (end - start)[:, None]).astype(np.int64)
        return self._neighbourhoods.neighbour[position]

    def _key(self, entity: Positions, relation: Positions, answer: Positions) -> Positions:
        """A number for each triple, the same for both of its directions."""
        inverse = self._relations.is_inverse(relation)
        head, tail = np.where(inverse, answer, entity), np.where(inverse, entity, answer)
        return (self._relations.base(relation) * self._entities + head) * self._entities + tail
