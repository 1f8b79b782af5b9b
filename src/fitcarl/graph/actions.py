"""What an agent may do next: the action space of a node, sampled as the paper and its ablations say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.data.quadruples import Ids
from fitcarl.graph import kernels
from fitcarl.graph.temporal import TemporalGraph, check_range


@dataclass(frozen=True, eq=False)
class ActionSpace:
    """Candidate actions (r, e, t) for a batch of states. Column 0 is the self-loop, then the best edges come first."""

    relation: Ids
    """int32 [states, width]."""
    entity: Ids
    """int32 [states, width]."""
    time: Ids
    """int32 [states, width], ticks."""
    mask: NDArray[np.bool_]
    """bool [states, width]: false on padding, which exists only here and repeats the self-loop."""
    edge: NDArray[np.int64]
    """int64 [states, width]: the edge's number in the graph; -1 for the self-loop and padding."""

    def __len__(self) -> int:
        return len(self.relation)

    @property
    def width(self) -> int:
        return int(self.relation.shape[1])


@dataclass(frozen=True, eq=False)
class Adaptive:
    """Sampling by time score w·h(t_q - t), the paper's: the n edges whose time difference ranks best."""

    rank: NDArray[np.int32]
    """int32 [2 max_delta + 1]: ``rank[Δt + max_delta]`` is the rank of Δt among all time differences; 0 is the best."""

    @classmethod
    def by_score(cls, scores: NDArray[np.floating]) -> Adaptive:
        """Ranks Δt = -max_delta..max_delta by score; ties are broken by smaller |Δt|, then by the past."""
        max_delta = len(scores) // 2
        if len(scores) != 2 * max_delta + 1:
            raise ValueError("a table of time scores has an odd length, for Δt from -max_delta to max_delta")
        difference = np.arange(-max_delta, max_delta + 1)
        order = np.lexsort((-difference, np.abs(difference), -np.asarray(scores, dtype=np.float64)))
        rank = np.empty(len(scores), dtype=np.int32)
        rank[order] = np.arange(len(scores), dtype=np.int32)
        return cls(rank)

    @property
    def max_delta(self) -> int:
        """The largest time difference the table knows."""
        return len(self.rank) // 2


@dataclass(frozen=True)
class Nearest:
    """Sampling by nearness in time to the current node (ablation A2)."""


@dataclass(frozen=True)
class Random:
    """Sampling at random (ablation A1); the same seed gives a state the same actions, whatever batch it is in."""

    seed: int


Sampling = Adaptive | Nearest | Random

_NO_RANK = np.zeros(1, dtype=np.int32)


def action_space(
    graph: TemporalGraph,
    entity: ArrayLike,
    current_time: ArrayLike,
    query_time: ArrayLike,
    sampling: Sampling,
    size: int = 50,
) -> ActionSpace:
    """The action space of every state (entity, current time) of queries at ``query_time``: at most ``size`` edges each.

    The result is as wide as its largest row needs, so that a batch of nodes with few edges costs little.
    """
    if size < 1:
        raise ValueError("an action space has room for at least one edge")
    check_range("entity", np.asarray(entity), graph.entities)
    entity, current_time, query_time = (
        np.ascontiguousarray(column, dtype=np.int32) for column in (entity, current_time, query_time)
    )
    if not entity.shape == current_time.shape == query_time.shape == (len(entity),):
        raise ValueError("a state is an entity, a current time and a query time: three columns of one length")
    degree = np.minimum(graph.degree(entity), size)
    shape = (len(entity), int(degree.max(initial=0)) + 1)
    relation = np.full(shape, graph.relations.self_loop, dtype=np.int32)
    target = np.repeat(entity[:, None], shape[1], axis=1)
    time = np.repeat(current_time[:, None], shape[1], axis=1)
    edge = np.full(shape, -1, dtype=np.int64)

    rank, max_delta, seed = _NO_RANK, 0, 0
    if isinstance(sampling, Adaptive):
        mode, rank, max_delta = kernels.ADAPTIVE, sampling.rank, sampling.max_delta
        _check_time_differences(graph, query_time, max_delta)
    elif isinstance(sampling, Nearest):
        mode = kernels.NEAREST
    else:
        mode, seed = kernels.RANDOM, sampling.seed
    kernels.select_actions(
        mode,
        size,
        entity,
        current_time,
        query_time,
        rank,
        max_delta,
        seed,
        *(graph.base.offsets, graph.base.relation, graph.base.target, graph.base.time),
        *(graph.overlay.offsets, graph.overlay.relation, graph.overlay.target, graph.overlay.time),
        *(relation, target, time, edge),
    )
    mask = np.arange(shape[1]) <= degree[:, None]
    return ActionSpace(relation, target, time, mask, edge)


def _check_time_differences(graph: TemporalGraph, query_time: Ids, max_delta: int) -> None:
    """The compiled loop does not check bounds: a time difference beyond the table must be noticed here."""
    if not len(query_time) or not graph.edges:
        return
    first, last = graph.time_range
    furthest = max(int(query_time.max()) - first, last - int(query_time.min()))
    if furthest > max_delta:
        raise ValueError(
            f"a time difference of {furthest} ticks is beyond the table of time scores, which ends at {max_delta}"
        )
