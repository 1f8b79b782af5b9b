"""The temporal graph: both directions of every background fact, plus an overlay for the support facts of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import read_only, read_only_arrays
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.edge_order import sorted_edges
from fitcarl.graph.kernels import NO_PATCHES, EdgeColumns, PatchColumns, count_visible, find_edges, stable_order

_TICKS_PER_EDGE, _FEW_TICKS = 4, 1 << 16  # up to this range, a counting sort by tick needs little memory


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Directed, dated edges in CSR form, sorted by source, time, relation and target."""

    offsets: NDArray[np.int64]
    """int64 [entities + 1]: edges of entity e are ``offsets[e]:offsets[e + 1]``."""
    relation: Ids
    """int32 [edges], in [0, 2R)."""
    target: Ids
    """int32 [edges]."""
    time: Ids
    """int32 [edges], ticks."""
    patches: PatchColumns = field(default=NO_PATCHES, kw_only=True)
    """Edges that single queries of a batch see instead; they follow those of the last entity (``graph/patches.py``)."""

    @classmethod
    def from_edges(cls, edges: Quadruples, entities: int, relations: RelationIds) -> Adjacency:
        """Sorts directed edges; the result does not depend on their order. Times may be negative.

        Raises:
            ValueError: If an id is out of range (the compiled passes check no bounds).
        """
        return cls._of_parts([edges], entities, relations)

    @classmethod
    def from_facts(cls, facts: Quadruples, entities: int, relations: RelationIds) -> Adjacency:
        """The edges of facts, sorted: both directions of each. Times may be negative.

        Raises:
            ValueError: If an id is out of range.
        """
        return cls._of_parts([facts, facts.inverted(relations)], entities, relations)

    @classmethod
    def _of_parts(cls, parts: Sequence[Quadruples], entities: int, relations: RelationIds) -> Adjacency:
        """Sorts edges that are given in parts with the same times."""
        edges = sum(map(len, parts))
        if edges >= 2**32:
            raise ValueError(f"{edges} edges are more than the index supports (2**32 - 1)")
        first = parts[0]
        check_range("subject", first.subject, entities)
        for part in parts:
            check_range("relation", part.relation, relations.directed)
        check_range("object", first.object, entities)
        moment, times = dense_times(first.time)
        offsets, relation, target, moment = sorted_edges(parts, moment, entities, relations.directed, len(times))
        return cls(offsets, relation, target, times[moment])

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def columns(self) -> EdgeColumns:
        """The columns as compiled loops take them."""
        return read_only_arrays(EdgeColumns(self.offsets, self.relation, self.target, self.time, self.patches))

    @cached_property
    def time_range(self) -> tuple[int, int]:
        """The first and the last tick of any edge, read from the ends of each entity's (time-sorted) segment."""
        used = np.flatnonzero(np.diff(self.offsets))
        first, last = self.time[self.offsets[used]], self.time[self.offsets[used + 1] - 1]
        return int(first.min()), int(last.max())

    def degree(self, entity: Ids) -> NDArray[np.int64]:
        """int64 [entities given], the number of out-edges of each."""
        degree: NDArray[np.int64] = self.offsets[entity.astype(np.int64) + 1] - self.offsets[entity]
        return degree

    def count_before(self, entity: Ids, before: Ids) -> NDArray[np.int64]:
        """int64 [entities given], the number of out-edges of each strictly before its tick."""
        found: NDArray[np.int64] = count_visible(
            self.columns, read_only(np.zeros(len(entity), np.int64)), read_only(entity), read_only(before)
        )
        return found

    def edges_with(self, relation: int) -> NDArray[np.int64]:
        """int64, ascending: the positions of the edges with a relation in [0, 2R)."""
        order, relations = self._by_relation
        return order[slice(*np.searchsorted(relations, [relation, relation + 1]))]

    @cached_property
    def _by_relation(self) -> tuple[NDArray[np.int64], Ids]:
        """The positions of all edges, ordered by relation, and their relations."""
        relation = self.relation[: self.offsets[-1]]
        order = np.argsort(relation, kind="stable")
        return order, relation[order]

    def find(self, edges: Quadruples) -> NDArray[np.int64]:
        """int64 [edges]: the position of each edge, or -1 if it does not exist; subjects must be valid entities."""
        check_range("subject", edges.subject, len(self.offsets) - 1)
        wanted = (read_only(column) for column in (edges.subject, edges.relation, edges.object, edges.time))
        found: NDArray[np.int64] = find_edges(self.columns, *wanted)
        return found

    def before(self, tick: int) -> Adjacency:
        """The edges strictly before a tick."""
        visible = self.time < tick
        if visible.all():
            return self
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(visible)])[self.offsets]
        return Adjacency(offsets, self.relation[visible], self.target[visible], self.time[visible])

    def edges(self, position: NDArray[np.int64] | slice = slice(None)) -> Quadruples:
        """The directed edges at these positions as quadruples whose relation may be an inverse."""
        source = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))
        return Quadruples(source[position], self.relation[position], self.target[position], self.time[position])


@dataclass(frozen=True, eq=False)
class TemporalGraph:
    """The observed graph of a task: an immutable background and a small overlay of further facts."""

    relations: RelationIds
    base: Adjacency
    """The background, possibly memory-mapped; shared by all graphs derived from this one."""
    overlay: Adjacency
    """Both directions of the added facts; empty for a graph without added facts."""

    @classmethod
    def from_facts(cls, facts: Quadruples, entities: int, relations: RelationIds) -> TemporalGraph:
        """The graph of these facts, both directions of each; repeated facts are kept (readers merge them)."""
        return cls.from_adjacency(Adjacency.from_facts(facts, entities, relations), relations)

    @classmethod
    def from_adjacency(cls, base: Adjacency, relations: RelationIds) -> TemporalGraph:
        """A graph without overlay, from edges that are already sorted and contain both directions."""
        overlay = Adjacency.from_edges(Quadruples.empty(), len(base.offsets) - 1, relations)
        return cls(relations, base, overlay)

    @property
    def entities(self) -> int:
        return len(self.base.offsets) - 1

    @property
    def edges(self) -> int:
        """The number of directed edges, overlay included."""
        return len(self.base) + len(self.overlay)

    @property
    def time_range(self) -> tuple[int, int]:
        """The first and the last tick of any edge; the graph must have one."""
        ranges = [adjacency.time_range for adjacency in (self.base, self.overlay) if len(adjacency)]
        return min(first for first, _ in ranges), max(last for _, last in ranges)

    @property
    def without_overlay(self) -> TemporalGraph:
        """The graph without its overlay."""
        return TemporalGraph.from_adjacency(self.base, self.relations)

    def before(self, tick: int) -> TemporalGraph:
        """The graph of all facts strictly before a tick."""
        return TemporalGraph(self.relations, self.base.before(tick), self.overlay.before(tick))

    def with_facts(self, facts: Quadruples) -> TemporalGraph:
        """A new graph with these facts in its overlay; facts that already exist are not added again."""
        edges = facts.both_directions(self.relations)
        new = edges.take((self.base.find(edges) < 0) & (self.overlay.find(edges) < 0))
        if not len(new):
            return self
        rows = np.unique(np.concatenate([self.overlay.edges().rows(), new.rows()]), axis=0)
        overlay = Adjacency.from_edges(Quadruples.from_rows(rows), self.entities, self.relations)
        return TemporalGraph(self.relations, self.base, overlay)

    def degree(self, entity: Ids) -> NDArray[np.int64]:
        """int64 [entities given], the number of out-edges of each, overlay included."""
        return self.base.degree(entity) + self.overlay.degree(entity)

    def background_facts(self) -> Quadruples:
        """The facts of the background, each once and in its original direction, in the order of the index."""
        edges = self.base.edges()
        return edges.take(~self.relations.is_inverse(edges.relation))

    def contains(self, edges: Quadruples) -> NDArray[np.bool_]:
        """Whether each directed edge is in the graph."""
        return (self.base.find(edges) >= 0) | (self.overlay.find(edges) >= 0)


def check_range(what: str, ids: NDArray[np.integer[Any]], count: int) -> None:
    """Raises a ValueError unless all ids are in [0, count): compiled loops check no bounds."""
    if len(ids) and (ids.min() < 0 or ids.max() >= count):
        wrong = ids[(ids < 0) | (ids >= count)][0]
        raise ValueError(f"{what} {wrong} is out of range: ids are from 0 to {count - 1}")


def order_by_time(time: Ids) -> NDArray[np.uint32]:
    """uint32 [times]: positions in ascending order of time; equal times keep their order. Times may be negative."""
    moment, times = dense_times(time)
    order: NDArray[np.uint32] = stable_order(moment, np.arange(len(time), dtype=np.uint32), len(times))
    return order


def dense_times(time: Ids) -> tuple[Ids, Ids]:
    """Times as integers in [0, n) in the same order, and the time of each; n is bounded by edges, not the time span."""
    if not len(time):
        return time, np.zeros(1, dtype=np.int32)
    first, last = int(time.min()), int(time.max())
    if last - first < _TICKS_PER_EDGE * len(time) + _FEW_TICKS:
        return (time - np.int32(first)).astype(np.int32), np.arange(first, last + 1, dtype=np.int32)
    distinct, rank = np.unique(time, return_inverse=True)
    return rank.astype(np.int32), distinct
