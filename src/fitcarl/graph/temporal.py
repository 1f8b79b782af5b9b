"""The graph that is walked: both directions of every fact, and supports that are laid over it and taken off again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.kernels import find_edges, stable_order

_TICKS_AN_EDGE, _FEW_TICKS = 4, 1 << 16


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Directed dated edges sorted by source, then time, relation and target (CSR)."""

    offsets: NDArray[np.int64]
    """int64 [entities + 1]: edges of entity e are ``offsets[e]:offsets[e + 1]``."""
    relation: Ids
    """int32 [edges], in [0, 2R)."""
    target: Ids
    """int32 [edges]."""
    time: Ids
    """int32 [edges], ticks."""

    @classmethod
    def from_edges(cls, edges: Quadruples, entities: int, relations: RelationIds) -> Adjacency:
        """Edges in canonical order, whatever order they came in. Four passes of a radix sort; times may be negative.

        The compiled passes do not check bounds: an id out of range raises a ValueError here.
        """
        if len(edges) >= 2**32:
            raise ValueError("more edges than the index can number")
        check_range("subject", edges.subject, entities)
        check_range("relation", edges.relation, relations.directed)
        check_range("object", edges.object, entities)
        moment, moments = _dense_times(edges.time)
        order = np.arange(len(edges), dtype=np.uint32)
        order = stable_order(edges.object, order, entities)
        order = stable_order(edges.relation, order, relations.directed)
        order = stable_order(moment, order, moments)
        order = stable_order(edges.subject, order, entities)
        offsets = offsets_of(np.bincount(edges.subject, minlength=entities))
        return cls(offsets, edges.relation[order], edges.object[order], edges.time[order])

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def time_range(self) -> tuple[int, int]:
        """The first and the last tick of any edge; times ascend within a segment, so only its ends are looked at."""
        used = np.flatnonzero(np.diff(self.offsets))
        first, last = self.time[self.offsets[used]], self.time[self.offsets[used + 1] - 1]
        return int(first.min()), int(last.max())

    def degree(self, entity: Ids) -> NDArray[np.int64]:
        """int64 [entities asked], out-edges of each."""
        degree: NDArray[np.int64] = self.offsets[entity.astype(np.int64) + 1] - self.offsets[entity]
        return degree

    def find(self, edges: Quadruples) -> NDArray[np.int64]:
        """int64 [edges]: the position of each edge, or -1 where it is not here; a subject must be an entity."""
        check_range("subject", edges.subject, len(self.offsets) - 1)
        found: NDArray[np.int64] = find_edges(
            self.offsets, self.relation, self.target, self.time, edges.subject, edges.relation, edges.object, edges.time
        )
        return found

    def edges(self, position: NDArray[np.int64] | slice = slice(None)) -> Quadruples:
        """The directed edges at these positions as quadruples whose relation may be an inverse."""
        source = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))
        return Quadruples(source[position], self.relation[position], self.target[position], self.time[position])


@dataclass(frozen=True, eq=False)
class TemporalGraph:
    """What a task's agent can see: a background that never changes, and a small overlay."""

    relations: RelationIds
    base: Adjacency
    """The background, possibly memory-mapped; shared by all graphs that are laid over it."""
    overlay: Adjacency
    """Both directions of the facts laid over it; empty for a bare graph."""

    @classmethod
    def from_facts(cls, facts: Quadruples, entities: int, relations: RelationIds) -> TemporalGraph:
        """The graph of these facts; repeated facts are kept as they are (readers merge them)."""
        both = _both_directions(facts, relations)
        return cls.from_adjacency(Adjacency.from_edges(both, entities, relations), relations)

    @classmethod
    def from_adjacency(cls, base: Adjacency, relations: RelationIds) -> TemporalGraph:
        """The bare graph of edges that are sorted already."""
        nothing = Adjacency.from_edges(Quadruples.empty(), len(base.offsets) - 1, relations)
        return cls(relations, base, nothing)

    @property
    def entities(self) -> int:
        return len(self.base.offsets) - 1

    @property
    def edges(self) -> int:
        """Directed edges, those of the overlay included."""
        return len(self.base) + len(self.overlay)

    @property
    def time_range(self) -> tuple[int, int]:
        """The first and the last tick of any edge; the graph must have one."""
        ranges = [adjacency.time_range for adjacency in (self.base, self.overlay) if len(adjacency)]
        return min(first for first, _ in ranges), max(last for _, last in ranges)

    @property
    def without_overlay(self) -> TemporalGraph:
        """The background alone, as it was before anything was laid over it."""
        return TemporalGraph.from_adjacency(self.base, self.relations)

    def with_facts(self, facts: Quadruples) -> TemporalGraph:
        """This graph with more facts; this one stays as it is. A fact that is already there is not added again."""
        wanted = _both_directions(facts, self.relations)
        new = wanted.take((self.base.find(wanted) < 0) & (self.overlay.find(wanted) < 0))
        rows = np.unique(np.concatenate([self.overlay.edges().rows(), new.rows()]), axis=0)
        over = Adjacency.from_edges(Quadruples.from_rows(rows), self.entities, self.relations)
        return TemporalGraph(self.relations, self.base, over)

    def degree(self, entity: Ids) -> NDArray[np.int64]:
        """int64 [entities asked], out-edges of each, overlay included."""
        return self.base.degree(entity) + self.overlay.degree(entity)

    def contains(self, edges: Quadruples) -> NDArray[np.bool_]:
        """Whether each directed edge is in the graph."""
        return (self.base.find(edges) >= 0) | (self.overlay.find(edges) >= 0)


def check_range(what: str, ids: NDArray[np.integer[Any]], count: int) -> None:
    """Raises a ValueError unless all ids are in [0, count): compiled loops read and write wherever an id points."""
    if len(ids) and (ids.min() < 0 or ids.max() >= count):
        wrong = ids[(ids < 0) | (ids >= count)][0]
        raise ValueError(f"{what} {wrong} is out of range: ids are from 0 to {count - 1}")


def _dense_times(time: Ids) -> tuple[Ids, int]:
    """Times as small numbers in the same order, and how many: memory goes by the edges, however far times max_delta."""
    if not len(time):
        return time, 1
    first, last = int(time.min()), int(time.max())
    if last - first < _TICKS_AN_EDGE * len(time) + _FEW_TICKS:
        return (time - np.int32(first)).astype(np.int32), last - first + 1
    distinct, rank = np.unique(time, return_inverse=True)
    return rank.astype(np.int32), len(distinct)


def _both_directions(facts: Quadruples, relations: RelationIds) -> Quadruples:
    return facts.both_directions(relations)
