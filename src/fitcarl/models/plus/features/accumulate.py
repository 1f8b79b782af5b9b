"""The compiled loops that add up, kind by kind, what speaks for an entity as the answer to a query.

A query is (e', r_q, ?, t_q) and the facts of its support. Each ``from_…`` loop follows one kind of evidence and adds to
``tally[entity, kind]``; it lists whom it meets, and gives how many are listed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fitcarl.models.plus.kernels import gap_bucket, rule_slot

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]

# Columns of the tally: what is added up for an entity while a query's evidence is gathered.
FOLLOWS, EVER, TIMES, SAME, INVERSE, NEARNESS = 0, 1, 2, 3, 4, 5
NEAR, RULES, MOMENT, BEST, LINKS, EDGES, SAME_2, INVERSE_2, BESIDE, LAST_LINK = 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
PEERS, PEERS_ANY = 16, 17
MET, MET_TODAY, MET_3, MET_20, MET_90 = 18, 19, 20, 21, 22
TODAY = 23
TALLIES = 24

FADES = (1.0, 3.0, 7.0, 20.0, 60.0, 90.0)
"""Days over which what happened fades, for loops that look the fading up."""
_EDGES_A_SIDE = 300
"""Edges before and after t_q that are looked at from where a support fact leads."""
_PEERS, _PEER_EDGES, _PEER_SEARCH = 30, 40, 400
_MEETINGS_A_SIDE = 200
_DAY_EDGES = 4000
_DAY_REACH = 2.0
_AKIN = 0.1
"""The least similarity of an entity's contact to the support that makes a meeting of that day count."""


_HARDLY = -14.0
"""The log-share below which the encoder puts nobody up."""


class Edges(NamedTuple):
    """One adjacency (the background's, or the overlay's)."""

    offsets: Longs
    relation: Ints
    target: Ints
    time: Ints


class KernelStatistics(NamedTuple):
    """What was counted on the background."""

    follows: Floats
    ever: Floats
    rule: Floats
    second: Floats
    keys: Longs
    key_offsets: Longs
    key_times: Ints
    relation_offsets: Longs
    day_time: Ints
    day_source: Ints
    day_target: Ints
    concept_offsets: Longs
    concept_ids: Ints
    concept_probability: Floats
    similar: Floats
    habit: Floats
    habit_of: Floats
    word_offsets: Longs
    word_ids: Ints
    word_weight: Floats
    home: Ints
    role: Ints
    affinity: Floats
    role_fit: Floats
    days_per_tick: float
    rate: Floats
    """exp(excites), by r_q, gap and relation."""
    fades: Floats
    """exp(-gap / scale) by ticks and by the scales of ``FADES``; 0 from the last row on."""


class EncoderScores(NamedTuple):
    """What the encoder says about every entity as the answer to each query; no columns where there is no encoder."""

    alone: Floats
    """float32 [queries, entities]: log-share by the support alone."""
    whole: Floats
    """float32 [queries, entities]: log-share with what happened around t_q."""
    likely: Ints
    """int32 [queries, n]: the likeliest entities."""

    @classmethod
    def nothing(cls, queries: int) -> EncoderScores:
        blank = np.zeros((queries, 0), dtype=np.float32)
        return cls(blank, blank, np.zeros((queries, 0), dtype=np.int32))


class QueryBatch(NamedTuple):
    """The queries, with the facts of each one's support side by side."""

    entity: Ints
    relation: Ints
    time: Ints
    answer: Ints
    """-1 where nobody knows; only used to keep the answer in a sample."""
    offsets: Longs
    support_relation: Ints
    support_entity: Ints
    support_time: Ints


@njit(cache=True, nogil=True)
def lower(values: Ints, low: int, high: int, value: int) -> int:
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def turn(relation: int, relations: int) -> int:
    """The inverse of a relation of 2R directed ones."""
    half = relations // 2
    return relation + half if relation < half else relation - half


@njit(cache=True, nogil=True)
def _meet(entity: int, seen: NDArray[np.bool_], listed: Ints, count: int) -> int:
    """Lists an entity when it is first met; gives how many are listed."""
    if not seen[entity]:
        seen[entity] = True
        listed[count] = entity
        count += 1
    return count


@njit(cache=True, nogil=True)
def from_support(
    asked: QueryBatch, q: int, counts: KernelStatistics, tally: Floats, seen: NDArray[np.bool_], listed: Ints, met: int
) -> int:
    """Whom e' dealt with before, and how often that comes back as r_q after such a time."""
    r, now = asked.relation[q], asked.time[q]
    inverse = turn(r, counts.ever.shape[0])
    for k in range(asked.offsets[q], asked.offsets[q + 1]):
        other, relation = asked.support_entity[k], asked.support_relation[k]
        gap = (now - asked.support_time[k]) * counts.days_per_tick
        met = _meet(other, seen, listed, met)
        tally[other, FOLLOWS] += math.exp(counts.follows[gap_bucket(gap), relation, r])
        tally[other, EVER] = max(tally[other, EVER], math.exp(counts.ever[relation, r]))
        tally[other, TIMES] += 1
        if relation == r:
            tally[other, SAME] = 1
        if relation == inverse:
            tally[other, INVERSE] = 1
        tally[other, NEARNESS] = max(tally[other, NEARNESS], 1 / (1 + abs(gap)))
    return met


@njit(cache=True, nogil=True)
def from_neighbours(
    asked: QueryBatch,
    q: int,
    k: int,
    graph: Edges,
    counts: KernelStatistics,
    tally: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    met: int,
) -> int:
    """Whom the entity of support fact k dealt with near t_q, weighed by how often two such steps lead to the answer.

    One fact after the other: LINKS counts facts that lead somewhere, in whichever graph the second step is.
    """
    e, r, now = asked.entity[q], asked.relation[q], asked.time[q]
    relations = counts.ever.shape[0]
    inverse = turn(r, relations)
    nth = k - asked.offsets[q] + 1
    middle, relation = asked.support_entity[k], asked.support_relation[k]
    low, high = graph.offsets[middle], graph.offsets[middle + 1]
    here = lower(graph.time, low, high, now)
    for a in range(max(low, here - _EDGES_A_SIDE), min(high, here + _EDGES_A_SIDE)):
        x = graph.target[a]
        if x in (e, middle):
            continue
        met = _meet(x, seen, listed, met)
        gap = abs(graph.time[a] - now) * counts.days_per_tick
        share = math.exp(counts.rule[rule_slot(relation, graph.relation[a], r, relations, len(counts.rule))])
        fading = math.exp(-gap / 30)
        tally[x, NEAR] += share * fading
        tally[x, RULES] += share
        tally[x, MOMENT] += math.exp(counts.second[graph.relation[a], r] - gap / 3)
        tally[x, BEST] = max(tally[x, BEST], share)
        if tally[x, LAST_LINK] != nth:
            tally[x, LAST_LINK] = nth
            tally[x, LINKS] += 1
        tally[x, EDGES] += 1
        if graph.relation[a] == r:
            tally[x, SAME_2] += fading
        if graph.relation[a] == inverse:
            tally[x, INVERSE_2] += fading
        tally[x, BESIDE] += math.exp(-abs(graph.time[a] - asked.support_time[k]) * counts.days_per_tick / 10)
    return met


@njit(cache=True, nogil=True)
def from_peers(
    asked: QueryBatch,
    q: int,
    graph: Edges,
    counts: KernelStatistics,
    tally: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    met: int,
) -> int:
    """What others did around t_q who had done, around the same time, the same as e' with the same entity."""
    e, r, now = asked.entity[q], asked.relation[q], asked.time[q]
    relations = counts.ever.shape[0]
    for k in range(asked.offsets[q], asked.offsets[q + 1]):
        shared, when = asked.support_entity[k], asked.support_time[k]
        wanted = turn(asked.support_relation[k], relations)
        low, high = graph.offsets[shared], graph.offsets[shared + 1]
        here = lower(graph.time, low, high, when)
        found = 0
        for away in range(2 * _PEER_SEARCH):
            a = here + away // 2 if away % 2 == 0 else here - 1 - away // 2
            if a < low or a >= high or graph.relation[a] != wanted or graph.target[a] == e:
                continue
            found += 1
            peer = graph.target[a]
            begin, end = graph.offsets[peer], graph.offsets[peer + 1]
            weight = math.exp(-abs(graph.time[a] - when) * counts.days_per_tick / 60) / math.log(2.0 + end - begin)
            there = lower(graph.time, begin, end, now)
            for b in range(max(begin, there - _PEER_EDGES), min(end, there + _PEER_EDGES)):
                x = graph.target[b]
                if x == e:
                    continue
                fading = weight * math.exp(-abs(graph.time[b] - now) * counts.days_per_tick / 30)
                if graph.relation[b] == r:
                    met = _meet(x, seen, listed, met)
                    tally[x, PEERS] += fading
                if seen[x]:
                    tally[x, PEERS_ANY] += fading
            if found >= _PEERS:
                break
    return met


@njit(cache=True, nogil=True)
def from_crowd(
    asked: QueryBatch, q: int, counts: KernelStatistics, tally: Floats, seen: NDArray[np.bool_], listed: Ints, met: int
) -> int:
    """Whom anybody met through r_q, ever and near t_q."""
    e, r, now = asked.entity[q], asked.relation[q], asked.time[q]
    entities = len(seen)
    for place in range(counts.relation_offsets[r], counts.relation_offsets[r + 1]):
        x = counts.keys[place] - r * entities
        if x == e:
            continue
        met = _meet(x, seen, listed, met)
        low, high = counts.key_offsets[place], counts.key_offsets[place + 1]
        tally[x, MET] = high - low
        here = lower(counts.key_times, low, high, now)
        for a in range(max(low, here - _MEETINGS_A_SIDE), min(high, here + _MEETINGS_A_SIDE)):
            gap = min(abs(counts.key_times[a] - now), len(counts.fades) - 1)
            if gap == 0:
                tally[x, MET_TODAY] += 1
            tally[x, MET_3] += counts.fades[gap, 1]
            tally[x, MET_20] += counts.fades[gap, 3]
            tally[x, MET_90] += counts.fades[gap, 5]
    return met


@njit(cache=True, nogil=True)
def from_day(
    asked: QueryBatch,
    q: int,
    counts: KernelStatistics,
    company: Floats,
    tally: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    met: int,
) -> int:
    """Whom entities akin to the support (by ``company``, its mean direction) met in the days around t_q."""
    e, now = asked.entity[q], asked.time[q]
    reach = max(1, int(_DAY_REACH / counts.days_per_tick))
    middle = lower(counts.day_time, 0, len(counts.day_time), now)
    low = max(lower(counts.day_time, 0, len(counts.day_time), now - reach), middle - _DAY_EDGES)
    high = min(lower(counts.day_time, 0, len(counts.day_time), now + reach + 1), middle + _DAY_EDGES)
    for a in range(low, high):
        y, x = counts.day_source[a], counts.day_target[a]
        if e in (x, y):
            continue
        akin = 0.0
        for z in range(len(company)):
            akin += counts.similar[y, z] * company[z]
        if akin > _AKIN:
            met = _meet(x, seen, listed, met)
            tally[x, TODAY] += akin * akin
    return met


@njit(cache=True, nogil=True)
def from_encoder(encoded: EncoderScores, q: int, e: int, seen: NDArray[np.bool_], listed: Ints, met: int) -> int:
    """Whom the encoder finds likely; what it says of them is not added up but looked up."""
    for place in range(encoded.likely.shape[1]):
        x = encoded.likely[q, place]
        if x != e and encoded.whole[q, x] > _HARDLY:
            met = _meet(x, seen, listed, met)
    return met
