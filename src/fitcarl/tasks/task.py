"""Few-shot tasks: unseen entities with their support facts, and queries about their other facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries (e', r_q, ?, t_q); the unseen entity is always the subject, so r_q may be an inverse relation."""

    entity: Ids
    """int32 [queries], the unseen entity e'."""
    relation: Ids
    """int32 [queries], r_q in [0, 2R)."""
    time: Ids
    """int32 [queries], t_q in ticks."""
    answer: Ids
    """int32 [queries], the other entity of the hidden fact."""

    @classmethod
    def hidden(cls, owner: Ids, facts: Quadruples, relations: RelationIds) -> Queries:
        """Queries whose answers are the other entities of ``facts``; ``owner`` [facts] are the unseen ones."""
        turned = facts.seen_from(owner, relations)
        return cls(turned.subject, turned.relation, turned.time, turned.object)

    def __len__(self) -> int:
        return len(self.entity)

    def asks_the_same(self, other: Queries) -> bool:
        """Whether both are the same queries in the same order, regardless of their answers."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("entity", "relation", "time"))

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Queries:
        return Queries(self.entity[index], self.relation[index], self.time[index], self.answer[index])


@dataclass(frozen=True)
class Task:
    """The support facts of some unseen entities and the queries about them, which have no fact in common."""

    support: MetaSet
    queries: Queries

    @classmethod
    def empty(cls) -> Task:
        """A task without entities and queries."""
        nothing, facts = np.empty(0, np.int32), Quadruples.empty()
        return cls(MetaSet(nothing, facts), Queries(nothing, nothing, nothing, nothing))

    @property
    def entities(self) -> Ids:
        """int32 [unseen], in order of appearance."""
        return self.support.entities


def official_task(meta: MetaSet, shots: int, relations: RelationIds) -> Task:
    """The official task: the first K facts of each entity are its support, the others its queries.

    Entities with at most K facts have no queries and are left out.
    """
    return _divide(meta, np.arange(len(meta)), shots, None, relations)


def sampled_task(
    meta: MetaSet,
    shots: int,
    relations: RelationIds,
    rng: np.random.Generator,
    queries_per_entity: int | None = None,
) -> Task:
    """A random task: K support facts per entity without replacement, then queries.

    Args:
        meta: The facts of the unseen entities.
        shots: K, support facts per entity.
        relations: Relation ids, to invert facts.
        rng: Source of random numbers.
        queries_per_entity: Maximum number of queries per entity; all other facts by default.
    """
    by_owner_at_random = np.lexsort((rng.random(len(meta)), np.repeat(np.arange(len(meta.entities)), _counts(meta))))
    return _divide(meta, by_owner_at_random, shots, queries_per_entity, relations)


def _counts(meta: MetaSet) -> NDArray[np.int64]:
    return np.diff(meta.offsets)


def _divide(
    meta: MetaSet, order: NDArray[np.int64], shots: int, queries_per_entity: int | None, relations: RelationIds
) -> Task:
    """Splits each entity's facts, taken in ``order`` (which keeps entities contiguous), into support and queries."""
    counts = _counts(meta)
    position = np.arange(len(meta)) - np.repeat(meta.offsets[:-1], counts)
    has_queries = np.repeat(counts > shots, counts)
    support = order[has_queries & (position < shots)]
    is_query = has_queries & (position >= shots)
    if queries_per_entity is not None:
        is_query &= position < shots + queries_per_entity
    queries = order[is_query]
    return Task(
        MetaSet(meta.entity_of_fact[support], meta.facts.take(support)),
        Queries.hidden(meta.entity_of_fact[queries], meta.facts.take(queries), relations),
    )
