"""Few-shot tasks: unseen entities with their support facts, and queries about their other facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds

NO_LIMIT = np.iinfo(np.int32).max
"""The value of ``Queries.visible_before`` for a query that may use all facts."""


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
    visible_before: Ids = None  # type: ignore[assignment]
    """int32 [queries], ticks: only facts strictly before it may be used; ``NO_LIMIT`` (the default) for all facts."""

    def __post_init__(self) -> None:
        if self.visible_before is None:
            object.__setattr__(self, "visible_before", np.full(len(self.entity), NO_LIMIT, dtype=np.int32))

    @classmethod
    def hidden(cls, owner: Ids, facts: Quadruples, relations: RelationIds, setting: Setting = "completion") -> Queries:
        """Queries whose answers are the other entities of ``facts``; ``owner`` [facts] are the unseen ones."""
        turned = facts.seen_from(owner, relations)
        limit = turned.time if setting == "forecast" else None
        return cls(turned.subject, turned.relation, turned.time, turned.object, limit)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.entity)

    def asks_the_same(self, other: Queries) -> bool:
        """Whether both are the same queries in the same order, regardless of their answers."""
        asked = ("entity", "relation", "time", "visible_before")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in asked)

    @property
    def limited(self) -> bool:
        """Whether a query may not use all facts."""
        return bool((self.visible_before < NO_LIMIT).any())

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Queries:
        columns = (self.entity, self.relation, self.time, self.answer, self.visible_before)
        return Queries(*(column[index] for column in columns))


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


def official_task(meta: MetaSet, shots: int, relations: RelationIds, setting: Setting = "completion") -> Task:
    """The official task: the first K facts of each entity are its support, the others its queries.

    In the setting ``forecast`` they are the earliest K facts, and the queries are all strictly later facts. Entities
    without queries are left out.
    """
    if setting == "forecast":
        return _forecast(meta, shots, relations, None, None)
    return _divide(meta, np.arange(len(meta)), shots, None, relations)


def sampled_task(
    meta: MetaSet,
    shots: int,
    relations: RelationIds,
    rng: np.random.Generator,
    queries_per_entity: int | None = None,
    setting: Setting = "completion",
) -> Task:
    """A random task: K support facts per entity without replacement, then queries.

    In the setting ``forecast`` the support facts are K successive facts, the first of which is random; queries are
    strictly later, and earlier facts are left out.

    Args:
        meta: The facts of the unseen entities.
        shots: K, support facts per entity.
        relations: Relation ids, to invert facts.
        rng: Source of random numbers.
        queries_per_entity: Maximum number of queries per entity; all other facts by default.
        setting: Whether queries ask about any time or about the future.
    """
    if setting == "forecast":
        return _forecast(meta, shots, relations, rng, queries_per_entity)
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
    return _task(meta, support, order[is_query], relations, "completion")


def _forecast(
    meta: MetaSet, shots: int, relations: RelationIds, rng: np.random.Generator | None, queries_per_entity: int | None
) -> Task:
    """K successive facts of each entity as its support, and later ones as queries; the earliest K without ``rng``."""
    counts = _counts(meta)
    owner = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((meta.facts.time, owner))
    time = meta.facts.time[order]
    position = np.arange(len(meta)) - np.repeat(meta.offsets[:-1], counts)
    first = np.zeros(len(counts), dtype=np.int64)
    if rng is not None:
        first = (rng.random(len(counts)) * np.maximum(counts - shots, 1)).astype(np.int64)
    in_support = (position >= first[owner]) & (position < first[owner] + shots)
    known_until = np.full(len(counts), NO_LIMIT, dtype=np.int64)  # no query is later if there are fewer than K facts
    complete = counts >= first + shots
    known_until[complete] = time[meta.offsets[:-1][complete] + first[complete] + shots - 1]
    is_query = time > known_until[owner]
    if rng is not None and queries_per_entity is not None:
        at_random = np.lexsort((rng.random(len(meta)), ~is_query, owner))
        place = np.empty(len(meta), dtype=np.int64)
        place[at_random] = position
        is_query &= place < queries_per_entity
    has_queries = np.bincount(owner[is_query], minlength=len(counts)) > 0
    return _task(meta, order[in_support & has_queries[owner]], order[is_query], relations, "forecast")


def _task(
    meta: MetaSet, support: NDArray[np.int64], queries: NDArray[np.int64], relations: RelationIds, setting: Setting
) -> Task:
    return Task(
        MetaSet(meta.entity_of_fact[support], meta.facts.take(support)),
        Queries.hidden(meta.entity_of_fact[queries], meta.facts.take(queries), relations, setting),
    )
