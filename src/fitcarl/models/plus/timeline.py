"""Statistics as known at any tick: rates from a few snapshots of the past, indices from the whole graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions
from fitcarl.models.plus.event_index import EVENT_INDEX
from fitcarl.models.plus.snapshots import Snapshots
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.tasks.task import NO_LIMIT, Queries


class Timeline:
    """The statistics that a query may use.

    Whatever is an index sorted by time (degrees, counts, events) is read up to the tick of the query. Rates, rules and
    embeddings are those of the last snapshot before it.
    """

    def __init__(self, statistics: GraphStatistics, snapshots: Snapshots) -> None:
        """Args:
        statistics: Statistics of the whole background.
        snapshots: Those of its past.
        """
        self._statistics, self._snapshots = statistics, snapshots
        self._adapted: dict[int, GraphStatistics] = {}
        self._names: Mapping[int, str] = {}

    def with_names(self, names: Mapping[int, str]) -> Timeline:
        """The same statistics with the names of entities without one; snapshots are shared."""
        other = copy(self)
        other._statistics = self._named(self._statistics, names)
        other._names = names
        return other

    def with_statistics(self, statistics: GraphStatistics) -> Timeline:
        """The timeline of nearly the same background, with room for more entities or without a few facts.

        The snapshots are shared: a few facts hardly change rates.
        """
        return Timeline(statistics, self._snapshots)

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
        times, ticks = self._statistics.event_time, self._snapshots.ticks
        after_all = before > times[-1] if len(times) else before == NO_LIMIT
        numbers = np.searchsorted(ticks, before, side="right")
        return np.where(after_all, len(ticks) + 1, numbers).astype(np.int64)

    def _snapshot(self, number: int) -> GraphStatistics:
        if number > len(self._snapshots.ticks):
            return self._statistics
        if number not in self._adapted:
            self._adapted[number] = self._with_index(self._snapshots.get(number))
        found = self._adapted[number]
        return self._named(found, self._names) if self._names else found

    def _with_index(self, snapshot: GraphStatistics) -> GraphStatistics:
        """A snapshot with the rows, the index and the scaling of the whole background."""
        extra = self._statistics.entities - snapshot.entities
        rows = snapshot.with_capacity(extra) if extra else snapshot
        index = {name: getattr(self._statistics, name) for name in EVENT_INDEX}
        return rows.with_parts(**index, scaling=self._statistics.scaling)

    @staticmethod
    def _named(statistics: GraphStatistics, names: Mapping[int, str]) -> GraphStatistics:
        return statistics.with_parts(names=statistics.names.with_names(names))
