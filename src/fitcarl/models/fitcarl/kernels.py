"""The compiled loops of the model room: dot products of five vectors per walker with the rows of its actions.

The five are spelled out because that lets them share every load of a row; a loop over them is three times slower.

An action is a relation row, a node's entity row and a row of the time table. An entity row is frozen unless the entity
is unseen in this task: then it is h_e' of the query entity, or the embedding of another unseen entity. Nothing
of size states × actions × d is ever stored, in either direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


@njit(cache=True, nogil=True, fastmath=True)
def dot_actions(
    low: int,
    high: int,
    vectors: Floats,
    relation_rows: Floats,
    entity_rows: Floats,
    time_rows: Floats,
    query_embedding: Floats,
    unseen_embeddings: Floats,
    unseen_row: NDArray[np.int32],
    query_entity: NDArray[np.int32],
    relation: NDArray[np.int32],
    entity: NDArray[np.int32],
    difference: NDArray[np.int32],
    count: NDArray[np.int64],
    out: Floats,
) -> None:
    """``out[w, j, a] = vectors[w, j] · (h_r ‖ h_e ‖ h_Δt)`` for state ``low:high`` and their ``count`` actions."""
    width = relation_rows.shape[1]
    x = np.empty(3 * width, dtype=vectors.dtype)
    for w in range(low, high):
        y0, y1, y2, y3, y4 = vectors[w, 0], vectors[w, 1], vectors[w, 2], vectors[w, 3], vectors[w, 4]
        for a in range(count[w]):
            node = entity[w, a]
            place = unseen_row[node]
            x[:width] = relation_rows[relation[w, a]]
            if place < 0:
                x[width : 2 * width] = entity_rows[node]
            elif node == query_entity[w]:
                x[width : 2 * width] = query_embedding[w]
            else:
                x[width : 2 * width] = unseen_embeddings[place]
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
    relation_rows: Floats,
    entity_rows: Floats,
    time_rows: Floats,
    query_embedding: Floats,
    unseen_embeddings: Floats,
    unseen_row: NDArray[np.int32],
    query_entity: NDArray[np.int32],
    relation: NDArray[np.int32],
    entity: NDArray[np.int32],
    difference: NDArray[np.int32],
    count: NDArray[np.int64],
    d_vectors: Floats,
    d_relation: Floats,
    d_entity: Floats,
    d_time: Floats,
    d_query: Floats,
    d_unseen: Floats,
    relations_from: int,
    entities_learn: bool,
) -> None:
    """Adds the gradients of ``dot_actions``; relation rows below ``relations_from`` are frozen and get none."""
    width = relation_rows.shape[1]
    x = np.empty(3 * width, dtype=vectors.dtype)
    d_x = np.empty(3 * width, dtype=vectors.dtype)
    for w in range(low, high):
        y0, y1, y2, y3, y4 = vectors[w, 0], vectors[w, 1], vectors[w, 2], vectors[w, 3], vectors[w, 4]
        z0, z1, z2, z3, z4 = d_vectors[w, 0], d_vectors[w, 1], d_vectors[w, 2], d_vectors[w, 3], d_vectors[w, 4]
        for a in range(count[w]):
            which, node, when = relation[w, a], entity[w, a], difference[w, a]
            place = unseen_row[node]
            x[:width] = relation_rows[which]
            if place < 0:
                x[width : 2 * width] = entity_rows[node]
            elif node == query_entity[w]:
                x[width : 2 * width] = query_embedding[w]
            else:
                x[width : 2 * width] = unseen_embeddings[place]
            x[2 * width :] = time_rows[when]
            g0, g1, g2, g3, g4 = (
                gradient[w, 0, a],
                gradient[w, 1, a],
                gradient[w, 2, a],
                gradient[w, 3, a],
                gradient[w, 4, a],
            )
            for k in range(3 * width):
                z0[k] += g0 * x[k]
                z1[k] += g1 * x[k]
                z2[k] += g2 * x[k]
                z3[k] += g3 * x[k]
                z4[k] += g4 * x[k]
            learns_relation = which >= relations_from
            learns_entity = place >= 0 or entities_learn
            # Most actions lead along frozen relations to seen entities: then only the time part of d_x is needed.
            for k in range(0 if learns_relation else width if learns_entity else 2 * width, 3 * width):
                d_x[k] = g0 * y0[k] + g1 * y1[k] + g2 * y2[k] + g3 * y3[k] + g4 * y4[k]
            if learns_relation:
                d_relation[which - relations_from] += d_x[:width]
            if place < 0:
                if entities_learn:
                    d_entity[node] += d_x[width : 2 * width]
            elif node == query_entity[w]:
                d_query[w] += d_x[width : 2 * width]
            else:
                d_unseen[place] += d_x[width : 2 * width]
            d_time[when] += d_x[2 * width :]


@njit(cache=True, nogil=True)
def sum_concepts(
    probability: NDArray[np.float64],
    offsets: NDArray[np.int64],
    concepts: NDArray[np.int32],
    relation: NDArray[np.int32],
    entity: NDArray[np.int32],
    out: Floats,
) -> None:
    """``out[w, a]`` = the sum of P(c | r_q) over the concepts c of the action's entity (the exponent of Eq. 10)."""
    for w in range(entity.shape[0]):
        row = probability[relation[w]]
        for a in range(entity.shape[1]):
            total = 0.0
            for i in range(offsets[entity[w, a]], offsets[entity[w, a] + 1]):
                total += row[concepts[i]]
            out[w, a] = total
