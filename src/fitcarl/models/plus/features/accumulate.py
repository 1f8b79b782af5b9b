"""Compiled loops that find candidates for a query and accumulate values for them, one loop per source of candidates.

A query is (e', r_q, ?, t_q) with its support facts. Each ``from_…`` loop lists entities in the ``Workspace`` and adds
to their values.
"""

from __future__ import annotations

import math
from enum import IntEnum, auto
from typing import NamedTuple

import numpy as np

from fitcarl.core.compiled import loop
from fitcarl.graph.kernels import EdgeColumns, inverse_relation, lower_bound, patched_range, visible_edges
from fitcarl.models.plus.event_index import FREQUENT_OBJECTS, MAX_OBJECTS
from fitcarl.models.plus.features.inputs import DECAY_SCALES, EncoderScores, KernelStatistics, QueryBatch
from fitcarl.models.plus.gaps import gap_bucket, ticks_within
from fitcarl.models.plus.kernels import Bytes, Floats, Ints, Longs, find_pair, rule_slot, visible_objects, visible_times


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
RELATION_EVENTS = 1500
"""Events of r_q before and after t_q whose objects are candidates, if it has more than ``MAX_OBJECTS`` objects."""
EVENTS_PER_SIDE = 4000
EVENT_WINDOW = 2.0
"""Time units before and after t_q in which events count as simultaneous, or one tick if that is longer."""
MIN_SIMILARITY = 0.1
"""Minimum similarity of a subject to the support for its event to be counted."""
_MIN_LOGPROB = -14.0
"""The log-probability of the encoder below which an entity is not added."""
_3, _20, _90 = (DECAY_SCALES.index(scale) for scale in (3.0, 20.0, 90.0))


NOT_LISTED, LISTED, LISTED_LATE = 0, 1, 2
"""States of an entity of a workspace: no candidate, a candidate, a candidate that was listed after similar entities."""


class Workspace(NamedTuple):
    """The entities found for one query; cleared before the next one."""

    slot: Ints
    """int32 [entities]: 1 + the slot of the entity; 0 if it has none."""
    entity: Ints
    """int32 [slots]."""
    state: Bytes
    """int8 [slots]: ``NOT_LISTED``, ``LISTED`` or ``LISTED_LATE``."""
    pair: Ints
    """int32 [slots]: 1 + the position of the pair of r_q and the entity, if it is known; 0 otherwise."""
    acc: Floats
    """float32 [slots, accumulators]."""
    used: Longs
    """int64 [1]: number of used slots."""


def new_workspace(entities: int, support_facts: int, from_encoder: int) -> Workspace:
    """An empty workspace, large enough for one query.

    Args:
        entities: Number of entities.
        support_facts: Maximum number of support facts of a query.
        from_encoder: Entities that the encoder lists.
    """
    per_fact = 1 + 4 * EDGES_PER_SIDE + 2 * SIMILAR * SIMILAR_EDGES
    others = max(MAX_OBJECTS, FREQUENT_OBJECTS + 2 * RELATION_EVENTS) + 2 * EVENTS_PER_SIDE + from_encoder
    slots = min(entities, support_facts * per_fact + others)
    return Workspace(
        slot=np.zeros(entities, dtype=np.int32),
        entity=np.zeros(slots, dtype=np.int32),
        state=np.zeros(slots, dtype=np.int8),
        pair=np.zeros(slots, dtype=np.int32),
        acc=np.zeros((slots, len(Accumulator)), dtype=np.float32),
        used=np.zeros(1, dtype=np.int64),
    )


@loop()
def slot_of(entity: int, found: Workspace) -> int:
    """The slot of an entity, which is new if it has none yet."""
    slot = found.slot[entity] - 1
    if slot < 0:
        slot = found.used[0]
        found.slot[entity] = slot + 1
        found.entity[slot] = entity
        found.used[0] += 1
    return slot


@loop()
def list_candidate(entity: int, found: Workspace, state: int = LISTED) -> int:
    """Lists an entity as a candidate unless it is one already; returns its slot."""
    slot = slot_of(entity, found)
    if found.state[slot] == NOT_LISTED:
        found.state[slot] = state
    return slot


@loop()
def clear(found: Workspace) -> None:
    """Removes all entities."""
    for slot in range(found.used[0]):
        found.slot[found.entity[slot]] = 0
        found.state[slot] = NOT_LISTED
        found.pair[slot] = 0
        for j in range(found.acc.shape[1]):
            found.acc[slot, j] = 0
    found.used[0] = 0


@loop()
def from_support(queries: QueryBatch, q: int, statistics: KernelStatistics, found: Workspace) -> None:
    """Entities of the support facts, with the rates at which such facts come with r_q for the same pair."""
    r, query_time, acc = queries.relation[q], queries.time[q], found.acc
    inverse = inverse_relation(r, statistics.pair_rate.shape[0])
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        relation = queries.support_relation[k]
        gap = (query_time - queries.support_time[k]) * statistics.units_per_tick
        other = list_candidate(queries.support_entity[k], found)
        acc[other, Accumulator.COOCCURRENCE] += math.exp(statistics.cooccurrence_rate[gap_bucket(gap), relation, r])
        pair_rate = math.exp(statistics.pair_rate[relation, r])
        acc[other, Accumulator.PAIR_RATE] = max(acc[other, Accumulator.PAIR_RATE], pair_rate)
        acc[other, Accumulator.SUPPORT_COUNT] += 1
        if relation == r:
            acc[other, Accumulator.SAME_RELATION] = 1
        if relation == inverse:
            acc[other, Accumulator.INVERSE_RELATION] = 1
        acc[other, Accumulator.NEARNESS] = max(acc[other, Accumulator.NEARNESS], 1 / (1 + abs(gap)))


@loop()
def from_neighbours(
    queries: QueryBatch, q: int, k: int, graph: EdgeColumns, statistics: KernelStatistics, found: Workspace
) -> None:
    """Neighbours of the entity of support fact k near t_q, weighted by the rates of the two-hop rules.

    Called for one support fact after the other, so that LINKED_FACTS counts a fact once for both graphs.
    """
    e, r, query_time, acc = queries.entity[q], queries.relation[q], queries.time[q], found.acc
    relations = statistics.pair_rate.shape[0]
    inverse = inverse_relation(r, relations)
    fact_number = k - queries.offsets[q] + 1
    middle, relation = queries.support_entity[k], queries.support_relation[k]
    low, high = visible_edges(graph, q, middle, queries.visible_before[q])
    near_query = lower_bound(graph.time, low, high, query_time)
    for a in range(max(low, near_query - EDGES_PER_SIDE), min(high, near_query + EDGES_PER_SIDE)):
        if graph.target[a] in (e, middle):
            continue
        x = list_candidate(graph.target[a], found)
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


@loop()
def from_similar_entities(
    queries: QueryBatch,
    q: int,
    graph: EdgeColumns,
    statistics: KernelStatistics,
    found: Workspace,
    all_objects_listed: bool,
) -> None:
    """Neighbours, around t_q, of entities that share a (relation, object) with e' at about the same time.

    SIMILAR_ANY is for candidates of earlier sources, all objects of r_q among them. If not all of those are listed, it
    is added up for every entity, and ``complete_large_relation`` removes what does not count.
    """
    e, r, query_time, acc = queries.entity[q], queries.relation[q], queries.time[q], found.acc
    relations = statistics.pair_rate.shape[0]
    units = statistics.units_per_tick
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        shared, support_time = queries.support_entity[k], queries.support_time[k]
        shared_relation = inverse_relation(queries.support_relation[k], relations)
        low, high = visible_edges(graph, q, shared, queries.visible_before[q])
        near_support = lower_bound(graph.time, low, high, support_time)
        number = 0
        for offset in range(2 * SIMILAR_SEARCH):
            a = near_support + offset // 2 if offset % 2 == 0 else near_support - 1 - offset // 2
            if a < low or a >= high or graph.relation[a] != shared_relation or graph.target[a] == e:
                continue
            number += 1
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
                    acc[list_candidate(x, found), Accumulator.SIMILAR_SAME_RELATION] += decay
                if found.slot[x] > 0 or not all_objects_listed:
                    acc[slot_of(x, found), Accumulator.SIMILAR_ANY] += decay
            if number >= SIMILAR:
                break


@loop()
def add_object_times(
    queries: QueryBatch, q: int, low: int, high: int, statistics: KernelStatistics, acc: Floats, slot: int
) -> None:
    """The number of facts (·, r_q, candidate) in total and near t_q, whose times are ``object_times[low:high]``."""
    query_time, times, decay = queries.time[q], statistics.object_times, statistics.decay
    acc[slot, Accumulator.OBJECT_COUNT] = high - low
    near_query = lower_bound(times, low, high, query_time)
    for a in range(max(low, near_query - _OBJECT_TIMES_PER_SIDE), min(high, near_query + _OBJECT_TIMES_PER_SIDE)):
        gap = min(abs(times[a] - query_time), len(decay) - 1)
        if gap == 0:
            acc[slot, Accumulator.OBJECT_SAME_TICK] += 1
        acc[slot, Accumulator.OBJECT_3] += decay[gap, _3]
        acc[slot, Accumulator.OBJECT_20] += decay[gap, _20]
        acc[slot, Accumulator.OBJECT_90] += decay[gap, _90]


@loop()
def from_relation(queries: QueryBatch, q: int, statistics: KernelStatistics, found: Workspace) -> None:
    """All objects of r_q, with the number of their facts in total and near t_q."""
    r = queries.relation[q]
    for position in range(statistics.relation_offsets[r], statistics.relation_offsets[r + 1]):
        x = statistics.object_entity[position]
        low, high = visible_times(statistics, q, position, queries.visible_before[q])
        if x != queries.entity[q] and low < high:
            add_object_times(queries, q, low, high, statistics, found.acc, list_candidate(x, found))


@loop()
def is_large_relation(queries: QueryBatch, q: int, statistics: KernelStatistics) -> bool:
    """Whether r_q has too many objects that the query sees to visit all of them."""
    return visible_objects(statistics, queries.relation[q], queries.visible_before[q]) > statistics.max_objects


@loop()
def from_large_relation(queries: QueryBatch, q: int, statistics: KernelStatistics, found: Workspace) -> None:
    """The most frequent objects of r_q and those of its events nearest to t_q."""
    r, e, before = queries.relation[q], queries.entity[q], queries.visible_before[q]
    for i in range(statistics.frequent_offsets[r], statistics.frequent_offsets[r + 1]):
        x = statistics.frequent_objects[i]
        position = find_pair(statistics, r, x)
        if x != e and position >= 0:
            low, high = visible_times(statistics, q, position, before)
            if low < high:
                found.pair[list_candidate(x, found)] = position + 1
    times = statistics.relation_event_time
    first, last = statistics.relation_event_offsets[r], statistics.relation_event_offsets[r + 1]
    middle, last = lower_bound(times, first, last, queries.time[q]), lower_bound(times, first, last, before)
    for a in range(max(first, middle - RELATION_EVENTS), min(last, middle + RELATION_EVENTS)):
        position = statistics.relation_event_pair[a]
        x = statistics.object_entity[position]
        slot = found.slot[x] - 1
        if x == e or (slot >= 0 and found.state[slot] != NOT_LISTED):
            continue
        low, high = visible_times(statistics, q, position, before)
        if low < high:
            found.pair[list_candidate(x, found)] = position + 1


@loop()
def complete_large_relation(queries: QueryBatch, q: int, statistics: KernelStatistics, found: Workspace) -> None:
    """Gives the candidates of all sources the values that they have if every object of r_q is visited."""
    for slot in range(found.used[0]):
        if found.state[slot] == NOT_LISTED:
            continue
        position = found.pair[slot] - 1
        if position < 0:
            position = find_pair(statistics, queries.relation[q], found.entity[slot])
        low, high = 0, 0
        if position >= 0:
            low, high = visible_times(statistics, q, position, queries.visible_before[q])
        if low < high:
            add_object_times(queries, q, low, high, statistics, found.acc, slot)
        elif found.state[slot] == LISTED_LATE:
            found.acc[slot, Accumulator.SIMILAR_ANY] = 0


@loop(fastmath={"reassoc", "contract"})
def _similarity(embedding: Floats, entity: int, direction: Floats) -> np.float32:
    total = np.float32(0)
    for z in range(len(direction)):
        total += embedding[entity, z] * direction[z]
    return total


@loop()
def from_same_day(
    queries: QueryBatch, q: int, statistics: KernelStatistics, direction: Floats, found: Workspace
) -> None:
    """Objects of events around t_q whose subject is similar to the support (``direction``: its mean embedding)."""
    e, query_time = queries.entity[q], queries.time[q]
    reach = ticks_within(EVENT_WINDOW, statistics.units_per_tick)
    times = statistics.event_time
    first, last = patched_range(statistics.event_patches, q, 0, 1, 0, len(times))
    middle = lower_bound(times, first, last, query_time)
    low = max(lower_bound(times, first, last, query_time - reach), middle - EVENTS_PER_SIDE)
    end = min(query_time + reach + 1, queries.visible_before[q])
    high = min(lower_bound(times, first, last, end), middle + EVENTS_PER_SIDE)
    for a in range(low, high):
        y, x = statistics.event_source[a], statistics.event_target[a]
        if e in (x, y):
            continue
        similarity = _similarity(statistics.embedding, y, direction)
        if similarity > MIN_SIMILARITY:
            found.acc[list_candidate(x, found, LISTED_LATE), Accumulator.SAME_DAY] += similarity * similarity


@loop()
def from_encoder(encoder: EncoderScores, q: int, e: int, found: Workspace) -> None:
    """The most probable entities of the encoder; their scores are looked up later, not accumulated."""
    for position in range(encoder.top.shape[1]):
        x = encoder.top[q, position]
        pooled = encoder.pooled.answer.shape[0] > 0
        if x != e and (pooled or encoder.with_events[q, x] > _MIN_LOGPROB):
            list_candidate(x, found, LISTED_LATE)
