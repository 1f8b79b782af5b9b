"""Concepts of entities (C_e), and the distribution of concepts over the objects of a relation (P(c | r))."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of, spans
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds

_CELLS_PER_PAIR = 16  # bytes of a table of all pairs, for each pair that has 8


@dataclass(frozen=True, eq=False)
class Concepts:
    """C_e of every entity, as rows of a sparse 0/1 matrix."""

    names: tuple[str, ...]
    """Concept names by id, sorted."""
    offsets: NDArray[np.int64]
    """int64 [entities + 1]: the concepts of entity e are ``ids[offsets[e]:offsets[e + 1]]``."""
    ids: NDArray[np.int32]
    """int32 [pairs], concept ids, ascending within an entity."""

    @classmethod
    def from_pairs(cls, entities: int, pairs: Iterable[tuple[int, str]]) -> Concepts:
        """Concepts from (entity id, concept name) pairs; duplicate pairs are merged."""
        distinct = sorted(set(pairs))
        names = tuple(sorted({name for _, name in distinct}))
        number = {name: i for i, name in enumerate(names)}
        entity = np.array([entity for entity, _ in distinct], dtype=np.int64)
        offsets = offsets_of(np.bincount(entity, minlength=entities))
        return cls(names, offsets, np.array([number[name] for _, name in distinct], dtype=np.int32))

    @classmethod
    def none(cls, entities: int) -> Concepts:
        """No concept for any entity."""
        return cls.from_pairs(entities, ())

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Concepts)
            and self.names == other.names
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.ids, other.ids)
        )

    __hash__ = None  # type: ignore[assignment]

    def of(self, entity: int) -> tuple[str, ...]:
        """Names of the concepts of an entity."""
        return tuple(self.names[i] for i in self.ids[self.offsets[entity] : self.offsets[entity + 1]])

    def used(self) -> Concepts:
        """Concepts that at least one entity has: a dataset folder does not store the names of others."""
        used = np.unique(self.ids)
        ids = np.searchsorted(used, self.ids).astype(np.int32)
        return Concepts(tuple(self.names[number] for number in used.tolist()), self.offsets, ids)

    def matrix(self) -> NDArray[np.float32]:
        """Dense C, float32 [entities, concepts]: 1 where the entity has the concept."""
        dense = np.zeros((len(self.offsets) - 1, len(self.names)), dtype=np.float32)
        dense[np.repeat(np.arange(len(dense)), np.diff(self.offsets)), self.ids] = 1
        return dense


def concept_distribution(background: Quadruples, concepts: Concepts, relations: RelationIds) -> NDArray[np.float64]:
    """P(c | r) of the concept regulariser, float64 [2R, concepts]; rows of relations without facts are zero.

    E_r is the *set* of objects of r in the background: an entity counts once per relation, regardless of the number of
    facts. n_c is the number of entities in E_r that have concept c. The objects of an inverse relation are the subjects
    of the relation.
    """
    if not len(concepts):
        return np.zeros((relations.directed, 0))
    both = background.both_directions(relations)
    entities = len(concepts.offsets) - 1
    pair = both.relation.astype(np.int64) * entities + both.object
    if relations.directed * entities <= _CELLS_PER_PAIR * len(pair):  # a table is much faster than a sort
        seen = np.zeros(relations.directed * entities, dtype=np.bool_)
        seen[pair] = True
        pair = np.flatnonzero(seen)
    else:
        pair = np.unique(pair)
    relation, entity = np.divmod(pair, entities)

    row, position = spans(concepts.offsets[entity], np.diff(concepts.offsets)[entity])
    cell = relation[row] * len(concepts) + concepts.ids[position]

    counts = np.bincount(cell, minlength=relations.directed * len(concepts)).astype(np.float64)
    counts = counts.reshape(relations.directed, len(concepts))
    total = counts.sum(axis=1, keepdims=True)
    probability: NDArray[np.float64] = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    return probability
