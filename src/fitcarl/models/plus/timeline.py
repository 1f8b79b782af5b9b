"""Statistics as known at any tick: rates from a few snapshots of the past, indices from the whole graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.statistics import EVENT_INDEX, GraphStatistics
from fitcarl.tasks.task import NO_LIMIT, Queries

_FIRST_SNAPSHOT = 1000
"""Edges before the first snapshot; each further one has twice as many."""

CountStatistics = Callable[[TemporalGraph], GraphStatistics]
"""Computes the statistics of a graph of the same entities."""


class Timeline:
    """The statistics that a query may use.

    Whatever is an index sorted by time (degrees, counts, events) is read up to the tick of the query. Rates, rules and
    embeddings are those of the last snapshot before it: one is made whenever the number of facts has doubled, so all of
    them together cost about twice as much as one computation on all facts. Where the snapshots are depends on earlier
    facts only. Snapshots are made when they are needed first, and kept.
    """

    def __init__(self, statistics: GraphStatistics, graph: TemporalGraph, count: CountStatistics) -> None:
        """Args:
        statistics: Statistics of the whole background.
        graph: The background.
        count: Computes the statistics of a part of it.
        """
        self._statistics, self._graph, self._count = statistics, graph, count
        self._ticks = snapshot_ticks(statistics.event_time)
        self._snapshots: dict[int, GraphStatistics] = {}
        self._names: Mapping[int, str] = {}

    def with_names(self, names: Mapping[int, str]) -> Timeline:
        """The same statistics with the names of entities without one; snapshots are shared."""
        other = copy(self)
        other._statistics = self._named(self._statistics, names)
        other._names = names
        return other

    def at(self, before: int) -> GraphStatistics:
        """The statistics for queries that may use facts strictly before a tick."""
        return self._snapshot(int(self._numbers(np.array([before]))[0]))

    def groups(self, queries: Queries) -> Iterator[tuple[GraphStatistics, Positions]]:
        """Statistics, and the positions of the queries that use them."""
        numbers = self._numbers(queries.visible_before)
        for number in np.unique(numbers).tolist():
            yield self._snapshot(number), np.flatnonzero(numbers == number)

    def _numbers(self, before: NDArray[np.integer]) -> Positions:
        """The number of the last snapshot: 0 for no facts at all, and one more than snapshots for all facts."""
        times = self._statistics.event_time
        after_all = before > times[-1] if len(times) else before == NO_LIMIT
        numbers = np.searchsorted(self._ticks, before, side="right")
        return np.where(after_all, len(self._ticks) + 1, numbers).astype(np.int64)

    def _snapshot(self, number: int) -> GraphStatistics:
        if number > len(self._ticks):
            return self._statistics
        if number not in self._snapshots:
            tick = int(self._ticks[number - 1]) if number else np.iinfo(np.int32).min
            found = self._count(self._graph.without_overlay.before(tick))
            index = {name: getattr(self._statistics, name) for name in EVENT_INDEX}
            self._snapshots[number] = found.with_parts(**index, scaling=self._statistics.scaling)
        found = self._snapshots[number]
        return self._named(found, self._names) if self._names else found

    @staticmethod
    def _named(statistics: GraphStatistics, names: Mapping[int, str]) -> GraphStatistics:
        return statistics.with_parts(names=statistics.names.with_names(names))


def snapshot_ticks(times: NDArray[np.int32]) -> NDArray[np.int64]:
    """int64, ascending: ticks before which there are at least 1,000, 2,000, 4,000 … of the ascending times."""
    sizes = []
    size = _FIRST_SNAPSHOT
    while size <= len(times):
        sizes.append(size)
        size *= 2
    return np.unique(times[np.array(sizes, dtype=np.int64) - 1].astype(np.int64) + 1)
