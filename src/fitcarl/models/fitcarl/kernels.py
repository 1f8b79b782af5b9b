"""Compiled loops of FITCARL: dot products of five vectors per state with the embeddings of its actions.

The five products are spelled out so that they share every load of an embedding; a loop over them is three times slower.

An action is embedded as h_r ‖ h_e ‖ h_Δt. The entity part is the pre-trained row of a seen entity, h_e' for the query
entity, or the embedding of another unseen entity. No array of size states × actions × d is stored, neither in the
forward nor in the backward pass. Tuples are unpacked before the loops: access inside them would cost a fifth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


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


@njit(cache=True, nogil=True, fastmath=True)
def dot_actions(
    low: int,
    high: int,
    vectors: Floats,
    tables: EmbeddingTables,
    unseen_row: NDArray[np.int32],
    index: ActionIndex,
    out: Floats,
) -> None:
    """``out[w, j, a] = vectors[w, j] · (h_r ‖ h_e ‖ h_Δt)`` for states ``low:high`` and their actions."""
    relation_rows, entity_rows, time_rows, query_rows, unseen_rows = tables
    query_entity, relation, entity, difference, action_count = index
    width = relation_rows.shape[1]
    x = np.empty(3 * width, dtype=vectors.dtype)
    for w in range(low, high):
        y0, y1, y2, y3, y4 = vectors[w, 0], vectors[w, 1], vectors[w, 2], vectors[w, 3], vectors[w, 4]
        for a in range(action_count[w]):
            node = entity[w, a]
            row = unseen_row[node]
            x[:width] = relation_rows[relation[w, a]]
            if row < 0:
                x[width : 2 * width] = entity_rows[node]
            elif node == query_entity[w]:
                x[width : 2 * width] = query_rows[w]
            else:
                x[width : 2 * width] = unseen_rows[row]
            x[2 * width :] = time_rows[difference[w, a]]
            s0 = s1 = s2 = s3 = s4 = x.dtype.type(0)
            for k in range(3 * width):
                s0 += y0[k] * x[k]
                s1 += y1[k] * x[k]
                s2 += y2[k] * x[k]
                s3 += y3[k] * x[k]
                s4 += y4[k] * x[k]
            out[w, 0, a], out[w, 1, a], out[w, 2, a], out[w, 3, a], out[w, 4, a] = s0, s1, s2, s3, s4


@njit(cache=True, nogil=True, fastmath=True)
def dot_actions_backward(
    low: int,
    high: int,
    gradient: Floats,
    vectors: Floats,
    tables: EmbeddingTables,
    unseen_row: NDArray[np.int32],
    index: ActionIndex,
    d_vectors: Floats,
    d_tables: EmbeddingTables,
    frozen_relations: int,
    train_entities: bool,
) -> None:
    """Adds the gradients of ``dot_actions`` to ``d_vectors`` and ``d_tables``.

    The first ``frozen_relations`` rows of relations get none; pre-trained entity rows only if ``train_entities``.
    """
    relation_rows, entity_rows, time_rows, query_rows, unseen_rows = tables
    d_relation, d_entity, d_time, d_query, d_unseen = d_tables
    query_entity, relation, entity, difference, action_count = index
    width = relation_rows.shape[1]
    x = np.empty(3 * width, dtype=vectors.dtype)
    d_x = np.empty(3 * width, dtype=vectors.dtype)
    for w in range(low, high):
        y0, y1, y2, y3, y4 = vectors[w, 0], vectors[w, 1], vectors[w, 2], vectors[w, 3], vectors[w, 4]
        z0, z1, z2, z3, z4 = d_vectors[w, 0], d_vectors[w, 1], d_vectors[w, 2], d_vectors[w, 3], d_vectors[w, 4]
        for a in range(action_count[w]):
            node = entity[w, a]
            row = unseen_row[node]
            x[:width] = relation_rows[relation[w, a]]
            if row < 0:
                x[width : 2 * width] = entity_rows[node]
            elif node == query_entity[w]:
                x[width : 2 * width] = query_rows[w]
            else:
                x[width : 2 * width] = unseen_rows[row]
            x[2 * width :] = time_rows[difference[w, a]]
            g0, g1, g2 = gradient[w, 0, a], gradient[w, 1, a], gradient[w, 2, a]
            g3, g4 = gradient[w, 3, a], gradient[w, 4, a]
            for k in range(3 * width):
                z0[k] += g0 * x[k]
                z1[k] += g1 * x[k]
                z2[k] += g2 * x[k]
                z3[k] += g3 * x[k]
                z4[k] += g4 * x[k]
            train_relation = relation[w, a] >= frozen_relations
            train_entity = row >= 0 or train_entities
            # Most actions lead along frozen relations to seen entities: then only the time part of d_x is needed.
            for k in range(0 if train_relation else width if train_entity else 2 * width, 3 * width):
                d_x[k] = g0 * y0[k] + g1 * y1[k] + g2 * y2[k] + g3 * y3[k] + g4 * y4[k]
            if train_relation:
                d_relation[relation[w, a] - frozen_relations] += d_x[:width]
            if row < 0:
                if train_entities:
                    d_entity[node] += d_x[width : 2 * width]
            elif node == query_entity[w]:
                d_query[w] += d_x[width : 2 * width]
            else:
                d_unseen[row] += d_x[width : 2 * width]
            d_time[difference[w, a]] += d_x[2 * width :]


@njit(cache=True, nogil=True)
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
