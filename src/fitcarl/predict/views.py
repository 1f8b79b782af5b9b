"""Views of the background graph: complete, or without some facts. Dates need none: queries carry their own limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.data.quadruples import Quadruples, Row
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.models.base import GraphContext, TrainableModel
from fitcarl.models.open_queries.event_index import EventIndex

_MAX_COMPLETE, _MAX_REDUCED = 4, 32
"""Number of cached views: by capacity, and without some facts."""
_MIN_CAPACITY = 64
"""Minimum number of new entities that a view has room for; doubled until it is enough."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class GraphView:
    """A background graph with room for new entities, and the model on it."""

    model: TrainableModel
    graph: TemporalGraph

    @cached_property
    def event_index(self) -> EventIndex:
        """Counts of events by relation, for queries that leave relation or time open."""
        return EventIndex.from_graph(self.graph)


class GraphViewCache:
    """The views of a run, built on first use. Thread-safe."""

    def __init__(self, model: TrainableModel, context: GraphContext) -> None:
        self._model = model
        self._context = context
        self._complete: LRUCache[GraphView] = LRUCache(_MAX_COMPLETE)
        self._reduced: LRUCache[GraphView] = LRUCache(_MAX_REDUCED)

    def get(self, new_entities: int, hidden: frozenset[Row] = frozenset(), keep: bool = True) -> GraphView:
        """A view of the background.

        Args:
            new_entities: Minimum number of new entities that it has room for.
            hidden: Background facts that are left out.
            keep: Whether a view without facts is kept for further queries.
        """
        capacity = _MIN_CAPACITY
        while capacity < new_entities:
            capacity *= 2
        view = self._complete.get(capacity, lambda: self._with_capacity(capacity))
        if hidden:
            complete = view
            if not keep:
                return _without(complete, hidden)
            view = self._reduced.get((capacity, hidden), lambda: _without(complete, hidden))
        return view

    def _with_capacity(self, capacity: int) -> GraphView:
        extended = self._context.with_capacity(capacity)
        return GraphView(self._model.with_capacity(extended), extended.graph)


class LRUCache(Generic[Value]):
    """The most recently used values, each built once.

    Written here because ``functools.lru_cache`` (and ``cachetools`` without further locks) lets concurrent threads
    build the same value several times, and building a view of a large graph takes seconds and gigabytes.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lookup, self._build = Lock(), Lock()

    def get(self, key: Hashable, build: Callable[[], Value]) -> Value:
        """The value of a key, built if it is missing; other keys can be looked up meanwhile."""
        found = self._find(key)
        if found is not None:
            return found
        with self._build:
            found = self._find(key)  # another thread may have built it in the meantime
            if found is None:
                found = build()
                with self._lookup:
                    self._values[key] = found
                    while len(self._values) > self._size:
                        self._values.popitem(last=False)
        return found

    def _find(self, key: Hashable) -> Value | None:
        with self._lookup:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)


def _without(view: GraphView, hidden: frozenset[Row]) -> GraphView:
    """The background without some of its facts."""
    edges = Quadruples.from_rows(sorted(hidden)).both_directions(view.graph.relations)
    keep = np.ones(len(view.graph.base), dtype=np.bool_)
    position = view.graph.base.find(edges)
    keep[position[position >= 0]] = False
    graph = _subgraph(view.graph, keep)
    return GraphView(view.model.with_graph(graph), graph)


def _subgraph(graph: TemporalGraph, keep: NDArray[np.bool_]) -> TemporalGraph:
    """The graph of some of the background edges, without overlay."""
    base = graph.base
    before = offsets_of(keep.astype(np.int64))
    kept = Adjacency(before[base.offsets], base.relation[keep], base.target[keep], base.time[keep])
    return TemporalGraph.from_adjacency(kept, graph.relations)
