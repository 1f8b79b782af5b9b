"""The compiled loops that turn what was added up for an entity into a row of features."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fitcarl.models.plus.features.accumulate import (
    BESIDE,
    BEST,
    EDGES,
    EVER,
    FOLLOWS,
    INVERSE,
    INVERSE_2,
    LINKS,
    MET,
    MET_3,
    MET_20,
    MET_90,
    MET_TODAY,
    MOMENT,
    NEAR,
    NEARNESS,
    PEERS,
    PEERS_ANY,
    RULES,
    SAME,
    SAME_2,
    TIMES,
    TODAY,
    Edges,
    EncoderScores,
    Floats,
    KernelStatistics,
    QueryBatch,
    lower,
    turn,
)
from fitcarl.models.plus.kernels import gap_bucket

_ACTIVITY_A_SIDE = 60

# Columns of the features, a family after the other.
FAMILIES: dict[str, int] = {
    "copy_support": 6,
    "neighbours": 9,
    "similar_entities": 2,
    "relation_popularity": 6,
    "same_day": 1,
    "activity": 4,
    "excitation": 1,
    "concepts": 1,
    "similarity": 2,
    "relation_profile": 1,
    "encoder": 2,
    "names": 6,
    "query": 5,
}
EVIDENCE = sum(FAMILIES.values())


@njit(cache=True, nogil=True)
def _activity(x: int, r: int, now: int, e: int, graph: Edges, counts: KernelStatistics, out: Floats) -> None:
    """How much x did around t_q at three scales, and how much of that usually comes with r_q by somebody else."""
    low, high = graph.offsets[x], graph.offsets[x + 1]
    here = lower(graph.time, low, high, now)
    out[:] = 0
    for a in range(max(low, here - _ACTIVITY_A_SIDE), min(high, here + _ACTIVITY_A_SIDE)):
        if graph.target[a] == e:
            continue
        gap = now - graph.time[a]
        size = min(abs(gap), len(counts.fades) - 1)
        out[0] += counts.fades[size, 0]
        out[1] += counts.fades[size, 2]
        out[2] += counts.fades[size, 4]
        out[3] += counts.rate[r, gap_bucket(gap * counts.days_per_tick), turn(graph.relation[a], counts.ever.shape[0])]


@njit(cache=True, nogil=True)
def _shared_words(x: int, counts: KernelStatistics, mark: Floats) -> float:
    """The share of the weight of x's words that is marked."""
    shared, total = 0.0, 1e-6
    for w in range(counts.word_offsets[x], counts.word_offsets[x + 1]):
        word = counts.word_ids[w]
        total += counts.word_weight[word]
        shared += counts.word_weight[word] * mark[word]
    return shared / total


@njit(cache=True, nogil=True)
def mark_words(x: int, counts: KernelStatistics, value: float, mark: Floats) -> None:
    for w in range(counts.word_offsets[x], counts.word_offsets[x + 1]):
        mark[counts.word_ids[w]] = value


@njit(cache=True, nogil=True)
def home_of(asked: QueryBatch, q: int, counts: KernelStatistics) -> int:
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
def _describe_place(x: int, home: int, asked: QueryBatch, q: int, counts: KernelStatistics, out: Floats) -> None:
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
def describe(
    x: int,
    asked: QueryBatch,
    q: int,
    graph: Edges,
    counts: KernelStatistics,
    encoded: EncoderScores,
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
    out[0] = math.log(tally[x, FOLLOWS] + 1e-5) / 3 + 3.8
    out[1] = math.log(tally[x, EVER] + 1e-3) / 3 + 2.3
    out[2] = 2 * math.log1p(tally[x, TIMES])
    out[3] = tally[x, SAME]
    out[4] = tally[x, INVERSE]
    out[5] = math.log(tally[x, NEARNESS] + 1e-3) / 3 + 2.3
    out[6] = (math.log(tally[x, NEAR] + 1e-5) + 8.4) / 4
    out[7] = (math.log(tally[x, RULES] + 1e-5) + 7.6) / 4.8
    out[8] = (math.log(tally[x, MOMENT] + 1e-5) + 10.1) / 2.8
    out[9] = (math.log(tally[x, BEST] + 1e-4) + 6.6) / 3
    out[10] = 3 * (tally[x, LINKS] / shots - 0.2)
    out[11] = math.log1p(tally[x, EDGES]) - 0.6
    out[12] = math.log(tally[x, SAME_2] + 1e-2) + 4.4
    out[13] = math.log(tally[x, INVERSE_2] + 1e-2) + 4.4
    out[14] = (math.log(tally[x, BESIDE] + 1e-2) + 3.9) / 1.6
    out[15] = math.log(tally[x, PEERS] + 1e-3) + 6.7
    out[16] = (math.log(tally[x, PEERS_ANY] + 1e-3) + 5.9) / 2.4
    out[17] = (math.log1p(tally[x, MET]) - 1.3) / 1.5
    out[18] = 4 * math.log1p(tally[x, MET_TODAY])
    out[19] = (math.log(tally[x, MET_3] + 1e-2) + 3.6) / 1.8
    out[20] = (math.log(tally[x, MET_20] + 1e-2) + 2.4) / 2.5
    out[21] = (math.log(tally[x, MET_90] + 1e-2) + 1.5) / 3
    backwards = turn(r, counts.ever.shape[0])
    low, high = counts.relation_offsets[backwards], counts.relation_offsets[backwards + 1]
    place = np.searchsorted(counts.keys[low:high], backwards * np.int64(len(graph.offsets) - 1) + x) + low
    known = place < high and counts.keys[place] == backwards * np.int64(len(graph.offsets) - 1) + x
    out[22] = (math.log1p(counts.key_offsets[place + 1] - counts.key_offsets[place]) if known else 0.0) / 1.4 - 0.7
    out[23] = (math.log(tally[x, TODAY] + 1e-2) + 2.1) / 2.6
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
    if encoded.whole.shape[1] > 0:
        out[33] = max(encoded.alone[q, x] + 10, -15.0) / 3
        out[34] = max(encoded.whole[q, x] + 10, -15.0) / 3
    else:
        out[33:35] = 0
    out[35] = _shared_words(x, counts, own_words)
    out[36] = _shared_words(x, counts, company_words)
    _describe_place(x, home, asked, q, counts, out[37:41])
    out[41:46] = about


@njit(cache=True, nogil=True)
def describe_query(asked: QueryBatch, q: int, graph: Edges, counts: KernelStatistics, out: Floats) -> None:
    """What is the same for all candidates: how near and how fitting the support is, and how much there is."""
    r = asked.relation[q]
    best, nearest, contacts = -12.0, 1e6, 0.0
    first, end = asked.offsets[q], asked.offsets[q + 1]
    for k in range(first, end):
        best = max(best, counts.ever[asked.support_relation[k], r])
        nearest = min(nearest, abs(asked.time[q] - asked.support_time[k]) * counts.days_per_tick)
        other = asked.support_entity[k]
        contacts += math.log1p(graph.offsets[other + 1] - graph.offsets[other])
    out[0] = (math.log1p(nearest) - 2.7) / 1.7
    out[1] = math.log(float(end - first)) - 1
    out[2] = (math.log1p(counts.relation_offsets[r + 1] - counts.relation_offsets[r]) - 6.4) / 1.2
    out[3] = (best + 1.2) / 1.2
    out[4] = (contacts / (end - first) - 4.8) / 1.7
