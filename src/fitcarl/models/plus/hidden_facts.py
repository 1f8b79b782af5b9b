"""Batches in which every query has facts of its own that it does not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.data.quadruples import Quadruples
from fitcarl.graph.kernels import PatchColumns
from fitcarl.graph.patches import Positions, directed_edges, hide_facts, patch_groups
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.encoder.temporal_memory import WINDOW
from fitcarl.models.plus.event_index import EVENT_INDEX
from fitcarl.models.plus.features.accumulate import EVENT_WINDOW
from fitcarl.models.plus.gaps import ticks_within
from fitcarl.models.plus.reduced_index import find_events, object_positions
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.tasks.task import NO_LIMIT, Queries

_NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class HiddenFacts:
    """A graph and its statistics, patched so that every query of a batch misses some facts.

    Only the index of events is patched. Rates, rules and embeddings are kept: they rest on thousands of facts, and
    recomputed they would also change by chance.
    """

    graph: TemporalGraph
    statistics: GraphStatistics
    query: Positions
    """int64 [pairs]: the query of each pair of query and entity for which background facts are hidden."""
    entity: Positions
    """int64 [pairs]."""
    first_time: Positions
    """int64 [pairs]: the time of the first background fact of the entity that the query sees; ``_NEVER`` for none."""

    @classmethod
    def of(
        cls, graph: TemporalGraph, statistics: GraphStatistics, queries: Queries, hidden: Sequence[Quadruples]
    ) -> HiddenFacts:
        """Hides facts from queries.

        Args:
            graph: The graph.
            statistics: Statistics of its background.
            queries: The queries of the batch.
            hidden: For every query, the facts it does not see, in their original direction.
        """
        patched = hide_facts(graph, hidden)
        query, edges = directed_edges(hidden, graph)
        found = graph.base.find(edges) >= 0
        query, edges = query[found], edges.take(found)
        parts = {**_objects(statistics, query, edges), **_events(statistics, queries, query, edges)}
        patches = patched.base.patches
        seen = patches.low < patches.high
        first = np.full(len(seen), _NEVER, dtype=np.int64)
        first[seen] = patched.base.time[patches.low[seen]]
        owner, entity = np.divmod(patches.key, graph.entities)
        return cls(patched, statistics.with_parts(**parts), owner, entity, first)

    def unknown(self, visible_before: NDArray[np.int32] | None) -> tuple[Tensor, Tensor]:
        """Queries and entities [pairs]: entities that a query does not know because of the hidden facts.

        Args:
            visible_before: int32 [queries]: only facts strictly before this tick count; None for facts of any time.
        """
        gone = self.first_time == _NEVER
        if visible_before is not None:
            limit = visible_before.astype(np.int64)
            limit[limit == NO_LIMIT] = _NEVER
            gone = self.first_time >= limit[self.query]
        return torch.from_numpy(self.query[gone]), torch.from_numpy(self.entity[gone])


def _objects(statistics: GraphStatistics, query: Positions, edges: Quadruples) -> dict[str, object]:
    """The times of pairs (r, o) without those of the hidden edges."""
    index = {name: getattr(statistics, name) for name in EVENT_INDEX}
    pair, position = object_positions(index, edges, query)
    patches, copied = patch_groups(statistics.object_offsets, query, pair, position)
    times = np.concatenate([statistics.object_times, statistics.object_times[copied]])
    return {"object_times": times, "object_patches": patches}


def _events(statistics: GraphStatistics, queries: Queries, query: Positions, edges: Quadruples) -> dict[str, object]:
    """The events around each query without the hidden ones; a query without hidden events there reads all events."""
    columns = (statistics.event_time, statistics.event_source, statistics.event_relation, statistics.event_target)
    reach = ticks_within(max(WINDOW, EVENT_WINDOW), statistics.units_per_tick)
    near = np.abs(edges.time.astype(np.int64) - queries.time[query]) <= reach
    query, edges = query[near], edges.take(near)
    position = find_events(*columns, edges.subject, edges.relation, edges.object, edges.time)
    asked = queries.time.astype(np.int64)
    window = [np.searchsorted(columns[0], asked - reach), np.searchsorted(columns[0], asked + reach, side="right")]
    low, high = np.zeros(len(queries), np.int64), np.full(len(queries), len(columns[0]), np.int64)
    copied, end = [], len(columns[0])
    for number in np.unique(query).tolist():
        kept = np.setdiff1d(np.arange(window[0][number], window[1][number]), position[query == number])
        low[number], high[number] = end, end + len(kept)
        copied.append(kept)
        end += len(kept)
    chosen = np.concatenate([np.empty(0, np.int64), *copied])
    names = ("event_time", "event_source", "event_relation", "event_target")
    longer = {name: np.concatenate([column, column[chosen]]) for name, column in zip(names, columns, strict=True)}
    return {**longer, "event_patches": PatchColumns(np.arange(len(queries)), low, high)}
