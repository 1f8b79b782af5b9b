"""Candidates of a query: the entities with any evidence, the most promising of which are shortlisted."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fitcarl.graph.kernels import EdgeColumns, visible_edges
from fitcarl.models.plus.features.accumulate import (
    from_encoder,
    from_neighbours,
    from_relation,
    from_same_day,
    from_similar_entities,
    from_support,
)
from fitcarl.models.plus.features.inputs import (
    MIN_ENCODER_LOGPROB,
    EncoderScores,
    KernelStatistics,
    Preselection,
    QueryBatch,
)
from fitcarl.models.plus.kernels import Floats, Ints, Longs


@njit(cache=True, nogil=True)
def _support_direction(queries: QueryBatch, q: int, statistics: KernelStatistics, out: Floats) -> None:
    """The mean embedding of the support entities, scaled to length 1."""
    out[:] = 0
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        for z in range(len(out)):
            out[z] += statistics.embedding[queries.support_entity[k], z]
    length = math.sqrt((out * out).sum()) + 1e-6
    out /= length


@njit(cache=True, nogil=True)
def _preselection_score(
    x: int, q: int, before: int, graph: EdgeColumns, encoder: EncoderScores, acc: Floats, preselection: Preselection
) -> float:
    """A linear score of features that need no further lookup; it decides which candidates are shortlisted."""
    low, high = visible_edges(graph, q, x, before)
    score = preselection.degree * math.log(1.0 + high - low)
    for j in range(len(preselection.accumulator)):
        value = acc[x, preselection.accumulator[j]]
        score += preselection.weight[j] * math.log(value + preselection.epsilon[j])
    if encoder.with_events.shape[1] > 0:
        score += preselection.encoder * max(encoder.with_events[q, x], MIN_ENCODER_LOGPROB)
    return score


@njit(cache=True, nogil=True)
def best_first(score: Floats, size: int) -> Longs:
    """Positions of the ``size`` highest scores, highest first, then all others in order; -inf is left out."""
    against = -score
    limit = np.partition(against, size)[size] if len(score) > size else np.inf
    spare = size - (against < limit).sum()  # free places for scores equal to the limit
    top, rest = np.empty(len(score), dtype=np.int64), np.empty(len(score), dtype=np.int64)
    tops = rests = 0
    for i in range(len(score)):
        if score[i] == -np.inf:
            continue
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
def _sample_tail(order: Longs, listed: Ints, answer: int, size: int, sampled: int, seed: int) -> None:
    """Moves a random sample of the candidates after the first ``size`` to the front of that tail.

    The answer, if it is in the tail, is always in the sample.
    """
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    for i in range(size, size + sampled):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        j = i + np.int64((state >> np.uint64(33)) % np.uint64(len(order) - i))
        order[i], order[j] = order[j], order[i]
    for i in range(size + sampled, len(order)):
        if listed[order[i]] == answer:
            last = size + sampled - 1
            order[last], order[i] = order[i], order[last]


@njit(cache=True, nogil=True)
def collect(
    low: int,
    high: int,
    queries: QueryBatch,
    base: EdgeColumns,
    overlay: EdgeColumns,
    statistics: KernelStatistics,
    encoder: EncoderScores,
    preselection: Preselection,
    size: int,
    sampled: int,
    seed: int,
    counts: Longs,
    entity: Ints,
    weight: Floats,
    accumulators: Floats,
) -> None:
    """Shortlists the candidates of queries low to high, and copies what was accumulated for them.

    If ``sampled`` is not 0, that many of the remaining candidates are drawn at random; each represents several, and
    ``weight`` is the log of that number. The answer, if it is known and among the candidates, represents itself.
    """
    entities = len(base.offsets) - 1
    acc = np.zeros((entities, accumulators.shape[2]), dtype=np.float32)
    seen = np.zeros(entities, dtype=np.bool_)
    listed = np.empty(entities, dtype=np.int32)
    direction = np.zeros(statistics.embedding.shape[1], dtype=np.float64)
    for q in range(low, high):
        e = queries.entity[q]
        found = from_support(queries, q, statistics, acc, seen, listed, 0)
        for k in range(queries.offsets[q], queries.offsets[q + 1]):
            found = from_neighbours(queries, q, k, base, statistics, acc, seen, listed, found)
            found = from_neighbours(queries, q, k, overlay, statistics, acc, seen, listed, found)
        # Before similar entities, whose features depend on which objects of r_q are candidates already.
        found = from_relation(queries, q, statistics, acc, seen, listed, found)
        found = from_similar_entities(queries, q, base, statistics, acc, seen, listed, found)
        _support_direction(queries, q, statistics, direction)
        found = from_same_day(queries, q, statistics, direction, acc, seen, listed, found)
        found = from_encoder(encoder, q, e, seen, listed, found)

        score = np.empty(found)
        for i in range(found):
            score[i] = -np.inf
            if listed[i] != e:
                before = queries.visible_before[q]
                score[i] = _preselection_score(listed[i], q, before, base, encoder, acc, preselection)
        order = best_first(score, size)
        counts[q] = min(len(order), size + sampled)
        if sampled > 0 and len(order) > size + sampled:
            _sample_tail(order, listed, queries.answer[q], size, sampled, seed + q)
            represented = math.log((len(order) - size) / sampled)
            for i in range(size, counts[q]):
                weight[q, i] = 0.0 if listed[order[i]] == queries.answer[q] else represented
        for i in range(counts[q]):
            entity[q, i] = listed[order[i]]
            accumulators[q, i] = acc[listed[order[i]]]
        for i in range(found):
            seen[listed[i]] = False
            acc[listed[i]] = 0
