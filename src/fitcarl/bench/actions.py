"""Action spaces: microseconds per state on one thread, compared with sorting the edges of each node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitcarl.bench.timing import best_of
from fitcarl.core.memory import peak_mb
from fitcarl.data.quadruples import Ids
from fitcarl.graph.actions import Adaptive, action_space
from fitcarl.graph.temporal import TemporalGraph

_REFERENCE_STATES = 300


@dataclass(frozen=True)
class ActionTimes:
    microseconds_per_state: float
    reference_microseconds_per_state: float
    """The same selection with a full sort of each node's edges in NumPy, one state at a time."""
    reference_ratio: float
    states: int
    size: int
    mean_degree: float
    edges: int
    peak_mb: float


@dataclass(frozen=True)
class States:
    """States whose action spaces are timed."""

    entity: Ids
    current_time: Ids
    query_time: Ids

    def __len__(self) -> int:
        return len(self.entity)

    @classmethod
    def by_degree(cls, graph: TemporalGraph, count: int, seed: int = 0) -> States:
        """States at the targets of random edges, so that nodes are sampled by degree, as in a search."""
        rng = np.random.default_rng(seed)
        first, last = graph.time_range
        entity = graph.base.target[rng.integers(0, len(graph.base), count)]
        times = rng.integers(first, last + 1, (2, count)).astype(np.int32)
        return cls(entity, times[0], times[1])


def time_actions(graph: TemporalGraph, states: States, size: int = 50, repeats: int = 5) -> ActionTimes:
    """Times the compiled selection and a NumPy reference on the same states."""
    first, last = graph.time_range
    sampling = _wavy_sampling(last - first)
    columns = (states.entity, states.current_time, states.query_time)
    action_space(graph, *columns, sampling, size)  # compile or load from the cache
    fast = best_of(repeats, lambda: action_space(graph, *columns, sampling, size)) / len(states)

    reference_rows = range(min(_REFERENCE_STATES, len(states)))
    sampled = [(int(states.entity[i]), int(states.query_time[i])) for i in reference_rows]
    slow = best_of(2, lambda: [_sorted_segment(graph, *state, sampling, size) for state in sampled]) / len(
        reference_rows
    )
    return ActionTimes(
        microseconds_per_state=fast * 1e6,
        reference_microseconds_per_state=slow * 1e6,
        reference_ratio=slow / fast,
        states=len(states),
        size=size,
        mean_degree=float(graph.degree(states.entity).mean()),
        edges=graph.edges,
        peak_mb=peak_mb(),
    )


def _wavy_sampling(max_delta: int) -> Adaptive:
    """Time scores like those of a model: a sum of waves, so that good times are spread over the whole axis."""
    rng = np.random.default_rng(1)
    waves = np.cos(np.arange(-max_delta, max_delta + 1)[:, None] * 10 ** -np.linspace(0, 4, 16) + rng.normal(size=16))
    return Adaptive.by_score(waves @ rng.normal(size=16))


def _sorted_segment(graph: TemporalGraph, entity: int, query_time: int, sampling: Adaptive, size: int) -> object:
    low, high = graph.base.offsets[entity], graph.base.offsets[entity + 1]
    rank = sampling.rank[query_time - graph.base.time[low:high] + sampling.max_delta]
    chosen = low + np.argsort(rank, kind="stable")[:size]
    return graph.base.relation[chosen], graph.base.target[chosen], graph.base.time[chosen]
