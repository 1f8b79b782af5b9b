"""Log-probabilities of the encoder for the candidates of a query.

With few entities the encoder scores all of them, and values are looked up. With many it scores a pool (see
``encoder/pool.py``), and the values of a candidate are computed from its row and from its own events around t_q.
"""

from __future__ import annotations

import math

from fitcarl.core.compiled import loop
from fitcarl.graph.kernels import EdgeColumns, inverse_relation, lower_bound, visible_edges
from fitcarl.models.plus.features.accumulate import NOT_LISTED, Workspace
from fitcarl.models.plus.features.inputs import (
    MAX_LOG_WEIGHT,
    NO_FACTS_SCORE,
    UNKNOWN_BIAS,
    EncoderScores,
    PooledEncoder,
    QueryBatch,
)
from fitcarl.models.plus.kernels import Floats

SUPPORT_ONLY, WITH_EVENTS = 0, 1
"""Columns of the values."""


@loop(inner=True, fastmath={"reassoc", "contract"})
def _support_score(encoder: PooledEncoder, q: int, x: int) -> float:
    """The score of an entity from the support facts; the mean score if it was not in training."""
    if encoder.bias[x] <= UNKNOWN_BIAS:
        return encoder.mean[q]
    total = encoder.bias[x]
    for z in range(encoder.answer.shape[1]):
        total += encoder.answer[q, z] * encoder.rows[x, z]
    return total


@loop(inner=True, fastmath={"reassoc", "contract"})
def _event_mass(encoder: PooledEncoder, queries: QueryBatch, q: int, graph: EdgeColumns, first: int, end: int) -> float:
    """The total weight of the events around t_q with an entity as object: its edges, seen from the other side."""
    mass, relations = 0.0, encoder.relation_affinity.shape[0]
    buckets = len(encoder.time_decay)
    low = lower_bound(graph.time, first, end, queries.time[q] - encoder.reach)
    for a in range(low, end):
        if graph.time[a] > queries.time[q] + encoder.reach:
            break
        y = graph.target[a]
        if y == queries.entity[q]:
            continue
        gap = math.floor((graph.time[a] - queries.time[q]) * encoder.buckets_per_tick + buckets / 2)
        weight = encoder.time_decay[gap]
        weight += encoder.relation_affinity[queries.relation[q], inverse_relation(graph.relation[a], relations)]
        for z in range(encoder.key.shape[1]):
            weight += encoder.key[q, z] * encoder.key_embedding[y, z]
        mass += math.exp(min(weight, MAX_LOG_WEIGHT))
    return mass


@loop(inner=True)
def _pooled_values(
    encoder: PooledEncoder, queries: QueryBatch, q: int, graph: EdgeColumns, found: Workspace, out: Floats
) -> None:
    """Values of all candidates; the normalisation with events is over the pool and the candidates."""
    extra = 0.0
    for slot in range(found.used[0]):
        x = found.entity[slot]
        out[slot, SUPPORT_ONLY] = out[slot, WITH_EVENTS] = NO_FACTS_SCORE
        if found.state[slot] == NOT_LISTED:
            continue
        first, end = visible_edges(graph, q, x, queries.visible_before[q])
        if first < end:
            mass = _event_mass(encoder, queries, q, graph, first, end)
            out[slot, SUPPORT_ONLY] = _support_score(encoder, q, x) - encoder.log_z[q]
            out[slot, WITH_EVENTS] = out[slot, SUPPORT_ONLY] + math.log1p(mass)
            extra += mass * math.exp(out[slot, SUPPORT_ONLY])
    for slot in range(found.used[0]):
        out[slot, WITH_EVENTS] -= math.log1p(extra)


@loop(inner=True)
def encoder_values(
    encoder: EncoderScores, queries: QueryBatch, q: int, graph: EdgeColumns, found: Workspace, out: Floats
) -> None:
    """Fills ``out`` [slots, 2] for the candidates of a query; NaN without an encoder."""
    if encoder.pooled.answer.shape[0] > 0:
        _pooled_values(encoder.pooled, queries, q, graph, found, out)
        return
    for slot in range(found.used[0]):
        x = found.entity[slot]
        known = encoder.with_events.shape[1] > 0
        out[slot, SUPPORT_ONLY] = encoder.support_only[q, x] if known else math.nan
        out[slot, WITH_EVENTS] = encoder.with_events[q, x] if known else math.nan
