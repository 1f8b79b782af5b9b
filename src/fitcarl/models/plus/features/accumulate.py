"""Compiled loops that find candidates for a query and accumulate values for them, one loop per source of candidates.

A query is (e', r_q, ?, t_q) with its support facts. Each ``from_…`` loop adds to ``acc[entity, Accumulator]``, appends
entities that are new to ``listed``, and returns the number of entities listed so far.
"""

from __future__ import annotations

import math
from enum import IntEnum, auto

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fitcarl.graph.kernels import EdgeColumns, inverse_relation, lower_bound, patched_range, visible_edges
from fitcarl.models.plus.features.inputs import DECAY_SCALES, EncoderScores, KernelStatistics, QueryBatch
from fitcarl.models.plus.gaps import gap_bucket, ticks_within
from fitcarl.models.plus.kernels import Floats, Ints, rule_slot, visible_times


class Accumulator(IntEnum):
    """Values that are accumulated per entity while the candidates of a query are collected."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:  # noqa: ARG004
        return count

    # from_support: facts between e' and the candidate
    COOCCURRENCE = auto()
    PAIR_RATE = auto()
    SUPPORT_COUNT = auto()
    SAME_RELATION = auto()
    INVERSE_RELATION = auto()
    NEARNESS = auto()
    # from_neighbours: paths of two hops over a support fact
    RULE_NEAR = auto()
    RULE_SUM = auto()
    SECOND_HOP_NEAR = auto()
    RULE_MAX = auto()
    LINKED_FACTS = auto()
    EDGES = auto()
    SAME_RELATION_EDGES = auto()
    INVERSE_RELATION_EDGES = auto()
    NEAR_SUPPORT = auto()
    LAST_LINK = auto()
    """Bookkeeping for LINKED_FACTS: the last support fact that leads to the candidate."""
    # from_similar_entities
    SIMILAR_SAME_RELATION = auto()
    SIMILAR_ANY = auto()
    # from_relation: facts (·, r_q, candidate)
    OBJECT_COUNT = auto()
    OBJECT_SAME_TICK = auto()
    OBJECT_3 = auto()
    OBJECT_20 = auto()
    OBJECT_90 = auto()
    # from_same_day
    SAME_DAY = auto()


RULE_DECAY, _SECOND_HOP_DECAY, _SUPPORT_DECAY = 30.0, 3.0, 10.0
"""Time scales, in time units, of second hops around t_q (by rule, by relation) and around the support fact."""
SIMILAR_DECAY, SIMILAR_EDGE_DECAY = 60.0, 30.0
"""Time scales, in time units, of the shared fact of a similar entity and of its other facts around t_q."""
EDGES_PER_SIDE = 300
"""Edges before and after t_q that are read per support fact."""
SIMILAR, SIMILAR_EDGES, SIMILAR_SEARCH = 30, 40, 400
"""Similar entities per support fact, their edges before and after t_q, and edges searched for them per side."""
_OBJECT_TIMES_PER_SIDE = 200
_EVENTS_PER_SIDE = 4000
EVENT_WINDOW = 2.0
"""Time units before and after t_q in which events count as simultaneous, or one tick if that is longer."""
MIN_SIMILARITY = 0.1
"""Minimum similarity of a subject to the support for its event to be counted."""
_MIN_LOGPROB = -14.0
"""The log-probability of the encoder below which an entity is not added."""
_3, _20, _90 = (DECAY_SCALES.index(scale) for scale in (3.0, 20.0, 90.0))


@njit(cache=True, nogil=True)
def _add_candidate(entity: int, seen: NDArray[np.bool_], listed: Ints, count: int) -> int:
    """Lists an entity unless it is listed already; returns the number of entities listed."""
    if not seen[entity]:
        seen[entity] = True
        listed[count] = entity
        count += 1
    return count


@njit(cache=True, nogil=True)
def from_support(
    queries: QueryBatch,
    q: int,
    statistics: KernelStatistics,
    acc: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    count: int,
) -> int:
    """Entities of the support facts, with the rates at which such facts come with r_q for the same pair."""
    r, query_time = queries.relation[q], queries.time[q]
    inverse = inverse_relation(r, statistics.pair_rate.shape[0])
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        other, relation = queries.support_entity[k], queries.support_relation[k]
        gap = (query_time - queries.support_time[k]) * statistics.units_per_tick
        count = _add_candidate(other, seen, listed, count)
        acc[other, Accumulator.COOCCURRENCE] += math.exp(statistics.cooccurrence_rate[gap_bucket(gap), relation, r])
        pair_rate = math.exp(statistics.pair_rate[relation, r])
        acc[other, Accumulator.PAIR_RATE] = max(acc[other, Accumulator.PAIR_RATE], pair_rate)
        acc[other, Accumulator.SUPPORT_COUNT] += 1
        if relation == r:
            acc[other, Accumulator.SAME_RELATION] = 1
        if relation == inverse:
            acc[other, Accumulator.INVERSE_RELATION] = 1
        acc[other, Accumulator.NEARNESS] = max(acc[other, Accumulator.NEARNESS], 1 / (1 + abs(gap)))
    return count


@njit(cache=True, nogil=True)
def from_neighbours(
    queries: QueryBatch,
    q: int,
    k: int,
    graph: EdgeColumns,
    statistics: KernelStatistics,
    acc: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    count: int,
) -> int:
    """Neighbours of the entity of support fact k near t_q, weighted by the rates of the two-hop rules.

    Called for one support fact after the other, so that LINKED_FACTS counts a fact once for both graphs.
    """
    e, r, query_time = queries.entity[q], queries.relation[q], queries.time[q]
    relations = statistics.pair_rate.shape[0]
    inverse = inverse_relation(r, relations)
    fact_number = k - queries.offsets[q] + 1
    middle, relation = queries.support_entity[k], queries.support_relation[k]
    low, high = visible_edges(graph, q, middle, queries.visible_before[q])
    near_query = lower_bound(graph.time, low, high, query_time)
    for a in range(max(low, near_query - EDGES_PER_SIDE), min(high, near_query + EDGES_PER_SIDE)):
        x = graph.target[a]
        if x in (e, middle):
            continue
        count = _add_candidate(x, seen, listed, count)
        gap = abs(graph.time[a] - query_time) * statistics.units_per_tick
        slot = rule_slot(relation, graph.relation[a], r, relations, len(statistics.rule_rate))
        rate = math.exp(statistics.rule_rate[slot])
        decay = math.exp(-gap / RULE_DECAY)
        acc[x, Accumulator.RULE_NEAR] += rate * decay
        acc[x, Accumulator.RULE_SUM] += rate
        acc[x, Accumulator.SECOND_HOP_NEAR] += math.exp(
            statistics.second_hop_rate[graph.relation[a], r] - gap / _SECOND_HOP_DECAY
        )
        acc[x, Accumulator.RULE_MAX] = max(acc[x, Accumulator.RULE_MAX], rate)
        if acc[x, Accumulator.LAST_LINK] != fact_number:
            acc[x, Accumulator.LAST_LINK] = fact_number
            acc[x, Accumulator.LINKED_FACTS] += 1
        acc[x, Accumulator.EDGES] += 1
        if graph.relation[a] == r:
            acc[x, Accumulator.SAME_RELATION_EDGES] += decay
        if graph.relation[a] == inverse:
            acc[x, Accumulator.INVERSE_RELATION_EDGES] += decay
        support_gap = abs(graph.time[a] - queries.support_time[k]) * statistics.units_per_tick
        acc[x, Accumulator.NEAR_SUPPORT] += math.exp(-support_gap / _SUPPORT_DECAY)
    return count


@njit(cache=True, nogil=True)
def from_similar_entities(
    queries: QueryBatch,
    q: int,
    graph: EdgeColumns,
    statistics: KernelStatistics,
    acc: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    count: int,
) -> int:
    """Neighbours, around t_q, of entities that share a (relation, object) with e' at about the same time."""
    e, r, query_time = queries.entity[q], queries.relation[q], queries.time[q]
    relations = statistics.pair_rate.shape[0]
    units = statistics.units_per_tick
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        shared, support_time = queries.support_entity[k], queries.support_time[k]
        shared_relation = inverse_relation(queries.support_relation[k], relations)
        low, high = visible_edges(graph, q, shared, queries.visible_before[q])
        near_support = lower_bound(graph.time, low, high, support_time)
        found = 0
        for offset in range(2 * SIMILAR_SEARCH):
            a = near_support + offset // 2 if offset % 2 == 0 else near_support - 1 - offset // 2
            if a < low or a >= high or graph.relation[a] != shared_relation or graph.target[a] == e:
                continue
            found += 1
            similar = graph.target[a]
            begin, end = visible_edges(graph, q, similar, queries.visible_before[q])
            weight = math.exp(-abs(graph.time[a] - support_time) * units / SIMILAR_DECAY) / math.log(2.0 + end - begin)
            near_query = lower_bound(graph.time, begin, end, query_time)
            for b in range(max(begin, near_query - SIMILAR_EDGES), min(end, near_query + SIMILAR_EDGES)):
                x = graph.target[b]
                if x == e:
                    continue
                decay = weight * math.exp(-abs(graph.time[b] - query_time) * units / SIMILAR_EDGE_DECAY)
                if graph.relation[b] == r:
                    count = _add_candidate(x, seen, listed, count)
                    acc[x, Accumulator.SIMILAR_SAME_RELATION] += decay
                if seen[x]:
                    acc[x, Accumulator.SIMILAR_ANY] += decay
            if found >= SIMILAR:
                break
    return count


@njit(cache=True, nogil=True)
def from_relation(
    queries: QueryBatch,
    q: int,
    statistics: KernelStatistics,
    acc: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    count: int,
) -> int:
    """Objects of r_q, with the number of their facts in total and near t_q."""
    e, r, query_time = queries.entity[q], queries.relation[q], queries.time[q]
    entities = len(seen)
    for position in range(statistics.relation_offsets[r], statistics.relation_offsets[r + 1]):
        x = statistics.object_keys[position] - r * entities
        low, high = visible_times(statistics, q, position, queries.visible_before[q])
        if x == e or low == high:
            continue
        count = _add_candidate(x, seen, listed, count)
        acc[x, Accumulator.OBJECT_COUNT] = high - low
        near_query = lower_bound(statistics.object_times, low, high, query_time)
        for a in range(max(low, near_query - _OBJECT_TIMES_PER_SIDE), min(high, near_query + _OBJECT_TIMES_PER_SIDE)):
            gap = min(abs(statistics.object_times[a] - query_time), len(statistics.decay) - 1)
            if gap == 0:
                acc[x, Accumulator.OBJECT_SAME_TICK] += 1
            acc[x, Accumulator.OBJECT_3] += statistics.decay[gap, _3]
            acc[x, Accumulator.OBJECT_20] += statistics.decay[gap, _20]
            acc[x, Accumulator.OBJECT_90] += statistics.decay[gap, _90]
    return count


@njit(cache=True, nogil=True)
def from_same_day(
    queries: QueryBatch,
    q: int,
    statistics: KernelStatistics,
    direction: Floats,
    acc: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    count: int,
) -> int:
    """Objects of events around t_q whose subject is similar to the support (``direction``: its mean embedding)."""
    e, query_time = queries.entity[q], queries.time[q]
    reach = ticks_within(EVENT_WINDOW, statistics.units_per_tick)
    times = statistics.event_time
    first, last = patched_range(statistics.event_patches, q, 0, 1, 0, len(times))
    middle = lower_bound(times, first, last, query_time)
    low = max(lower_bound(times, first, last, query_time - reach), middle - _EVENTS_PER_SIDE)
    end = min(query_time + reach + 1, queries.visible_before[q])
    high = min(lower_bound(times, first, last, end), middle + _EVENTS_PER_SIDE)
    for a in range(low, high):
        y, x = statistics.event_source[a], statistics.event_target[a]
        if e in (x, y):
            continue
        similarity = 0.0
        for z in range(len(direction)):
            similarity += statistics.embedding[y, z] * direction[z]
        if similarity > MIN_SIMILARITY:
            count = _add_candidate(x, seen, listed, count)
            acc[x, Accumulator.SAME_DAY] += similarity * similarity
    return count


@njit(cache=True, nogil=True)
def from_encoder(encoder: EncoderScores, q: int, e: int, seen: NDArray[np.bool_], listed: Ints, count: int) -> int:
    """The most probable entities of the encoder; their scores are looked up later, not accumulated."""
    for position in range(encoder.top.shape[1]):
        x = encoder.top[q, position]
        if x != e and encoder.with_events[q, x] > _MIN_LOGPROB:
            count = _add_candidate(x, seen, listed, count)
    return count
