"""The compiled loops of preset ``plus``: counting on the background, and features of every choice an agent has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@njit(cache=True, nogil=True)
def gap_bucket(gap: float) -> int:
    """Which of nine ranges a signed gap in days falls in: 4 is the same tick, lower ones are negative gaps."""
    size = abs(gap)
    if size == 0:
        return 4
    place = 1 if size <= 2 else 2 if size <= 10 else 3 if size <= 45 else 4
    return 4 + place if gap > 0 else 4 - place


@njit(cache=True, nogil=True)
def count_followers(
    pair_offsets: Longs,
    relation: Ints,
    time: Ints,
    days: float,
    reach: int,
    followers: Floats,
    anything: Floats,
    facts: Floats,
) -> None:
    """Counts, for facts of one pair of entities, how often r_s comes with r_q at a gap (in buckets, and at all).

    ``followers[bucket, r_s, r_q]`` and ``anything[r_s, r_q]`` count facts of r_s that have such a companion,
    ``facts[r_s]`` all of them; a tick is so many ``days``. Facts of a pair come together, by time; for gaps only the
    ``reach`` facts before and after one are looked at, so that pairs with very many facts take linear time.
    """
    relations = len(facts)
    seen = np.full((9, relations), -1, dtype=np.int64)
    times_there = np.zeros(relations, dtype=np.int64)
    for pair in range(len(pair_offsets) - 1):
        low, high = pair_offsets[pair], pair_offsets[pair + 1]
        for i in range(low, high):
            times_there[relation[i]] += 1
        for i in range(low, high):
            mine = relation[i]
            facts[mine] += 1
            for j in range(max(low, i - reach), min(high, i + reach + 1)):
                if i == j:
                    continue
                bucket = gap_bucket((time[j] - time[i]) * days)
                if seen[bucket, relation[j]] != i:
                    seen[bucket, relation[j]] = i
                    followers[bucket, mine, relation[j]] += 1
        # Whether a companion exists at all depends on the pair's relations only.
        for i in range(low, high):
            other = relation[i]
            count = times_there[other]
            if count > 0:
                times_there[other] = -count  # each relation of the pair once
                for j in range(low, high):
                    if relation[j] != other or count > 1:
                        anything[relation[j], other] += 1
        for i in range(low, high):
            times_there[relation[i]] = 0


@njit(cache=True, nogil=True)
def count_excitement(
    offsets: Longs, relation: Ints, target: Ints, time: Ints, days: float, reach: int, near: Floats, facts: Floats
) -> None:
    """Counts how often one who was met through r is met through r_q, by somebody else, at a gap (in buckets).

    Edges stand with the one who was met, so the relation through which it was met is the inverse of theirs.
    """
    relations = len(facts)
    half = relations // 2
    for met in range(len(offsets) - 1):
        low, high = offsets[met], offsets[met + 1]
        for i in range(low, high):
            mine = (relation[i] + half) % relations
            facts[mine] += 1
            for j in range(max(low, i - reach), min(high, i + reach + 1)):
                if target[j] != target[i]:
                    near[gap_bucket((time[j] - time[i]) * days), mine, (relation[j] + half) % relations] += 1


@njit(cache=True, nogil=True)
def rule_slot(first: int, second: int, asked: int, relations: int, slots: int) -> int:
    """Where the rule (r_1, r_2) → r_q is counted; a hash, because most of the cube is empty."""
    key = np.uint64((first * relations + second) * relations + asked)
    key = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((key >> np.uint64(20)) % np.uint64(slots))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def count_rules(
    asked: Ints,
    answer: Ints,
    first: Ints,
    relation: Ints,
    entity: Ints,
    count: Longs,
    tries: Floats,
    hits: Floats,
    pair_tries: Floats,
    pair_hits: Floats,
    relations: int,
) -> None:
    """Counts how often a second step along r_2, after a first along r_1, ends at the answer of a query about r_q."""
    for i in range(len(asked)):
        for a in range(1, count[i]):
            if entity[i, a] < 0:  # back to where the walk began, which no agent may go
                continue
            slot = rule_slot(first[i], relation[i, a], asked[i], relations, len(tries))
            hit = entity[i, a] == answer[i]
            tries[slot] += 1
            pair_tries[relation[i, a], asked[i]] += 1
            if hit:
                hits[slot] += 1
                pair_hits[relation[i, a], asked[i]] += 1


@njit(cache=True, nogil=True)
def _place(keys: Longs, key: int) -> int:
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@njit(cache=True, nogil=True)
def _activity(times: Ints, low: int, high: int, now: int, scale: float) -> float:
    """Σ exp(-|t - now| / scale) over ascending times[low:high], those beyond six scales left out."""
    total = 0.0
    reach = 6 * scale
    left, right = low, high
    while left < right:
        middle = (left + right) // 2
        if times[middle] < now - reach:
            left = middle + 1
        else:
            right = middle
    while left < high and times[left] <= now + reach:
        total += np.exp(-abs(times[left] - now) / scale)
        left += 1
    return total


@njit(cache=True, nogil=True)
def describe_entities(
    low: int,
    high: int,
    relation: Ints,
    now: Ints,
    query: Longs,
    entity: Ints,
    keys: Longs,
    key_offsets: Longs,
    key_times: Ints,
    degree: Ints,
    concept_offsets: Longs,
    concept_ids: Ints,
    concept_probability: NDArray[np.float64],
    scales: Floats,
    entities: int,
    out: Floats,
) -> None:
    """What can be said of each candidate entity, whatever path leads to it: columns 0 to 6 of ``out``.

    log counts of (r_q, o): in all, and near t_q at three scales; log degree; concept fit; ever an object of r_q.
    """
    for i in range(low, high):
        q = query[i]
        node = entity[i]
        place = _place(keys, np.int64(relation[q]) * entities + node)
        if place >= 0:
            first, end = key_offsets[place], key_offsets[place + 1]
            out[i, 0] = np.log1p(end - first)
            for s in range(3):
                out[i, 1 + s] = np.log(_activity(key_times, first, end, now[q], scales[s]) + 0.01) + 4.6
            out[i, 6] = 1.0
        out[i, 4] = np.log1p(degree[node])
        total = 0.0
        for c in range(concept_offsets[node], concept_offsets[node + 1]):
            total += concept_probability[relation[q], concept_ids[c]]
        out[i, 5] = total


@njit(cache=True, nogil=True)
def hash_rules(first: Ints, second: Ints, asked: Ints, relations: int, slots: int, out: Longs) -> None:
    """``rule_slot`` for every second step, [states, actions]."""
    for i in range(second.shape[0]):
        for a in range(second.shape[1]):
            out[i, a] = rule_slot(first[i], second[i, a], asked[i], relations, slots)


@njit(cache=True, nogil=True)
def multiplicity(values: Ints, out: Floats) -> None:
    """How often each value stands in its row."""
    for i in range(values.shape[0]):
        for a in range(values.shape[1]):
            total = 0
            for b in range(values.shape[1]):
                total += values[i, a] == values[i, b]
            out[i, a] = total
