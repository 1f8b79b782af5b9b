"""Action spaces of a walk backwards in time: the latest edges of a node that are not later than the node."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.core.arrays import read_only_arrays
from fitcarl.core.compiled import array_function
from fitcarl.graph.actions import ActionSpace
from fitcarl.graph.kernels import ActionColumns, EdgeColumns, StateColumns, lower_bound
from fitcarl.graph.temporal import TemporalGraph, check_range


def backward_action_space(
    graph: TemporalGraph,
    entity: ArrayLike,
    current_time: ArrayLike,
    query_time: ArrayLike,
    size: int = 50,
    *,
    may_stay: bool = True,
    visible_before: ArrayLike | None = None,
) -> ActionSpace:
    """The ``size`` latest edges with time <= t, and the action to stay.

    While the current time is t_q, edges must be strictly earlier, so that no edge at t_q or later is ever offered.
    Edges are listed latest first; equal times are ordered by relation and target, whether they are in the overlay or
    not.

    Args:
        graph: The graph, overlay included.
        entity: [states], e of the current node.
        current_time: [states], t of the current node in ticks, at most t_q.
        query_time: [states], t_q in ticks.
        size: The maximum number of edges per state.
        may_stay: Whether a state with edges may also stay (column 0); a state without edges always stays.
        visible_before: [states], ticks; only edges strictly before it are actions. t_q by default.
    """
    check_range("entity", np.asarray(entity), graph.entities)
    before = query_time if visible_before is None else visible_before
    columns = [np.ascontiguousarray(column, dtype=np.int32) for column in (entity, current_time, query_time, before)]
    states = StateColumns(columns[0], columns[1], columns[2], columns[3], np.zeros(len(columns[0]), dtype=np.int64))
    states = read_only_arrays(states)
    if not states.entity.shape == states.current_time.shape == states.query_time.shape == (len(states.entity),):
        raise ValueError("entity, current_time and query_time must be three columns of one length")
    ends = _visible_ends(states, graph.base.columns, graph.overlay.columns)
    count = np.minimum(ends[:, 1] - ends[:, 0] + ends[:, 3] - ends[:, 2], size)
    shape = (len(count), int(count.max(initial=0)) + 1)
    relation = np.full(shape, graph.relations.self_loop, dtype=np.int32)
    target = np.repeat(states.entity[:, None], shape[1], axis=1)
    time = np.repeat(states.current_time[:, None], shape[1], axis=1)
    edge = np.full(shape, -1, dtype=np.int64)
    out = ActionColumns(relation, target, time, edge)
    _latest_edges(count, ends, graph.base.columns, graph.overlay.columns, out)
    mask = np.arange(shape[1]) <= count[:, None]
    if not may_stay:
        mask[:, 0] = count == 0
    return ActionSpace(relation, target, time, mask, edge)


@array_function()
def _visible_ends(states: StateColumns, base: EdgeColumns, overlay: EdgeColumns) -> NDArray[np.int64]:
    """int64 [states, 4]: first and end position of the edges that a state may use, in the base and in the overlay."""
    ends = np.empty((len(states.entity), 4), dtype=np.int64)
    for state in range(len(states.entity)):
        node = states.entity[state]
        # Edges must be earlier than the bound: up to the current time, but before the query time.
        bound = min(int(states.current_time[state]) + 1, int(states.query_time[state]))
        bound = min(bound, int(states.visible_before[state]))
        low, high = base.offsets[node], base.offsets[node + 1]
        ends[state, 0], ends[state, 1] = low, lower_bound(base.time, low, high, bound)
        low, high = overlay.offsets[node], overlay.offsets[node + 1]
        ends[state, 2], ends[state, 3] = low, lower_bound(overlay.time, low, high, bound)
    return ends


@array_function()
def _is_later(first: EdgeColumns, i: int, second: EdgeColumns, j: int) -> bool:
    """Whether edge i of the first comes after edge j of the second by (time, relation, target)."""
    if first.time[i] != second.time[j]:
        return bool(first.time[i] > second.time[j])
    if first.relation[i] != second.relation[j]:
        return bool(first.relation[i] > second.relation[j])
    return bool(first.target[i] > second.target[j])


@array_function()
def _latest_edges(
    count: NDArray[np.int64], ends: NDArray[np.int64], base: EdgeColumns, overlay: EdgeColumns, out: ActionColumns
) -> None:
    """Merges the last edges of base and overlay into columns 1 and up, latest first."""
    for state in range(len(count)):
        i, j = ends[state, 1] - 1, ends[state, 3] - 1
        for column in range(1, count[state] + 1):
            if j < ends[state, 2] or (i >= ends[state, 0] and _is_later(base, i, overlay, j)):
                out.relation[state, column] = base.relation[i]
                out.entity[state, column] = base.target[i]
                out.time[state, column] = base.time[i]
                out.edge[state, column] = i
                i -= 1
            else:
                out.relation[state, column] = overlay.relation[j]
                out.entity[state, column] = overlay.target[j]
                out.time[state, column] = overlay.time[j]
                out.edge[state, column] = len(base.time) + j
                j -= 1
