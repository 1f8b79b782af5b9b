"""Counts of background events by relation, as known before any tick: popularity, successors, relations of an entity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Groups, Positions, offsets_of, spans
from fitcarl.data.quadruples import Ids
from fitcarl.graph.kernels import stable_order
from fitcarl.graph.temporal import Adjacency, TemporalGraph, order_by_time

_LAGS = (1, 2, 4, 8, 16)
"""A fact's successors are the facts this many places later among those of the same entity, in order of time."""
_YOUNG = 100
"""Successors are counted for the first facts of an entity: what new entities do next differs from what hubs do."""
_MAX_EDGES = 2_000_000
"""Edges whose successors are counted; of a larger graph, those of every n-th entity."""
_RECENT_FACTS = 1000
"""Facts of an entity that ``relations_around`` counts, the latest ones."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EventIndex:
    """Counts by relation over the facts strictly before a tick, exact at any tick: all columns are sorted by time."""

    graph: TemporalGraph
    events: Groups
    """The background facts by (relation, time)."""
    ticks: tuple[int, int]
    """First tick of a fact, and the number of ticks."""
    successor_offsets: Positions
    """int64 [2R + 1]: the successors of relation r are at ``successor_offsets[r]:successor_offsets[r + 1]``."""
    successor: Ids
    """int32 [pairs]: the relation of a later fact of the same entity."""
    successor_time: Ids
    """int32 [pairs], ticks of the later fact, ascending within a relation."""

    @classmethod
    def from_graph(cls, graph: TemporalGraph) -> EventIndex:
        """Indexes the background of a graph; its overlay is not counted."""
        base, relations = graph.base, graph.relations
        forward = ~relations.is_inverse(base.relation)
        first, last = base.time_range if len(base) else (0, 0)
        ticks = (first, last - first + 1)
        events = Groups.of(_key(base.relation[forward], base.time[forward], ticks))
        relation, later, time = _successors(base)
        order = stable_order(relation, order_by_time(time), relations.directed)
        offsets = offsets_of(np.bincount(relation, minlength=relations.directed))
        return cls(graph, events, ticks, offsets, later[order], time[order])

    @property
    def directed(self) -> int:
        """2R, the number of directed relations."""
        return self.graph.relations.directed

    def popularity(self, before: int, since: int | None = None) -> Counts:
        """int64 [2R]: facts of each relation in ``[since, before)``; a relation and its inverse have the same."""
        first, span = self.ticks
        start = 0 if since is None else min(max(since - first, 0), span)
        end = min(max(before - first, start), span)
        key = np.arange(self.graph.relations.count, dtype=np.int64) * (span + 1)
        _, count = self.events.between(key + start, key + end)
        return np.concatenate([count, count]).astype(np.int64)

    def successors(self, relation: int, before: int) -> Counts:
        """int64 [2R]: relations of later facts of entities that had a fact with this directed relation."""
        part = slice(int(self.successor_offsets[relation]), int(self.successor_offsets[relation + 1]))
        end = part.start + int(np.searchsorted(self.successor_time[part], before))
        return np.bincount(self.successor[part.start : end], minlength=self.directed)

    def relations_around(self, entity: int, before: int) -> Counts:
        """int64 [2R]: relations that other entities have to this one, seen from them, over its latest facts."""
        base = self.graph.base
        if entity >= self.graph.entities:
            return np.zeros(self.directed, dtype=np.int64)
        first, last = int(base.offsets[entity]), int(base.offsets[entity + 1])
        last = first + int(np.searchsorted(base.time[first:last], before))
        recent = base.relation[max(first, last - _RECENT_FACTS) : last]
        return np.bincount(self.graph.relations.inverse(recent), minlength=self.directed)


def _key(relation: Ids, time: Ids, ticks: tuple[int, int]) -> Positions:
    first, span = ticks
    return relation.astype(np.int64) * (span + 1) + (time.astype(np.int64) - first)


def _successors(base: Adjacency) -> tuple[Ids, Ids, Ids]:
    """Relation, later relation and later tick of pairs of facts of one entity that are a lag apart."""
    chosen = np.arange(0, len(base.offsets) - 1, max(1, -(-len(base) // _MAX_EDGES)))
    source, position = spans(base.offsets[chosen], np.diff(base.offsets)[chosen])
    young = position - base.offsets[chosen[source]] < _YOUNG
    parts = []
    for lag in _LAGS:
        first = position[:-lag][(source[:-lag] == source[lag:]) & young[:-lag]]
        parts.append((base.relation[first], base.relation[first + lag], base.time[first + lag]))
    relation, later, time = (np.concatenate(column) for column in zip(*parts, strict=True))
    return relation, later, time
