"""The compiled loops of the model room: dot products of a few vectors per walker with the rows of its actions.

An action is a relation row, a node's entity row and a row of the time table. An entity row is frozen unless the entity
is unseen in this task: then it is the query's own h_e', or the resting representation of another unseen entity. Nothing
of size walkers × actions × d is ever stored, in either direction.
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
    own_rows: Floats,
    resting_rows: Floats,
    slot: NDArray[np.int32],
    own: NDArray[np.int32],
    relation: NDArray[np.int32],
    entity: NDArray[np.int32],
    difference: NDArray[np.int32],
    count: NDArray[np.int64],
    out: Floats,
) -> None:
    """``out[w, j, a] = vectors[w, j] · (h_r ‖ h_e ‖ h_Δt)`` for walkers ``low:high`` and their ``count`` actions."""
    width = relation_rows.shape[1]
    for w in range(low, high):
        for a in range(count[w]):
            r = relation_rows[relation[w, a]]
            node = entity[w, a]
            place = slot[node]
            if place < 0:
                e = entity_rows[node]
            elif node == own[w]:
                e = own_rows[w]
            else:
                e = resting_rows[place]
            t = time_rows[difference[w, a]]
            for j in range(vectors.shape[1]):
                y = vectors[w, j]
                total = r.dtype.type(0)
                for k in range(width):
                    total += y[k] * r[k] + y[width + k] * e[k] + y[2 * width + k] * t[k]
                out[w, j, a] = total


@njit(cache=True, nogil=True, fastmath=True)
def dot_actions_backward(
    low: int,
    high: int,
    gradient: Floats,
    vectors: Floats,
    relation_rows: Floats,
    entity_rows: Floats,
    time_rows: Floats,
    own_rows: Floats,
    resting_rows: Floats,
    slot: NDArray[np.int32],
    own: NDArray[np.int32],
    relation: NDArray[np.int32],
    entity: NDArray[np.int32],
    difference: NDArray[np.int32],
    count: NDArray[np.int64],
    d_vectors: Floats,
    d_relation: Floats,
    d_entity: Floats,
    d_time: Floats,
    d_own: Floats,
    d_resting: Floats,
    relations_from: int,
    entities_learn: bool,
) -> None:
    """Adds the gradients of ``dot_actions``; relation rows below ``relations_from`` are frozen and get none."""
    width = relation_rows.shape[1]
    for w in range(low, high):
        for a in range(count[w]):
            which = relation[w, a]
            r = relation_rows[which]
            node = entity[w, a]
            place = slot[node]
            learns = True
            if place < 0:
                e = entity_rows[node]
                d_e = d_entity[node if entities_learn else 0]
                learns = entities_learn
            elif node == own[w]:
                e = own_rows[w]
                d_e = d_own[w]
            else:
                e = resting_rows[place]
                d_e = d_resting[place]
            when = difference[w, a]
            t = time_rows[when]
            d_t = d_time[when]
            for j in range(vectors.shape[1]):
                g = gradient[w, j, a]
                y = vectors[w, j]
                d_y = d_vectors[w, j]
                for k in range(width):
                    d_y[k] += g * r[k]
                    d_y[width + k] += g * e[k]
                    d_y[2 * width + k] += g * t[k]
                    d_t[k] += g * y[2 * width + k]
                if learns:
                    for k in range(width):
                        d_e[k] += g * y[width + k]
                if which >= relations_from:
                    d_r = d_relation[which - relations_from]
                    for k in range(width):
                        d_r[k] += g * y[k]


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
