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
from fitcarl.models.plus.features.inputs import (
    DECAY_SCALES,
    EncoderScores,
    EventColumns,
    QueryBatch,
    RelationEvents,
    RelationRates,
)
from fitcarl.models.plus.gaps import gap_bucket, ticks_within
from fitcarl.models.plus.kernels import (
    Bytes,
    Floats,
    Ints,
    Longs,
    ObjectColumns,
    find_pair,
    rule_slot,
    visible_objects,
    visible_times,
)


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
    score: Floats
    """float64 [slots]: preselection scores."""
    against: Floats
    """float64 [slots]: scores with the opposite sign, in any order."""
    order: Longs
    """int64 [slots]: slots, best first."""
    log_probs: Floats
    """float32 [slots, 2]: values of the encoder."""
    direction: Floats
    """float32 [dim]: the mean embedding of the support entities, scaled to length 1."""


def new_workspace(entities: int, support_facts: int, from_encoder: int, dim: int) -> Workspace:
    """An empty workspace, large enough for one query.

    Args:
        entities: Number of entities.
        support_facts: Maximum number of support facts of a query.
        from_encoder: Entities that the encoder lists.
        dim: Numbers per entity of the spectral embedding.
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
        score=np.empty(slots),
        against=np.empty(slots),
        order=np.empty(slots, dtype=np.int64),
        log_probs=np.empty((slots, 2), dtype=np.float32),
        direction=np.zeros(dim, dtype=np.float32),
    )


@loop(inner=True)
def slot_of(entity: int, found: Workspace) -> int:
    """The slot of an entity, which is new if it has none yet."""
    slot = found.slot[entity] - 1
    if slot < 0:
        slot = found.used[0]
        found.slot[entity] = slot + 1
        found.entity[slot] = entity
        found.used[0] += 1
    return slot


@loop(inner=True)
def list_candidate(entity: int, found: Workspace, state: int) -> int:
    """Lists an entity as a candidate unless it is one already; returns its slot."""
    slot = slot_of(entity, found)
    if found.state[slot] == NOT_LISTED:
        found.state[slot] = state
    return slot


@loop(inner=True)
def clear(found: Workspace) -> None:
    """Removes all entities."""
    for slot in range(found.used[0]):
        found.slot[found.entity[slot]] = 0
        found.state[slot] = NOT_LISTED
        found.pair[slot] = 0
        for j in range(found.acc.shape[1]):
            found.acc[slot, j] = 0
    found.used[0] = 0


@loop(inner=True)
def from_support(queries: QueryBatch, q: int, rates: RelationRates, units_per_tick: float, found: Workspace) -> None:
    """Entities of the support facts, with the rates at which such facts come with r_q for the same pair."""
    r, query_time, acc = queries.relation[q], queries.time[q], found.acc
    inverse = inverse_relation(r, rates.pair_rate.shape[0])
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        relation = queries.support_relation[k]
        gap = (query_time - queries.support_time[k]) * units_per_tick
        other = list_candidate(queries.support_entity[k], found, LISTED)
        acc[other, Accumulator.COOCCURRENCE] += math.exp(rates.cooccurrence_rate[gap_bucket(gap), relation, r])
        pair_rate = math.exp(rates.pair_rate[relation, r])
        acc[other, Accumulator.PAIR_RATE] = max(acc[other, Accumulator.PAIR_RATE], pair_rate)
        acc[other, Accumulator.SUPPORT_COUNT] += 1
        if relation == r:
            acc[other, Accumulator.SAME_RELATION] = 1
        if relation == inverse:
            acc[other, Accumulator.INVERSE_RELATION] = 1
        acc[other, Accumulator.NEARNESS] = max(acc[other, Accumulator.NEARNESS], 1 / (1 + abs(gap)))


@loop(inner=True)
def from_neighbours(
    queries: QueryBatch,
    q: int,
    k: int,
    graph: EdgeColumns,
    rates: RelationRates,
    units_per_tick: float,
    found: Workspace,
) -> None:
    """Neighbours of the entity of support fact k near t_q, weighted by the rates of the two-hop rules.

    Called for one support fact after the other, so that LINKED_FACTS counts a fact once for both graphs.
    """
    e, r, query_time, acc = queries.entity[q], queries.relation[q], queries.time[q], found.acc
    relations = rates.pair_rate.shape[0]
    inverse = inverse_relation(r, relations)
    fact_number = k - queries.offsets[q] + 1
    middle, relation = queries.support_entity[k], queries.support_relation[k]
    low, high = visible_edges(graph, q, middle, queries.visible_before[q])
    near_query = lower_bound(graph.time, low, high, query_time)
    for a in range(max(low, near_query - EDGES_PER_SIDE), min(high, near_query + EDGES_PER_SIDE)):
        if graph.target[a] in (e, middle):
            continue
        x = list_candidate(graph.target[a], found, LISTED)
        gap = abs(graph.time[a] - query_time) * units_per_tick
        slot = rule_slot(relation, graph.relation[a], r, relations, len(rates.rule_rate))
        rate = math.exp(rates.rule_rate[slot])
        decay = math.exp(-gap / RULE_DECAY)
        acc[x, Accumulator.RULE_NEAR] += rate * decay
        acc[x, Accumulator.RULE_SUM] += rate
        acc[x, Accumulator.SECOND_HOP_NEAR] += math.exp(
            rates.second_hop_rate[graph.relation[a], r] - gap / _SECOND_HOP_DECAY
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
        support_gap = abs(graph.time[a] - queries.support_time[k]) * units_per_tick
        acc[x, Accumulator.NEAR_SUPPORT] += math.exp(-support_gap / _SUPPORT_DECAY)


@loop(inner=True)
def from_similar_entities(
    queries: QueryBatch,
    q: int,
    graph: EdgeColumns,
    relations: int,
    units: float,
    found: Workspace,
    all_objects_listed: bool,
) -> None:
    """Neighbours, around t_q, of entities that share a (relation, object) with e' at about the same time.

    SIMILAR_ANY is for candidates of earlier sources, all objects of r_q among them. If not all of those are listed, it
    is added up for every entity, and ``complete_large_relation`` removes what does not count.
    """
    e, r, query_time, acc = queries.entity[q], queries.relation[q], queries.time[q], found.acc
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
                    acc[list_candidate(x, found, LISTED), Accumulator.SIMILAR_SAME_RELATION] += decay
                if found.slot[x] > 0 or not all_objects_listed:
                    acc[slot_of(x, found), Accumulator.SIMILAR_ANY] += decay
            if number >= SIMILAR:
                break


@loop(inner=True)
def add_object_times(query_time: int, times: Ints, low: int, high: int, decay: Floats, acc: Floats, slot: int) -> None:
    """The number of facts (·, r_q, candidate) in total and near t_q, whose times are ``times[low:high]``."""
    acc[slot, Accumulator.OBJECT_COUNT] = high - low
    near_query = lower_bound(times, low, high, query_time)
    for a in range(max(low, near_query - _OBJECT_TIMES_PER_SIDE), min(high, near_query + _OBJECT_TIMES_PER_SIDE)):
        gap = min(abs(times[a] - query_time), len(decay) - 1)
        if gap == 0:
            acc[slot, Accumulator.OBJECT_SAME_TICK] += 1
        acc[slot, Accumulator.OBJECT_3] += decay[gap, _3]
        acc[slot, Accumulator.OBJECT_20] += decay[gap, _20]
        acc[slot, Accumulator.OBJECT_90] += decay[gap, _90]


@loop(inner=True)
def from_relation(queries: QueryBatch, q: int, objects: ObjectColumns, decay: Floats, found: Workspace) -> None:
    """All objects of r_q, with the number of their facts in total and near t_q."""
    r = queries.relation[q]
    for position in range(objects.relation_offsets[r], objects.relation_offsets[r + 1]):
        x = objects.object_entity[position]
        low, high = visible_times(objects, q, position, queries.visible_before[q])
        if x != queries.entity[q] and low < high:
            slot = list_candidate(x, found, LISTED)
            add_object_times(queries.time[q], objects.object_times, low, high, decay, found.acc, slot)


@loop(inner=True)
def is_large_relation(queries: QueryBatch, q: int, objects: ObjectColumns, max_objects: int) -> bool:
    """Whether r_q has too many objects that the query sees to visit all of them."""
    return visible_objects(objects, queries.relation[q], queries.visible_before[q]) > max_objects


@loop(inner=True)
def from_large_relation(
    queries: QueryBatch, q: int, objects: ObjectColumns, events: RelationEvents, found: Workspace
) -> None:
    """The most frequent objects of r_q and those of its events nearest to t_q."""
    r, e, before = queries.relation[q], queries.entity[q], queries.visible_before[q]
    for i in range(events.frequent_offsets[r], events.frequent_offsets[r + 1]):
        x = events.frequent_objects[i]
        position = find_pair(objects, r, x)
        if x != e and position >= 0:
            low, high = visible_times(objects, q, position, before)
            if low < high:
                found.pair[list_candidate(x, found, LISTED)] = position + 1
    times = events.relation_event_time
    first, last = events.relation_event_offsets[r], events.relation_event_offsets[r + 1]
    middle, last = lower_bound(times, first, last, queries.time[q]), lower_bound(times, first, last, before)
    for a in range(max(first, middle - RELATION_EVENTS), min(last, middle + RELATION_EVENTS)):
        position = events.relation_event_pair[a]
        x = objects.object_entity[position]
        slot = found.slot[x] - 1
        if x == e or (slot >= 0 and found.state[slot] != NOT_LISTED):
            continue
        low, high = visible_times(objects, q, position, before)
        if low < high:
            found.pair[list_candidate(x, found, LISTED)] = position + 1


@loop(inner=True)
def complete_large_relation(
    queries: QueryBatch, q: int, objects: ObjectColumns, decay: Floats, found: Workspace
) -> None:
    """Gives the candidates of all sources the values that they have if every object of r_q is visited."""
    for slot in range(found.used[0]):
        if found.state[slot] == NOT_LISTED:
            continue
        position = found.pair[slot] - 1
        if position < 0:
            position = find_pair(objects, queries.relation[q], found.entity[slot])
        low, high = 0, 0
        if position >= 0:
            low, high = visible_times(objects, q, position, queries.visible_before[q])
        if low < high:
            add_object_times(queries.time[q], objects.object_times, low, high, decay, found.acc, slot)
        elif found.state[slot] == LISTED_LATE:
            found.acc[slot, Accumulator.SIMILAR_ANY] = 0


@loop(inner=True, fastmath={"reassoc", "contract"})
def _similarity(embedding: Floats, entity: int, direction: Floats) -> np.float32:
    total = np.float32(0)
    for z in range(len(direction)):
        total += embedding[entity, z] * direction[z]
    return total


@loop(inner=True)
def from_same_day(
    queries: QueryBatch, q: int, events: EventColumns, embedding: Floats, units_per_tick: float, found: Workspace
) -> None:
    """Objects of events around t_q whose subject is similar to the support (its mean embedding)."""
    e, query_time = queries.entity[q], queries.time[q]
    reach = ticks_within(EVENT_WINDOW, units_per_tick)
    times = events.event_time
    first, last = patched_range(events.event_patches, q, 0, 1, 0, len(times))
    middle = lower_bound(times, first, last, query_time)
    low = max(lower_bound(times, first, last, query_time - reach), middle - EVENTS_PER_SIDE)
    end = min(query_time + reach + 1, queries.visible_before[q])
    high = min(lower_bound(times, first, last, end), middle + EVENTS_PER_SIDE)
    for a in range(low, high):
        y, x = events.event_source[a], events.event_target[a]
        if e in (x, y):
            continue
        similarity = _similarity(embedding, y, found.direction)
        if similarity > MIN_SIMILARITY:
            found.acc[list_candidate(x, found, LISTED_LATE), Accumulator.SAME_DAY] += similarity * similarity


@loop(inner=True)
def from_encoder(encoder: EncoderScores, q: int, e: int, found: Workspace) -> None:
    """The most probable entities of the encoder; their scores are looked up later, not accumulated."""
    for position in range(encoder.top.shape[1]):
        x = encoder.top[q, position]
        pooled = encoder.pooled.answer.shape[0] > 0
        if x != e and (pooled or encoder.with_events[q, x] > _MIN_LOGPROB):
            list_candidate(x, found, LISTED_LATE)
