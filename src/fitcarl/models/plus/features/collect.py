"""Candidates of a query: the entities with any evidence, the most promising of which are shortlisted."""

from __future__ import annotations

import math

import numpy as np

from fitcarl.core.compiled import array_function, loop
from fitcarl.graph.kernels import EdgeColumns, visible_edges
from fitcarl.models.plus.features.accumulate import (
    NOT_LISTED,
    Workspace,
    clear,
    complete_large_relation,
    from_encoder,
    from_large_relation,
    from_neighbours,
    from_relation,
    from_same_day,
    from_similar_entities,
    from_support,
    is_large_relation,
)
from fitcarl.models.plus.features.encoder_values import WITH_EVENTS, encoder_values
from fitcarl.models.plus.features.inputs import (
    MIN_ENCODER_LOGPROB,
    EncoderScores,
    KernelStatistics,
    Preselection,
    QueryBatch,
)
from fitcarl.models.plus.kernels import Floats, Ints, Longs

POOLED_CANDIDATES = 2000
"""Candidates of a query that a pooled encoder scores, besides those that it lists."""


@loop()
def _support_direction(queries: QueryBatch, q: int, statistics: KernelStatistics, out: Floats) -> None:
    """The mean embedding of the support entities, scaled to length 1."""
    for z in range(len(out)):
        out[z] = 0
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        for z in range(len(out)):
            out[z] += statistics.embedding[queries.support_entity[k], z]
    squares = 0.0
    for z in range(len(out)):
        squares += out[z] * out[z]
    for z in range(len(out)):
        out[z] /= math.sqrt(squares) + 1e-6


@loop()
def _preselection_score(degree: int, log_prob: float, acc: Floats, slot: int, preselection: Preselection) -> float:
    """A linear score of features that need no further lookup; it decides which candidates are shortlisted."""
    score = preselection.degree * math.log(1.0 + degree)
    for j in range(len(preselection.accumulator)):
        value = acc[slot, preselection.accumulator[j]]  # mostly 0, whose logarithm is known
        log = math.log(value + preselection.epsilon[j]) if value != 0 else preselection.log_epsilon[j]
        score += preselection.weight[j] * log
    if not math.isnan(log_prob):
        score += preselection.encoder * max(log_prob, MIN_ENCODER_LOGPROB)
    return score


@loop()
def _score_candidates(
    queries: QueryBatch,
    q: int,
    base: EdgeColumns,
    found: Workspace,
    preselection: Preselection,
    values: Floats,
    out: Floats,
) -> None:
    """Preselection scores of all candidates; -inf for other entities. ``values`` may have no columns."""
    for i in range(found.used[0]):
        out[i] = -np.inf
        x = found.entity[i]
        if found.state[i] != NOT_LISTED and x != queries.entity[q]:
            first, end = visible_edges(base, q, x, queries.visible_before[q])
            log_prob = values[i, WITH_EVENTS] if values.shape[1] else math.nan
            out[i] = _preselection_score(end - first, log_prob, found.acc, i, preselection)


@array_function()
def _keep_likely(
    queries: QueryBatch,
    q: int,
    base: EdgeColumns,
    encoder: EncoderScores,
    preselection: Preselection,
    found: Workspace,
) -> None:
    """Keeps the candidates with the best preselection score without the encoder, and those that the encoder lists.

    The values of a pooled encoder are computed per candidate, and cost more than all else.
    """
    score = np.empty(found.used[0])
    _score_candidates(queries, q, base, found, preselection, np.empty((0, 0), dtype=np.float32), score)
    if len(score) > POOLED_CANDIDATES:
        limit = np.partition(-score, POOLED_CANDIDATES)[POOLED_CANDIDATES]
        for i in range(found.used[0]):
            if -score[i] > limit:
                found.state[i] = NOT_LISTED
    from_encoder(encoder, q, queries.entity[q], found)


@array_function()
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


@array_function()
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


@loop()
def _find_candidates(
    queries: QueryBatch,
    q: int,
    base: EdgeColumns,
    overlay: EdgeColumns,
    statistics: KernelStatistics,
    encoder: EncoderScores,
    direction: Floats,
    found: Workspace,
) -> None:
    """The candidates of one query from all sources."""
    large = is_large_relation(queries, q, statistics)
    from_support(queries, q, statistics, found)
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        from_neighbours(queries, q, k, base, statistics, found)
        from_neighbours(queries, q, k, overlay, statistics, found)
    # Before similar entities, whose features depend on which objects of r_q are candidates already.
    if large:
        from_large_relation(queries, q, statistics, found)
    else:
        from_relation(queries, q, statistics, found)
    from_similar_entities(queries, q, base, statistics, found, not large)
    _support_direction(queries, q, statistics, direction)
    from_same_day(queries, q, statistics, direction, found)
    from_encoder(encoder, q, queries.entity[q], found)
    if large:
        complete_large_relation(queries, q, statistics, found)


@array_function()
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
    found: Workspace,
    counts: Longs,
    entity: Ints,
    weight: Floats,
    accumulators: Floats,
    log_probs: Floats,
) -> None:
    """Shortlists the candidates of queries low to high, and copies what was accumulated for them.

    If ``sampled`` is not 0, that many of the remaining candidates are drawn at random; each represents several, and
    ``weight`` is the log of that number. The answer, if it is known and among the candidates, represents itself.
    """
    direction = np.zeros(statistics.embedding.shape[1], dtype=np.float32)
    for q in range(low, high):
        _find_candidates(queries, q, base, overlay, statistics, encoder, direction, found)
        if encoder.pooled.answer.shape[0] > 0:
            _keep_likely(queries, q, base, encoder, preselection, found)
        values = np.empty((found.used[0], 2), dtype=np.float32)
        encoder_values(encoder, queries, q, base, found, values)
        score = np.empty(found.used[0])
        _score_candidates(queries, q, base, found, preselection, values, score)
        order = best_first(score, size)
        counts[q] = min(len(order), size + sampled)
        if sampled > 0 and len(order) > size + sampled:
            _sample_tail(order, found.entity, queries.answer[q], size, sampled, seed + q)
            represented = math.log((len(order) - size) / sampled)
            for i in range(size, counts[q]):
                weight[q, i] = 0.0 if found.entity[order[i]] == queries.answer[q] else represented
        for i in range(counts[q]):
            entity[q, i] = found.entity[order[i]]
            accumulators[q, i] = found.acc[order[i]]
            log_probs[q, i] = values[order[i]]
        clear(found)
