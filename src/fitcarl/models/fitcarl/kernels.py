"""Compiled loops of FITCARL: dot products of five vectors per state with the embeddings of its actions.

The five products are spelled out so that they share every load of an embedding; a loop over them is three times slower.

An action is embedded as h_r ‖ h_e ‖ h_Δt. The entity part is the pre-trained row of a seen entity, h_e' for the query
entity, or the embedding of another unseen entity. No array of size states × actions × d is stored, neither in the
forward nor in the backward pass. Tuples are unpacked before the loops: access inside them would cost a fifth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function

Floats = NDArray[np.floating[Any]]
_BLOCK = 4  # actions whose gradients are added together; spelled out below


class ActionIndex(NamedTuple):
    """Which embeddings each action of each state consists of."""

    query_entity: NDArray[np.int32]
    """int32 [states], e' of the state's query."""
    relation: NDArray[np.int32]
    """int32 [states, actions], r_a."""
    entity: NDArray[np.int32]
    """int32 [states, actions], e_a."""
    difference: NDArray[np.int32]
    """int32 [states, actions], t_q - t_a + max_delta: rows of the time table."""
    action_count: NDArray[np.int64]
    """int64 [states], the number of actions of each state; columns behind them are padding and score 0."""


class EmbeddingTables(NamedTuple):
    """The tables that actions are embedded with, and the gradients of these tables."""

    relation: Floats
    """[2R + 2, d]; as a gradient [2R + 2 - frozen, d]."""
    entity: Floats
    """[entities, d]; as a gradient [1, d] if entities are frozen."""
    time: Floats
    """[2 max_delta + 1, d]."""
    query_entity: Floats
    """[states, d], h_e' of the state's query."""
    unseen: Floats
    """[unseen, d], embeddings of the unseen entities of the task."""


@array_function(fastmath=True)
def dot_actions(
    low: int,
    high: int,
    history: Floats,
    query: Floats,
    tables: EmbeddingTables,
    unseen_row: NDArray[np.int32],
    index: ActionIndex,
    out: Floats,
) -> None:
    """``out[w, j, a] = v_j · (h_r ‖ h_e ‖ h_Δt)`` for states ``low:high`` and their actions.

    v₀ and v₁ are ``history[w]``, v₂ to v₄ are ``query[w]``.
    """
    relation_rows, entity_rows, time_rows, query_rows, unseen_rows = tables
    query_entity, relation, entity, difference, action_count = index
    width = relation_rows.shape[1]
    length = _padded(3 * width)
    x = np.zeros(length, dtype=history.dtype)
    y = np.zeros((5, length), dtype=history.dtype)
    y0, y1, y2, y3, y4 = y[0], y[1], y[2], y[3], y[4]
    for w in range(low, high):
        y[:2, : 3 * width] = history[w]
        y[2:, : 3 * width] = query[w]
        for a in range(action_count[w]):
            node = entity[w, a]
            row = unseen_row[node]
            h_e = entity_rows[node] if row < 0 else query_rows[w] if node == query_entity[w] else unseen_rows[row]
            h_r, h_t = relation_rows[relation[w, a]], time_rows[difference[w, a]]
            for k in range(width):
                x[k] = h_r[k]
                x[width + k] = h_e[k]
                x[2 * width + k] = h_t[k]
            s0 = s1 = s2 = s3 = s4 = x.dtype.type(0)
            for k in range(length):
                s0 += y0[k] * x[k]
                s1 += y1[k] * x[k]
                s2 += y2[k] * x[k]
                s3 += y3[k] * x[k]
                s4 += y4[k] * x[k]
            out[w, 0, a], out[w, 1, a], out[w, 2, a], out[w, 3, a], out[w, 4, a] = s0, s1, s2, s3, s4


@array_function(fastmath=True)
def dot_actions_backward(
    low: int,
    high: int,
    gradient: Floats,
    history: Floats,
    query: Floats,
    tables: EmbeddingTables,
    unseen_row: NDArray[np.int32],
    index: ActionIndex,
    d_history: Floats,
    d_query: Floats,
    d_tables: EmbeddingTables,
    frozen_relations: int,
    train_entities: bool,
) -> None:
    """Writes the gradients of ``dot_actions`` to ``d_history`` and ``d_query`` and adds them to ``d_tables``.

    The first ``frozen_relations`` rows of relations get none; pre-trained entity rows only if ``train_entities``. Four
    actions are added together.
    """
    relation_rows, entity_rows, time_rows, query_rows, unseen_rows = tables
    d_relation, d_entity, d_time, d_query_entity, d_unseen = d_tables
    query_entity, relation, entity, difference, action_count = index
    width = relation_rows.shape[1]
    length = _padded(3 * width)
    x = np.zeros((_BLOCK, length), dtype=history.dtype)
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    z = np.zeros((5, length), dtype=history.dtype)
    g = np.zeros((5, _BLOCK), dtype=history.dtype)
    for w in range(low, high):
        y0, y1, y2, y3, y4 = history[w, 0], history[w, 1], query[w, 0], query[w, 1], query[w, 2]
        z[:] = 0
        for first in range(0, action_count[w], _BLOCK):
            g[:] = 0
            for i in range(min(_BLOCK, action_count[w] - first)):
                a = first + i
                node = entity[w, a]
                row = unseen_row[node]
                h_e = entity_rows[node] if row < 0 else query_rows[w] if node == query_entity[w] else unseen_rows[row]
                h_r, h_t, x_i = relation_rows[relation[w, a]], time_rows[difference[w, a]], x[i]
                for k in range(width):
                    x_i[k] = h_r[k]
                    x_i[width + k] = h_e[k]
                    x_i[2 * width + k] = h_t[k]
                g0, g1, g2 = gradient[w, 0, a], gradient[w, 1, a], gradient[w, 2, a]
                g3, g4 = gradient[w, 3, a], gradient[w, 4, a]
                g[0, i], g[1, i], g[2, i], g[3, i], g[4, i] = g0, g1, g2, g3, g4
                # Most actions lead along frozen relations to seen entities: then only the time part is needed.
                d_row = d_time[difference[w, a]]
                for k in range(width):
                    p = 2 * width + k
                    d_row[k] += g0 * y0[p] + g1 * y1[p] + g2 * y2[p] + g3 * y3[p] + g4 * y4[p]
                if row >= 0 or train_entities:
                    d_row = (
                        d_entity[node] if row < 0 else d_query_entity[w] if node == query_entity[w] else d_unseen[row]
                    )
                    for k in range(width):
                        p = width + k
                        d_row[k] += g0 * y0[p] + g1 * y1[p] + g2 * y2[p] + g3 * y3[p] + g4 * y4[p]
                if relation[w, a] >= frozen_relations:
                    d_row = d_relation[relation[w, a] - frozen_relations]
                    for k in range(width):
                        d_row[k] += g0 * y0[k] + g1 * y1[k] + g2 * y2[k] + g3 * y3[k] + g4 * y4[k]
            for j in range(5):
                z_j = z[j]
                g0, g1, g2, g3 = g[j, 0], g[j, 1], g[j, 2], g[j, 3]
                for k in range(length):
                    z_j[k] += g0 * x0[k] + g1 * x1[k] + g2 * x2[k] + g3 * x3[k]
        d_history[w] = z[:2, : 3 * width]
        d_query[w] = z[2:, : 3 * width]


@array_function()
def _padded(length: int) -> int:
    """The length of local vectors: whole registers, so that no loop has a remainder."""
    return (length + 63) // 64 * 64


@array_function()
def sum_concepts(
    probability: NDArray[np.float64],
    offsets: NDArray[np.int64],
    concepts: NDArray[np.int32],
    relation: NDArray[np.int32],
    entity: NDArray[np.int32],
    out: Floats,
) -> None:
    """``out[w, a]`` is the sum of P(c | r_q) over the concepts c of the action's entity (the exponent of Eq. 10)."""
    for w in range(entity.shape[0]):
        row = probability[relation[w]]
        for a in range(entity.shape[1]):
            total = 0.0
            for i in range(offsets[entity[w, a]], offsets[entity[w, a] + 1]):
                total += row[concepts[i]]
            out[w, a] = total


@array_function()
def gather_rows(base: Floats, first: Floats, i: NDArray[np.int64], second: Floats, j: NDArray[np.int64]) -> None:
    """Adds ``first[i[w]] + second[j[w]]`` to row w of ``base``."""
    for w in range(base.shape[0]):
        row, one, other = base[w], first[i[w]], second[j[w]]
        for k in range(base.shape[1]):
            row[k] += one[k] + other[k]


@array_function()
def scatter_rows(gradient: Floats, first: Floats, i: NDArray[np.int64], second: Floats, j: NDArray[np.int64]) -> None:
    """Adds row w of ``gradient`` to ``first[i[w]]`` and to ``second[j[w]]``."""
    for w in range(gradient.shape[0]):
        row, one, other = gradient[w], first[i[w]], second[j[w]]
        for k in range(gradient.shape[1]):
            one[k] += row[k]
        for k in range(gradient.shape[1]):
            other[k] += row[k]
