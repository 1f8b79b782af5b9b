"""Facts of peers: entities that share a (relation, object) with the query entity at about the same time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions, read_only, spans
from fitcarl.graph.kernels import count_visible, lower_bounds
from fitcarl.models.plus.features import accumulate

if TYPE_CHECKING:
    from fitcarl.models.plus.evidence.trace import Trace


@dataclass(frozen=True, eq=False)
class PeerFacts:
    """The facts of all peers of one query, whatever entity they lead to, flat (``from_similar_entities``)."""

    shot: Positions
    """int64 [facts], the support fact that the peer shares."""
    shared: Positions
    """int64 [facts], the edge of the background from the shared entity to the peer."""
    edge: Positions
    """int64 [facts], the edge of the background from the peer."""
    weight: NDArray[np.float64]
    """float64 [facts], what the fact adds to the feature of the entity that it leads to."""

    @classmethod
    def of(cls, trace: Trace) -> PeerFacts:
        """The facts of the peers of a query; the candidate of the trace is not read."""
        facts, base, units = trace.support, trace.graph.base, trace.statistics.units_per_tick
        links = [_links(trace, k) for k in range(len(facts.entity))]
        shot = np.repeat(np.arange(len(links)), [len(part) for part in links])
        shared = np.concatenate([np.empty(0, np.int64), *links])
        peer = base.target[shared]
        before = np.full_like(peer, trace.before)
        query = np.zeros(len(peer), dtype=np.int64)
        visible = count_visible(base.columns, read_only(query), read_only(peer), read_only(before))
        decay = np.exp(-np.abs(base.time[shared] - facts.time[shot]) * units / accumulate.SIMILAR_DECAY)
        begin = base.offsets[peer]
        end = begin + visible
        near = lower_bounds(base.time, begin, end, np.full(len(peer), trace.time, dtype=np.int64))
        first = np.maximum(begin, near - accumulate.SIMILAR_EDGES)
        last = np.minimum(end, near + accumulate.SIMILAR_EDGES)
        link, edge = spans(first, last - first)
        gap = np.abs(base.time[edge].astype(np.int64) - trace.time) * units
        weight = (decay / np.log(2.0 + visible))[link] * np.exp(-gap / accumulate.SIMILAR_EDGE_DECAY)
        return cls(shot[link], shared[link], edge, weight)


def _links(trace: Trace, k: int) -> Positions:
    """The edges from the entity of a support fact to those peers whose fact is nearest in time."""
    facts, base = trace.support, trace.graph.base
    low, high = trace.visible(base, int(facts.entity[k]))
    middle = low + int(np.searchsorted(base.time[low:high], int(facts.time[k])))
    offset = np.arange(2 * accumulate.SIMILAR_SEARCH)
    order = np.where(offset % 2 == 0, middle + offset // 2, middle - 1 - offset // 2)
    order = order[(order >= low) & (order < high)]
    shared_relation = trace.graph.relations.inverse(int(facts.relation[k]))
    order = order[(base.relation[order] == shared_relation) & (base.target[order] != trace.entity)]
    return order[: accumulate.SIMILAR]
