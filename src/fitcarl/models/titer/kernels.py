"""Compiled loops of TITer: gated scores of the actions of every state, and their gradients.

No array of size states × actions × d is stored. Tuples are unpacked before the loops, which check no bounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function
from fitcarl.core.sorting import sort_range

Floats = NDArray[np.floating[Any]]

_SUMS = {"reassoc", "contract", "arcp", "nsz"}  # sums in any order; infinite gates keep their meaning


class GatedActions(NamedTuple):
    """Rows of the tables that each action of each state is made of, [states, actions] each."""

    relation: NDArray[np.int32]
    entity: NDArray[np.int32]
    lag: NDArray[np.int32]
    mask: NDArray[np.bool_]
    """False on padding and on actions that are not allowed; they score 0."""


class GatedTables(NamedTuple):
    """The tables, or their gradients; a gate table holds the dot products of the rows with the weights of the gate."""

    relation: Floats
    """[relations, d_r]."""
    entity: Floats
    """[entities, d_e]."""
    lag: Floats
    """[lags, d_t]."""
    relation_gate: Floats
    """[relations]."""
    entity_gate: Floats
    """[entities]."""
    lag_gate: Floats
    """[lags]."""


class GatedParts(NamedTuple):
    """What the gradient needs of the forward pass, [states, actions] each."""

    by_relation: Floats
    """r · o_r."""
    by_entity: Floats
    """x_e(lag) · o_e."""
    gate: Floats
    """g in (0, 1)."""


@array_function(fastmath=_SUMS)
def gated_scores(
    low: int,
    high: int,
    vectors: Floats,
    state_gate: Floats,
    tables: GatedTables,
    actions: GatedActions,
    parts: GatedParts,
    out: Floats,
) -> None:
    """``out[w, a] = (1 - g) r · o_r + g x_e(lag) · o_e`` for states ``low:high``, with vectors o_r ‖ o_e."""
    relation_rows, entity_rows, lag_rows, relation_gate, entity_gate, lag_gate = tables
    relation, entity, lag, mask = actions
    by_relation, by_entity, gate = parts
    d_r, d_e, d_t = relation_rows.shape[1], entity_rows.shape[1], lag_rows.shape[1]
    one = vectors.dtype.type(1)
    for w in range(low, high):
        o_r, o_e, o_t = vectors[w, :d_r], vectors[w, d_r : d_r + d_e], vectors[w, d_r + d_e :]
        for a in range(relation.shape[1]):
            if not mask[w, a]:
                continue
            r, e, t = relation[w, a], entity[w, a], lag[w, a]
            x_r, x_e, x_t = relation_rows[r], entity_rows[e], lag_rows[t]
            first = second = vectors.dtype.type(0)
            for k in range(d_r):
                first += o_r[k] * x_r[k]
            for k in range(d_e):
                second += o_e[k] * x_e[k]
            for k in range(d_t):
                second += o_t[k] * x_t[k]
            g = one / (one + np.exp(-(relation_gate[r] + entity_gate[e] + lag_gate[t] + state_gate[w])))
            by_relation[w, a], by_entity[w, a], gate[w, a] = first, second, g
            out[w, a] = (one - g) * first + g * second


@array_function(fastmath=_SUMS)
def gated_scores_backward(
    low: int,
    high: int,
    gradient: Floats,
    vectors: Floats,
    tables: GatedTables,
    actions: GatedActions,
    parts: GatedParts,
    d_vectors: Floats,
    d_state_gate: Floats,
    d_tables: GatedTables,
) -> None:
    """Adds the gradients of ``gated_scores`` to ``d_vectors``, ``d_state_gate`` and ``d_tables``."""
    relation_rows, entity_rows, lag_rows, _, _, _ = tables
    d_relation, d_entity, d_lag, d_relation_gate, d_entity_gate, d_lag_gate = d_tables
    relation, entity, lag, mask = actions
    by_relation, by_entity, gate = parts
    d_r, d_e, d_t = relation_rows.shape[1], entity_rows.shape[1], lag_rows.shape[1]
    one = vectors.dtype.type(1)
    for w in range(low, high):
        o_r, o_e, o_t = vectors[w, :d_r], vectors[w, d_r : d_r + d_e], vectors[w, d_r + d_e :]
        z_r, z_e, z_t = d_vectors[w, :d_r], d_vectors[w, d_r : d_r + d_e], d_vectors[w, d_r + d_e :]
        for a in range(relation.shape[1]):
            if not mask[w, a]:
                continue
            r, e, t, g = relation[w, a], entity[w, a], lag[w, a], gate[w, a]
            first, second = gradient[w, a] * (one - g), gradient[w, a] * g
            x_r, x_e, x_t = relation_rows[r], entity_rows[e], lag_rows[t]
            y_r, y_e, y_t = d_relation[r], d_entity[e], d_lag[t]
            for k in range(d_r):
                z_r[k] += first * x_r[k]
                y_r[k] += first * o_r[k]
            for k in range(d_e):
                z_e[k] += second * x_e[k]
                y_e[k] += second * o_e[k]
            for k in range(d_t):
                z_t[k] += second * x_t[k]
                y_t[k] += second * o_t[k]
            d_gate = first * g * (by_entity[w, a] - by_relation[w, a])
            d_relation_gate[r] += d_gate
            d_entity_gate[e] += d_gate
            d_lag_gate[t] += d_gate
            d_state_gate[w] += d_gate


@array_function()
def best_ends(
    score: NDArray[np.float64], entity: NDArray[np.int32], entities: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """The best score of every distinct entity in each row, ragged: counts, entities by ascending id, and scores.

    Args:
        score: float64 [queries, paths]; -inf where there is no path.
        entity: int32 [queries, paths], the ends of the paths.
        entities: The number of entities.
    """
    best = np.full(entities, -np.inf)
    count = np.zeros(len(score), dtype=np.int64)
    out_entity = np.empty(score.size, dtype=np.int32)
    out_score = np.empty(score.size)
    end = 0
    for q in range(len(score)):
        start = end
        for p in range(score.shape[1]):
            if score[q, p] == -np.inf:
                continue
            e = entity[q, p]
            if best[e] == -np.inf:
                out_entity[end] = e
                end += 1
            best[e] = max(best[e], score[q, p])
        sort_range(out_entity, start, end)
        for i in range(start, end):
            out_score[i] = best[out_entity[i]]
            best[out_entity[i]] = -np.inf
        count[q] = end - start
    return count, out_entity[:end].copy(), out_score[:end].copy()
