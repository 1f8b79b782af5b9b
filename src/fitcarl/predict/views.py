"""What may be seen of the background: all of it, what was known at some date, or all but a few facts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.data.quadruples import Quadruples
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.models.base import GraphContext, TrainableModel

_DATES_KEPT, _HIDINGS_KEPT = 4, 32
_LEAST_ROOM = 64
"""Newcomers there is room for at least; more make room for twice as many."""

Row = tuple[int, int, int, int]
"""A fact by its ids: subject, relation, object, tick."""
Built = TypeVar("Built")


@dataclass(frozen=True)
class GraphView:
    """An agent and the background it sees, with rows for newcomers."""

    model: TrainableModel
    graph: TemporalGraph


class GraphViewCache:
    """The sights of a run, made when they are first asked for; a few are kept. Safe to share between threads."""

    def __init__(self, model: TrainableModel, context: GraphContext) -> None:
        self._model = model
        self._context = context
        self._whole: LRUCache[GraphView] = LRUCache(_DATES_KEPT)
        self._dated: LRUCache[GraphView] = LRUCache(_DATES_KEPT)
        self._hiding: LRUCache[GraphView] = LRUCache(_HIDINGS_KEPT)

    def of(self, newcomers: int, as_of: int | None = None, hidden: frozenset[Row] = frozenset()) -> GraphView:
        """The background up to a tick, without some of its facts, with room for so many newcomers at least."""
        room = _LEAST_ROOM
        while room < newcomers:
            room *= 2
        sight = self._whole.get(room, lambda: self._widened(room))
        if as_of is not None:
            whole = sight
            sight = self._dated.get((room, as_of), lambda: _up_to(whole, as_of))
        if hidden:
            dated = sight
            sight = self._hiding.get((room, as_of, hidden), lambda: _without(dated, hidden))
        return sight

    def _widened(self, room: int) -> GraphView:
        wide = self._context.with_capacity(room)
        return GraphView(self._model.with_capacity(wide), wide.graph)


class LRUCache(Generic[Built]):
    """The things last asked for; each is built once, and whoever asks for another one meanwhile need not wait."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: OrderedDict[Hashable, Built] = OrderedDict()
        self._looking, self._building = Lock(), Lock()

    def get(self, key: Hashable, build: Callable[[], Built]) -> Built:
        found = self._find(key)
        if found is not None:
            return found
        with self._building:
            found = self._find(key)  # somebody else may have built it while we waited
            if found is None:
                found = build()
                with self._looking:
                    self._things[key] = found
                    while len(self._things) > self._most:
                        self._things.popitem(last=False)
        return found

    def _find(self, key: Hashable) -> Built | None:
        with self._looking:
            if key in self._things:
                self._things.move_to_end(key)
            return self._things.get(key)


def _up_to(sight: GraphView, tick: int) -> GraphView:
    """Graph and counts of a date, as if nothing had happened since; what was learned stays as it is."""
    graph = _kept(sight.graph, sight.graph.base.time <= tick)
    return GraphView(sight.model.refit_statistics(graph), graph)


def _without(sight: GraphView, hidden: frozenset[Row]) -> GraphView:
    """The background without some of its facts."""
    facts = Quadruples.from_rows(sorted(hidden))
    edges = facts.both_directions(sight.graph.relations)
    keep = np.ones(len(sight.graph.base), dtype=np.bool_)
    place = sight.graph.base.find(edges)
    keep[place[place >= 0]] = False
    graph = _kept(sight.graph, keep)
    return GraphView(sight.model.with_graph(graph), graph)


def _kept(graph: TemporalGraph, keep: NDArray[np.bool_]) -> TemporalGraph:
    """The bare graph of some of the edges."""
    base = graph.base
    before = offsets_of(keep.astype(np.int64))
    kept = Adjacency(before[base.offsets], base.relation[keep], base.target[keep], base.time[keep])
    return TemporalGraph.from_adjacency(kept, graph.relations)
