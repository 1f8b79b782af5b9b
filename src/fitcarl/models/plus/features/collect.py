"""Candidates of a query: the entities with any evidence, the most promising of which are shortlisted."""

from __future__ import annotations

import math

import numpy as np

from fitcarl.core.compiled import loop
from fitcarl.core.sorting import keep_smallest, sort_by_score
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
    Preselection,
    QueryBatch,
    SearchStatistics,
)
from fitcarl.models.plus.kernels import Floats, Ints, Longs

POOLED_CANDIDATES = 2000
"""Candidates of a query that a pooled encoder scores, besides those that it lists."""


@loop(inner=True)
def _support_direction(queries: QueryBatch, q: int, embedding: Floats, out: Floats) -> None:
    """The mean embedding of the support entities, scaled to length 1."""
    for z in range(len(out)):
        out[z] = 0
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        for z in range(len(out)):
            out[z] += embedding[queries.support_entity[k], z]
    squares = 0.0
    for z in range(len(out)):
        squares += out[z] * out[z]
    for z in range(len(out)):
        out[z] /= math.sqrt(squares) + 1e-6


@loop(inner=True)
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


@loop(inner=True)
def _score_candidates(
    queries: QueryBatch,
    q: int,
    base: EdgeColumns,
    preselection: Preselection,
    found: Workspace,
) -> None:
    """Preselection scores of all candidates, with the values of the encoder unless these are NaN; -inf for others."""
    for i in range(found.used[0]):
        found.score[i] = -np.inf
        x = found.entity[i]
        if found.state[i] != NOT_LISTED and x != queries.entity[q]:
            first, end = visible_edges(base, q, x, queries.visible_before[q])
            log_prob = found.log_probs[i, WITH_EVENTS]
            found.score[i] = _preselection_score(end - first, log_prob, found.acc, i, preselection)


@loop(inner=True)
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
    for i in range(found.used[0]):
        found.log_probs[i, WITH_EVENTS] = np.nan
    _score_candidates(queries, q, base, preselection, found)
    if found.used[0] > POOLED_CANDIDATES:
        for i in range(found.used[0]):
            found.against[i] = -found.score[i]
        limit = keep_smallest(found.against, found.used[0], POOLED_CANDIDATES + 1)
        for i in range(found.used[0]):
            if -found.score[i] > limit:
                found.state[i] = NOT_LISTED
    from_encoder(encoder, q, queries.entity[q], found)


@loop(inner=True)
def best_first(score: Floats, count: int, size: int, against: Floats, order: Longs) -> int:
    """Fills ``order`` with the positions of the ``size`` highest scores, highest first, then all others in order.

    Args:
        score: float64; -inf is left out.
        count: Number of scores.
        size: Number of scores that are sorted; of equal ones the first are.
        against: float64 [count], overwritten.
        order: int64 [count], out.

    Returns:
        The number of positions.
    """
    limit, below = np.inf, 0
    if count > size:
        for i in range(count):
            against[i] = -score[i]
        limit = keep_smallest(against, count, size + 1)
    for i in range(count):
        below += -score[i] < limit
    found = tops = 0
    for wanted in range(2):  # the highest scores, then the others
        spare = size - below  # free places for scores equal to the limit
        for i in range(count):
            if score[i] == -np.inf:
                continue
            is_top = -score[i] < limit or (-score[i] == limit and spare > 0)
            spare -= is_top and -score[i] == limit
            if is_top == (wanted == 0):
                order[found] = i
                found += 1
        if wanted == 0:
            tops = found
    sort_by_score(order, tops, score)
    return found


@loop(inner=True)
def _sample_tail(order: Longs, count: int, listed: Ints, answer: int, size: int, sampled: int, seed: int) -> None:
    """Moves a random sample of the candidates after the first ``size`` to the front of that tail.

    The answer, if it is in the tail, is always in the sample.
    """
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    for i in range(size, size + sampled):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        j = i + np.int64((state >> np.uint64(33)) % np.uint64(count - i))
        order[i], order[j] = order[j], order[i]
    for i in range(size + sampled, count):
        if listed[order[i]] == answer:
            last = size + sampled - 1
            order[last], order[i] = order[i], order[last]


@loop(inner=True)
def _find_candidates(
    queries: QueryBatch,
    q: int,
    base: EdgeColumns,
    overlay: EdgeColumns,
    statistics: SearchStatistics,
    encoder: EncoderScores,
    found: Workspace,
) -> None:
    """The candidates of one query from all sources."""
    rates, objects, decay = statistics.rates, statistics.objects, statistics.decay
    units, relations = statistics.units_per_tick, rates.pair_rate.shape[0]
    large = is_large_relation(queries, q, objects, statistics.max_objects)
    from_support(queries, q, rates, units, found)
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        from_neighbours(queries, q, k, base, rates, units, found)
        from_neighbours(queries, q, k, overlay, rates, units, found)
    # Before similar entities, whose features depend on which objects of r_q are candidates already.
    if large:
        from_large_relation(queries, q, objects, statistics.relation_events, found)
    else:
        from_relation(queries, q, objects, decay, found)
    from_similar_entities(queries, q, base, relations, units, found, not large)
    _support_direction(queries, q, statistics.embedding, found.direction)
    from_same_day(queries, q, statistics.events, statistics.embedding, units, found)
    from_encoder(encoder, q, queries.entity[q], found)
    if large:
        complete_large_relation(queries, q, objects, decay, found)


@loop()
def collect(
    low: int,
    high: int,
    queries: QueryBatch,
    base: EdgeColumns,
    overlay: EdgeColumns,
    statistics: SearchStatistics,
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
    for q in range(low, high):
        _find_candidates(queries, q, base, overlay, statistics, encoder, found)
        if encoder.pooled.answer.shape[0] > 0:
            _keep_likely(queries, q, base, encoder, preselection, found)
        encoder_values(encoder, queries, q, base, found, found.log_probs)
        _score_candidates(queries, q, base, preselection, found)
        order = found.order
        number = best_first(found.score, found.used[0], size, found.against, order)
        counts[q] = min(number, size + sampled)
        if sampled > 0 and number > size + sampled:
            _sample_tail(order, number, found.entity, queries.answer[q], size, sampled, seed + q)
            represented = math.log((number - size) / sampled)
            for i in range(size, counts[q]):
                weight[q, i] = 0.0 if found.entity[order[i]] == queries.answer[q] else represented
        for i in range(counts[q]):
            entity[q, i] = found.entity[order[i]]
            for j in range(found.acc.shape[1]):
                accumulators[q, i, j] = found.acc[order[i], j]
            for j in range(found.log_probs.shape[1]):
                log_probs[q, i, j] = found.log_probs[order[i], j]
        clear(found)
