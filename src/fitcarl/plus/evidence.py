"""The compiled loops that gather everything that speaks for an entity as the answer to a query.

A query is (e', r_q, ?, t_q) and the facts of its support. Each ``from_…`` loop follows one kind of evidence and adds to
``tally[kind, entity]``; ``describe`` turns the tallies of one entity into a row of features.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fitcarl.plus.kernels import gap_bucket, rule_slot

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]

# Rows of the tally: what is added up for an entity while a query's evidence is gathered.
FOLLOWS, EVER, TIMES, SAME, INVERSE, NEARNESS = 0, 1, 2, 3, 4, 5
NEAR, RULES, MOMENT, BEST, LINKS, EDGES, SAME_2, INVERSE_2, BESIDE, LAST_LINK = 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
PEERS, PEERS_ANY = 16, 17
MET, MET_TODAY, MET_3, MET_20, MET_90 = 18, 19, 20, 21, 22
TODAY = 23
TALLIES = 24

# Columns of the features, a family after the other.
FAMILIES: dict[str, int] = {
    "copy_support": 6,
    "neighbours": 9,
    "peers": 2,
    "crowd": 6,
    "day": 1,
    "activity": 4,
    "excitement": 1,
    "concepts": 1,
    "similarity": 2,
    "habits": 1,
    "names": 6,
    "query": 5,
}
EVIDENCE = sum(FAMILIES.values())

_EDGES_A_SIDE = 300
"""Edges before and after t_q that are looked at from where a support fact leads."""
_PEERS, _PEER_EDGES, _PEER_SEARCH = 30, 40, 400
_MEETINGS_A_SIDE = 200
_ACTIVITY_A_SIDE = 60
_DAY_EDGES = 4000
_DAY_REACH = 2.0
_AKIN = 0.1
"""The least similarity of an entity's contact to the support that makes a meeting of that day count."""


class Edges(NamedTuple):
    """One adjacency (the background's, or the overlay's)."""

    offsets: Longs
    relation: Ints
    target: Ints
    time: Ints


class Counts(NamedTuple):
    """What was counted on the background."""

    follows: Floats
    ever: Floats
    excites: Floats
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
    days: float


class Asked(NamedTuple):
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
def _lower(values: Ints, low: int, high: int, value: int) -> int:
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _turn(relation: int, relations: int) -> int:
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
    asked: Asked, q: int, counts: Counts, tally: Floats, seen: NDArray[np.bool_], listed: Ints, met: int
) -> int:
    """Whom e' dealt with before, and how often that comes back as r_q after such a time."""
    r, now = asked.relation[q], asked.time[q]
    inverse = _turn(r, counts.ever.shape[0])
    for k in range(asked.offsets[q], asked.offsets[q + 1]):
        other, relation = asked.support_entity[k], asked.support_relation[k]
        gap = (now - asked.support_time[k]) * counts.days
        met = _meet(other, seen, listed, met)
        tally[FOLLOWS, other] += math.exp(counts.follows[gap_bucket(gap), relation, r])
        tally[EVER, other] = max(tally[EVER, other], math.exp(counts.ever[relation, r]))
        tally[TIMES, other] += 1
        if relation == r:
            tally[SAME, other] = 1
        if relation == inverse:
            tally[INVERSE, other] = 1
        tally[NEARNESS, other] = max(tally[NEARNESS, other], 1 / (1 + abs(gap)))
    return met


@njit(cache=True, nogil=True)
def from_neighbours(
    asked: Asked, q: int, graph: Edges, counts: Counts, tally: Floats, seen: NDArray[np.bool_], listed: Ints, met: int
) -> int:
    """Whom those dealt with, near t_q first, weighed by how often two such steps lead to the answer."""
    e, r, now = asked.entity[q], asked.relation[q], asked.time[q]
    relations = counts.ever.shape[0]
    inverse = _turn(r, relations)
    first = asked.offsets[q]
    for k in range(first, asked.offsets[q + 1]):
        middle, relation = asked.support_entity[k], asked.support_relation[k]
        low, high = graph.offsets[middle], graph.offsets[middle + 1]
        here = _lower(graph.time, low, high, now)
        for a in range(max(low, here - _EDGES_A_SIDE), min(high, here + _EDGES_A_SIDE)):
            x = graph.target[a]
            if x in (e, middle):
                continue
            met = _meet(x, seen, listed, met)
            gap = abs(graph.time[a] - now) * counts.days
            share = math.exp(counts.rule[rule_slot(relation, graph.relation[a], r, relations, len(counts.rule))])
            fading = math.exp(-gap / 30)
            tally[NEAR, x] += share * fading
            tally[RULES, x] += share
            tally[MOMENT, x] += math.exp(counts.second[graph.relation[a], r] - gap / 3)
            tally[BEST, x] = max(tally[BEST, x], share)
            if tally[LAST_LINK, x] != k - first + 1:
                tally[LAST_LINK, x] = k - first + 1
                tally[LINKS, x] += 1
            tally[EDGES, x] += 1
            if graph.relation[a] == r:
                tally[SAME_2, x] += fading
            if graph.relation[a] == inverse:
                tally[INVERSE_2, x] += fading
            tally[BESIDE, x] += math.exp(-abs(graph.time[a] - asked.support_time[k]) * counts.days / 10)
    return met


@njit(cache=True, nogil=True)
def from_peers(
    asked: Asked, q: int, graph: Edges, counts: Counts, tally: Floats, seen: NDArray[np.bool_], listed: Ints, met: int
) -> int:
    """What others did around t_q who had done, around the same time, the same as e' with the same entity."""
    e, r, now = asked.entity[q], asked.relation[q], asked.time[q]
    relations = counts.ever.shape[0]
    for k in range(asked.offsets[q], asked.offsets[q + 1]):
        shared, when = asked.support_entity[k], asked.support_time[k]
        wanted = _turn(asked.support_relation[k], relations)
        low, high = graph.offsets[shared], graph.offsets[shared + 1]
        here = _lower(graph.time, low, high, when)
        found = 0
        for away in range(2 * _PEER_SEARCH):
            a = here + away // 2 if away % 2 == 0 else here - 1 - away // 2
            if a < low or a >= high or graph.relation[a] != wanted or graph.target[a] == e:
                continue
            found += 1
            peer = graph.target[a]
            begin, end = graph.offsets[peer], graph.offsets[peer + 1]
            weight = math.exp(-abs(graph.time[a] - when) * counts.days / 60) / math.log(2.0 + end - begin)
            there = _lower(graph.time, begin, end, now)
            for b in range(max(begin, there - _PEER_EDGES), min(end, there + _PEER_EDGES)):
                x = graph.target[b]
                if x == e:
                    continue
                fading = weight * math.exp(-abs(graph.time[b] - now) * counts.days / 30)
                if graph.relation[b] == r:
                    met = _meet(x, seen, listed, met)
                    tally[PEERS, x] += fading
                if seen[x]:
                    tally[PEERS_ANY, x] += fading
            if found >= _PEERS:
                break
    return met


@njit(cache=True, nogil=True)
def from_crowd(
    asked: Asked, q: int, counts: Counts, tally: Floats, seen: NDArray[np.bool_], listed: Ints, met: int
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
        tally[MET, x] = high - low
        here = _lower(counts.key_times, low, high, now)
        for a in range(max(low, here - _MEETINGS_A_SIDE), min(high, here + _MEETINGS_A_SIDE)):
            gap = abs(counts.key_times[a] - now) * counts.days
            if gap > 400:
                continue
            if counts.key_times[a] == now:
                tally[MET_TODAY, x] += 1
            tally[MET_3, x] += math.exp(-gap / 3)
            tally[MET_20, x] += math.exp(-gap / 20)
            tally[MET_90, x] += math.exp(-gap / 90)
    return met


@njit(cache=True, nogil=True)
def from_day(
    asked: Asked,
    q: int,
    counts: Counts,
    company: Floats,
    tally: Floats,
    seen: NDArray[np.bool_],
    listed: Ints,
    met: int,
) -> int:
    """Whom entities akin to the support (by ``company``, its mean direction) met in the days around t_q."""
    e, now = asked.entity[q], asked.time[q]
    reach = max(1, int(_DAY_REACH / counts.days))
    middle = _lower(counts.day_time, 0, len(counts.day_time), now)
    low = max(_lower(counts.day_time, 0, len(counts.day_time), now - reach), middle - _DAY_EDGES)
    high = min(_lower(counts.day_time, 0, len(counts.day_time), now + reach + 1), middle + _DAY_EDGES)
    for a in range(low, high):
        y, x = counts.day_source[a], counts.day_target[a]
        if e in (x, y):
            continue
        akin = 0.0
        for z in range(len(company)):
            akin += counts.similar[y, z] * company[z]
        if akin > _AKIN:
            met = _meet(x, seen, listed, met)
            tally[TODAY, x] += akin * akin
    return met


@njit(cache=True, nogil=True)
def _company(asked: Asked, q: int, counts: Counts, out: Floats) -> None:
    """The mean direction of the support's entities, of length 1."""
    out[:] = 0
    for k in range(asked.offsets[q], asked.offsets[q + 1]):
        for z in range(len(out)):
            out[z] += counts.similar[asked.support_entity[k], z]
    length = math.sqrt((out * out).sum()) + 1e-6
    out /= length


@njit(cache=True, nogil=True)
def _prior(x: int, graph: Edges, tally: Floats) -> float:
    """A rough score by hand that decides who is looked at closely."""
    return (
        20 * tally[FOLLOWS, x]
        + 2 * tally[EVER, x]
        + 30 * tally[NEAR, x]
        + 10 * tally[RULES, x] / (1 + tally[EDGES, x])
        + 0.02 * math.log1p(tally[MET, x])
        + 0.05 * math.log1p(tally[MET_20, x])
        + 0.3 * tally[PEERS, x]
        + 0.01 * math.log1p(graph.offsets[x + 1] - graph.offsets[x])
        + 0.02 * math.log1p(tally[TODAY, x])
    )


@njit(cache=True, nogil=True)
def _activity(x: int, r: int, now: int, e: int, graph: Edges, counts: Counts, out: Floats) -> None:
    """How much x did around t_q at three scales, and how much of that usually comes with r_q by somebody else."""
    low, high = graph.offsets[x], graph.offsets[x + 1]
    here = _lower(graph.time, low, high, now)
    out[:] = 0
    for a in range(max(low, here - _ACTIVITY_A_SIDE), min(high, here + _ACTIVITY_A_SIDE)):
        if graph.target[a] == e:
            continue
        gap = (now - graph.time[a]) * counts.days
        size = abs(gap)
        out[0] += math.exp(-size)
        out[1] += math.exp(-size / 7)
        out[2] += math.exp(-size / 60)
        out[3] += math.exp(counts.excites[gap_bucket(gap), _turn(graph.relation[a], counts.ever.shape[0]), r])


@njit(cache=True, nogil=True)
def _shared_words(x: int, counts: Counts, mark: Floats) -> float:
    """The share of the weight of x's words that is marked."""
    shared, total = 0.0, 1e-6
    for w in range(counts.word_offsets[x], counts.word_offsets[x + 1]):
        word = counts.word_ids[w]
        total += counts.word_weight[word]
        shared += counts.word_weight[word] * mark[word]
    return shared / total


@njit(cache=True, nogil=True)
def _mark_words(x: int, counts: Counts, value: float, mark: Floats) -> None:
    for w in range(counts.word_offsets[x], counts.word_offsets[x + 1]):
        mark[counts.word_ids[w]] = value


@njit(cache=True, nogil=True)
def _home(asked: Asked, q: int, counts: Counts) -> int:
    """The place in the name of e' or, where it has none, the commonest among the support's; -1 for none."""
    home = counts.home[asked.entity[q]]
    most = 0
    if home >= 0:
        return home
    for k in range(asked.offsets[q], asked.offsets[q + 1]):
        place, times = counts.home[asked.support_entity[k]], 0
        for other in range(asked.offsets[q], asked.offsets[q + 1]):
            times += counts.home[asked.support_entity[other]] == place
        if place >= 0 and times > most:
            home, most = place, times
    return home


@njit(cache=True, nogil=True)
def _describe_place(x: int, home: int, asked: Asked, q: int, counts: Counts, out: Floats) -> None:
    """Whether x is of the same place as e' or its support, how much the two places have to do, and x's role."""
    out[:] = 0
    place, role = counts.home[x], counts.role[x]
    if place >= 0 and home >= 0:
        out[0] = 1 if place == home else -1
        out[2] = (counts.affinity[home, place] + 5) / 3
    if place >= 0:
        first, end = asked.offsets[q], asked.offsets[q + 1]
        for k in range(first, end):
            out[1] += (counts.home[asked.support_entity[k]] == place) / (end - first)
    if role >= 0:
        out[3] = counts.role_fit[asked.relation[q], role]


@njit(cache=True, nogil=True)
def _describe(
    x: int,
    asked: Asked,
    q: int,
    graph: Edges,
    counts: Counts,
    tally: Floats,
    about: Floats,
    busy: Floats,
    own_words: Floats,
    company_words: Floats,
    home: int,
    out: Floats,
) -> None:
    """One row of features, in the order of ``FAMILIES``; shifts and factors bring each near mean 0 and spread 1."""
    r, shots = asked.relation[q], asked.offsets[q + 1] - asked.offsets[q]
    out[0] = math.log(tally[FOLLOWS, x] + 1e-5) / 3 + 3.8
    out[1] = math.log(tally[EVER, x] + 1e-3) / 3 + 2.3
    out[2] = 2 * math.log1p(tally[TIMES, x])
    out[3] = tally[SAME, x]
    out[4] = tally[INVERSE, x]
    out[5] = math.log(tally[NEARNESS, x] + 1e-3) / 3 + 2.3
    out[6] = (math.log(tally[NEAR, x] + 1e-5) + 8.4) / 4
    out[7] = (math.log(tally[RULES, x] + 1e-5) + 7.6) / 4.8
    out[8] = (math.log(tally[MOMENT, x] + 1e-5) + 10.1) / 2.8
    out[9] = (math.log(tally[BEST, x] + 1e-4) + 6.6) / 3
    out[10] = 3 * (tally[LINKS, x] / shots - 0.2)
    out[11] = math.log1p(tally[EDGES, x]) - 0.6
    out[12] = math.log(tally[SAME_2, x] + 1e-2) + 4.4
    out[13] = math.log(tally[INVERSE_2, x] + 1e-2) + 4.4
    out[14] = (math.log(tally[BESIDE, x] + 1e-2) + 3.9) / 1.6
    out[15] = math.log(tally[PEERS, x] + 1e-3) + 6.7
    out[16] = (math.log(tally[PEERS_ANY, x] + 1e-3) + 5.9) / 2.4
    out[17] = (math.log1p(tally[MET, x]) - 1.3) / 1.5
    out[18] = 4 * math.log1p(tally[MET_TODAY, x])
    out[19] = (math.log(tally[MET_3, x] + 1e-2) + 3.6) / 1.8
    out[20] = (math.log(tally[MET_20, x] + 1e-2) + 2.4) / 2.5
    out[21] = (math.log(tally[MET_90, x] + 1e-2) + 1.5) / 3
    backwards = _turn(r, counts.ever.shape[0])
    low, high = counts.relation_offsets[backwards], counts.relation_offsets[backwards + 1]
    place = np.searchsorted(counts.keys[low:high], backwards * np.int64(len(graph.offsets) - 1) + x) + low
    known = place < high and counts.keys[place] == backwards * np.int64(len(graph.offsets) - 1) + x
    out[22] = (math.log1p(counts.key_offsets[place + 1] - counts.key_offsets[place]) if known else 0.0) / 1.4 - 0.7
    out[23] = (math.log(tally[TODAY, x] + 1e-2) + 2.1) / 2.6
    _activity(x, r, asked.time[q], asked.entity[q], graph, counts, busy)
    out[24] = (math.log1p(graph.offsets[x + 1] - graph.offsets[x]) - 4.1) / 2
    out[25] = (math.log(busy[0] + 1e-2) + 1.5) / 2.5
    out[26] = (math.log(busy[1] + 1e-2) - 0.5) / 2.6
    out[27] = (math.log(busy[2] + 1e-2) - 2.5) / 1.9
    out[28] = (math.log(busy[3] + 1e-6) + 1.8) / 2.6
    fit = 0.0
    for c in range(counts.concept_offsets[x], counts.concept_offsets[x + 1]):
        fit = max(fit, counts.concept_probability[r, counts.concept_ids[c]])
    out[29] = math.log(fit + 1e-3) + 2.6
    best, mean = -1.0, 0.0
    for k in range(asked.offsets[q], asked.offsets[q + 1]):
        alike = 0.0
        for z in range(counts.similar.shape[1]):
            alike += counts.similar[asked.support_entity[k], z] * counts.similar[x, z]
        best = max(best, alike)
        mean += alike / shots
    out[30] = 3 * (best - 0.6)
    out[31] = 3 * (mean - 0.5)
    habit = 0.0
    for z in range(counts.habit.shape[1]):
        habit += counts.habit[x, z] * counts.habit_of[r, z]
    out[32] = (math.log(max(habit, 0.0) + 1e-4) + 1.8) / 3.5
    out[33] = _shared_words(x, counts, own_words)
    out[34] = _shared_words(x, counts, company_words)
    _describe_place(x, home, asked, q, counts, out[35:39])
    out[39:44] = about


@njit(cache=True, nogil=True)
def _about(asked: Asked, q: int, graph: Edges, counts: Counts, out: Floats) -> None:
    """What is the same for all candidates: how near and how fitting the support is, and how much there is."""
    r = asked.relation[q]
    best, nearest, contacts = -12.0, 1e6, 0.0
    first, end = asked.offsets[q], asked.offsets[q + 1]
    for k in range(first, end):
        best = max(best, counts.ever[asked.support_relation[k], r])
        nearest = min(nearest, abs(asked.time[q] - asked.support_time[k]) * counts.days)
        other = asked.support_entity[k]
        contacts += math.log1p(graph.offsets[other + 1] - graph.offsets[other])
    out[0] = (math.log1p(nearest) - 2.7) / 1.7
    out[1] = math.log(float(end - first)) - 1
    out[2] = (math.log1p(counts.relation_offsets[r + 1] - counts.relation_offsets[r]) - 6.4) / 1.2
    out[3] = (best + 1.2) / 1.2
    out[4] = (contacts / (end - first) - 4.8) / 1.7


@njit(cache=True, nogil=True)
def _sample_tail(order: Longs, listed: Ints, answer: int, most: int, extra: int, seed: int) -> None:
    """Brings so many of the entities after the first ``most`` to the front of that tail, the answer among them."""
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    for i in range(most, most + extra):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        j = i + np.int64((state >> np.uint64(33)) % np.uint64(len(order) - i))
        order[i], order[j] = order[j], order[i]
    for i in range(most + extra, len(order)):
        if listed[order[i]] == answer:
            last = most + extra - 1
            order[last], order[i] = order[i], order[last]


@njit(cache=True, nogil=True)
def gather(
    low: int,
    high: int,
    asked: Asked,
    base: Edges,
    over: Edges,
    counts: Counts,
    most: int,
    extra: int,
    seed: int,
    size: Longs,
    entity: Ints,
    weight: Floats,
    features: Floats,
) -> None:
    """Lists, for queries low to high, the entities that most speaks for, with a row of features each.

    Where ``extra`` is not 0, so many of the others are drawn at random and stand for all of them by ``weight`` (the log
    of how many each stands for); the answer, where it is known and was met, is among them and stands for itself.
    """
    entities = len(base.offsets) - 1
    tally = np.zeros((TALLIES, entities), dtype=np.float32)
    seen = np.zeros(entities, dtype=np.bool_)
    listed = np.empty(entities, dtype=np.int32)
    company = np.zeros(counts.similar.shape[1], dtype=np.float64)
    about, busy = np.zeros(5, dtype=np.float64), np.zeros(4, dtype=np.float64)
    own_words, company_words = np.zeros(len(counts.word_weight)), np.zeros(len(counts.word_weight))
    for q in range(low, high):
        e = asked.entity[q]
        met = from_support(asked, q, counts, tally, seen, listed, 0)
        met = from_neighbours(asked, q, base, counts, tally, seen, listed, met)
        met = from_neighbours(asked, q, over, counts, tally, seen, listed, met)
        met = from_peers(asked, q, base, counts, tally, seen, listed, met)
        met = from_crowd(asked, q, counts, tally, seen, listed, met)
        _company(asked, q, counts, company)
        met = from_day(asked, q, counts, company, tally, seen, listed, met)

        prior = np.empty(met)
        for i in range(met):
            prior[i] = _prior(listed[i], base, tally) if listed[i] != e else -1.0
        order = np.argsort(-prior, kind="mergesort")
        if seen[e]:
            order = order[:-1]  # nobody answers with itself
        count = min(len(order), most + extra)
        if extra > 0 and len(order) > most + extra:
            _sample_tail(order, listed, asked.answer[q], most, extra, seed + q)
            for i in range(most, count):
                stands_for = (len(order) - most) / extra
                weight[q, i] = 0.0 if listed[order[i]] == asked.answer[q] else math.log(stands_for)
        size[q] = count

        _about(asked, q, base, counts, about)
        home = _home(asked, q, counts)
        _mark_words(e, counts, 1.0, own_words)
        for k in range(asked.offsets[q], asked.offsets[q + 1]):
            _mark_words(asked.support_entity[k], counts, 1.0, company_words)
        for i in range(count):
            x = listed[order[i]]
            entity[q, i] = x
            _describe(x, asked, q, base, counts, tally, about, busy, own_words, company_words, home, features[q, i])
        _mark_words(e, counts, 0.0, own_words)
        for k in range(asked.offsets[q], asked.offsets[q + 1]):
            _mark_words(asked.support_entity[k], counts, 0.0, company_words)
        for i in range(met):
            seen[listed[i]] = False
            tally[:, listed[i]] = 0
