"""All the evidence for the answers to a query: who is looked at closely, and what speaks for each of them."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fitcarl.models.plus.features.accumulate import (
    EDGES,
    EVER,
    FOLLOWS,
    MET,
    MET_20,
    NEAR,
    PEERS,
    RULES,
    TALLIES,
    TODAY,
    Edges,
    EncoderScores,
    Floats,
    Ints,
    KernelStatistics,
    Longs,
    QueryBatch,
    from_crowd,
    from_day,
    from_encoder,
    from_neighbours,
    from_peers,
    from_support,
)
from fitcarl.models.plus.features.normalise import describe, describe_query, home_of, mark_words


@njit(cache=True, nogil=True)
def _company(asked: QueryBatch, q: int, counts: KernelStatistics, out: Floats) -> None:
    """The mean direction of the support's entities, of length 1."""
    out[:] = 0
    for k in range(asked.offsets[q], asked.offsets[q + 1]):
        for z in range(len(out)):
            out[z] += counts.similar[asked.support_entity[k], z]
    length = math.sqrt((out * out).sum()) + 1e-6
    out /= length


@njit(cache=True, nogil=True)
def _prior(x: int, q: int, graph: Edges, encoded: EncoderScores, tally: Floats) -> float:
    """A rough score by hand that decides who is looked at closely."""
    likely = math.exp(encoded.whole[q, x]) if encoded.whole.shape[1] > 0 else 0.0
    return (
        20 * tally[x, FOLLOWS]
        + 2 * tally[x, EVER]
        + 30 * tally[x, NEAR]
        + 10 * tally[x, RULES] / (1 + tally[x, EDGES])
        + 0.02 * math.log1p(tally[x, MET])
        + 0.05 * math.log1p(tally[x, MET_20])
        + 0.3 * tally[x, PEERS]
        + 0.01 * math.log1p(graph.offsets[x + 1] - graph.offsets[x])
        + 0.02 * math.log1p(tally[x, TODAY])
        + 10 * likely
    )


@njit(cache=True, nogil=True)
def _best_first(prior: Floats, most: int) -> Longs:
    """The places of the highest, highest first, then all others as they come; a negative one is left out."""
    against = -prior
    limit = np.partition(against, most)[most] if len(prior) > most else np.inf
    spare = most - (against < limit).sum()  # places for those at the limit
    top, rest = np.empty(len(prior), dtype=np.int64), np.empty(len(prior), dtype=np.int64)
    tops = rests = 0
    for i in range(len(prior)):
        if prior[i] < 0:
            continue  # nobody answers with itself
        if against[i] < limit or (against[i] == limit and spare > 0):
            spare -= against[i] == limit
            top[tops] = i
            tops += 1
        else:
            rest[rests] = i
            rests += 1
    top = top[:tops]
    top = top[np.argsort(against[top], kind="mergesort")]
    return np.concatenate((top, rest[:rests]))


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
    asked: QueryBatch,
    base: Edges,
    over: Edges,
    counts: KernelStatistics,
    encoded: EncoderScores,
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
    tally = np.zeros((entities, TALLIES), dtype=np.float32)
    seen = np.zeros(entities, dtype=np.bool_)
    listed = np.empty(entities, dtype=np.int32)
    company = np.zeros(counts.similar.shape[1], dtype=np.float64)
    about, busy = np.zeros(5, dtype=np.float64), np.zeros(4, dtype=np.float64)
    own_words, company_words = np.zeros(len(counts.word_weight)), np.zeros(len(counts.word_weight))
    for q in range(low, high):
        e = asked.entity[q]
        met = from_support(asked, q, counts, tally, seen, listed, 0)
        for k in range(asked.offsets[q], asked.offsets[q + 1]):
            met = from_neighbours(asked, q, k, base, counts, tally, seen, listed, met)
            met = from_neighbours(asked, q, k, over, counts, tally, seen, listed, met)
        met = from_peers(asked, q, base, counts, tally, seen, listed, met)
        met = from_crowd(asked, q, counts, tally, seen, listed, met)
        _company(asked, q, counts, company)
        met = from_day(asked, q, counts, company, tally, seen, listed, met)
        met = from_encoder(encoded, q, e, seen, listed, met)

        prior = np.empty(met)
        for i in range(met):
            prior[i] = _prior(listed[i], q, base, encoded, tally) if listed[i] != e else -1.0
        order = _best_first(prior, most)
        count = min(len(order), most + extra)
        if extra > 0 and len(order) > most + extra:
            _sample_tail(order, listed, asked.answer[q], most, extra, seed + q)
            for i in range(most, count):
                stands_for = (len(order) - most) / extra
                weight[q, i] = 0.0 if listed[order[i]] == asked.answer[q] else math.log(stands_for)
        size[q] = count

        describe_query(asked, q, base, counts, about)
        home = home_of(asked, q, counts)
        mark_words(e, counts, 1.0, own_words)
        for k in range(asked.offsets[q], asked.offsets[q + 1]):
            mark_words(asked.support_entity[k], counts, 1.0, company_words)
        for i in range(count):
            x = listed[order[i]]
            entity[q, i] = x
            describe(
                *(x, asked, q, base, counts, encoded, tally, about, busy),
                *(own_words, company_words, home, features[q, i]),
            )
        mark_words(e, counts, 0.0, own_words)
        for k in range(asked.offsets[q], asked.offsets[q + 1]):
            mark_words(asked.support_entity[k], counts, 0.0, company_words)
        for i in range(met):
            seen[listed[i]] = False
            tally[listed[i]] = 0
