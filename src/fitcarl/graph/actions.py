"""Action spaces: the candidate actions of a state, sampled as in the paper or as in one of its ablations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.core.arrays import read_only_arrays
from fitcarl.data.quadruples import Ids
from fitcarl.graph import kernels
from fitcarl.graph.temporal import TemporalGraph, check_range


@dataclass(frozen=True, eq=False)
class ActionSpace:
    """Candidate actions (r, e, t) of a batch of states: column 0 is the self-loop, then edges follow, best first."""

    relation: Ids
    """int32 [states, width]."""
    entity: Ids
    """int32 [states, width]."""
    time: Ids
    """int32 [states, width], ticks."""
    mask: NDArray[np.bool_]
    """bool [states, width]: false on padding, which repeats the self-loop."""
    edge: NDArray[np.int64]
    """int64 [states, width]: position of the edge, overlay after base; -1 for the self-loop and padding."""

    def __len__(self) -> int:
        return len(self.relation)

    @property
    def width(self) -> int:
        return int(self.relation.shape[1])


@dataclass(frozen=True, eq=False)
class Adaptive:
    """Time-adaptive sampling, as in the paper: the n edges with the highest time score w_Δtᵀ h_{t_q - t}."""

    rank: NDArray[np.int32]
    """int32 [2 max_delta + 1]: ``rank[Δt + max_delta]`` is the rank of Δt among all time differences; 0 is the best."""

    @classmethod
    def by_score(cls, scores: NDArray[np.floating]) -> Adaptive:
        """Ranks Δt = -max_delta..max_delta by score; ties are broken by smaller |Δt|, then by the past."""
        max_delta = len(scores) // 2
        if len(scores) != 2 * max_delta + 1:
            raise ValueError("a table of time scores must have odd length: Δt from -max_delta to max_delta")
        difference = np.arange(-max_delta, max_delta + 1)
        order = np.lexsort((-difference, np.abs(difference), -np.asarray(scores, dtype=np.float64)))
        rank = np.empty(len(scores), dtype=np.int32)
        rank[order] = np.arange(len(scores), dtype=np.int32)
        return cls(rank)

    @property
    def max_delta(self) -> int:
        """The largest |Δt| in the table."""
        return len(self.rank) // 2


@dataclass(frozen=True)
class Nearest:
    """The n edges nearest in time to the current node (ablation A2)."""


@dataclass(frozen=True)
class Random:
    """n random edges (ablation A1); a seed gives a state the same actions in every batch."""

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
    visible_before: ArrayLike | None = None,
    query: NDArray[np.int64] | None = None,
) -> ActionSpace:
    """The action spaces of a batch of states.

    The result is only as wide as its largest row needs.

    Args:
        graph: The graph, overlay included.
        entity: [states], e of the current node.
        current_time: [states], t of the current node in ticks.
        query_time: [states], t_q in ticks.
        sampling: Which edges are kept.
        size: n, the maximum number of edges per state; the self-loop comes on top.
        visible_before: [states], ticks; only edges strictly before it are actions. All edges by default.
        query: int64 [states], the query of each state, if facts are left out for single queries.

    Raises:
        ValueError: If columns differ in length, an entity does not exist, or a time difference exceeds the table of
            ``Adaptive`` sampling.
    """
    if size < 1:
        raise ValueError("an action space must have room for at least one edge")
    check_range("entity", np.asarray(entity), graph.entities)
    entity, current_time, query_time = (
        np.ascontiguousarray(column, dtype=np.int32) for column in (entity, current_time, query_time)
    )
    if not entity.shape == current_time.shape == query_time.shape == (len(entity),):
        raise ValueError("entity, current_time and query_time must be three columns of one length")
    owner = np.zeros(len(entity), dtype=np.int64) if query is None else query
    if visible_before is None:
        before = np.full(len(entity), np.iinfo(np.int32).max, dtype=np.int32)
    else:
        before = np.ascontiguousarray(visible_before, dtype=np.int32)
    states = read_only_arrays(kernels.StateColumns(entity, current_time, query_time, before, owner))
    parts = (graph.base.columns, graph.overlay.columns)
    arguments = states.query, states.entity, states.visible_before
    base, overlay = (kernels.count_visible(part, *arguments) for part in parts)
    degree = base + overlay
    degree = np.minimum(degree, size)
    shape = (len(entity), int(degree.max(initial=0)) + 1)
    relation = np.full(shape, graph.relations.self_loop, dtype=np.int32)
    target = np.repeat(entity[:, None], shape[1], axis=1)
    time = np.repeat(current_time[:, None], shape[1], axis=1)
    edge = np.full(shape, -1, dtype=np.int64)

    if isinstance(sampling, Adaptive):
        _check_time_differences(graph, query_time, sampling.max_delta)
    kernels.select_actions(
        size,
        states,
        read_only_arrays(_sampling_rule(sampling)),
        graph.base.columns,
        graph.overlay.columns,
        kernels.ActionColumns(relation, target, time, edge),
    )
    mask = np.arange(shape[1]) <= degree[:, None]
    return ActionSpace(relation, target, time, mask, edge)


def _sampling_rule(sampling: Sampling) -> kernels.SamplingRule:
    if isinstance(sampling, Adaptive):
        return kernels.SamplingRule(kernels.ADAPTIVE, sampling.rank, sampling.max_delta, 0)
    if isinstance(sampling, Nearest):
        return kernels.SamplingRule(kernels.NEAREST, _NO_RANK, 0, 0)
    return kernels.SamplingRule(kernels.RANDOM, _NO_RANK, 0, sampling.seed)


def _check_time_differences(graph: TemporalGraph, query_time: Ids, max_delta: int) -> None:
    """Raises a ValueError if the table does not cover all time differences: the compiled loop checks no bounds."""
    if not len(query_time) or not graph.edges:
        return
    first, last = graph.time_range
    largest = max(int(query_time.max()) - first, last - int(query_time.min()))
    if largest > max_delta:
        raise ValueError(f"time difference {largest} is beyond the table of time scores, which ends at {max_delta}")
