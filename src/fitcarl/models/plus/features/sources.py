"""Feature values that are looked up per candidate or per query rather than accumulated.

A source function takes the inputs and a range of queries, and returns named values, float64 [candidates of the range].
NaN means that the value does not exist for the candidate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from fitcarl.core.arrays import read_only
from fitcarl.core.compiled import array_function, loop
from fitcarl.graph.kernels import EdgeColumns, inverse_relation, lower_bound, visible_edges
from fitcarl.models.plus.features.accumulate import Accumulator
from fitcarl.models.plus.features.inputs import DECAY_SCALES, FeatureInputs, NameColumns, QueryBatch
from fitcarl.models.plus.gaps import gap_bucket
from fitcarl.models.plus.kernels import (
    NO_PAIR_RATE,
    ConceptColumns,
    Floats,
    Ints,
    Longs,
    ObjectColumns,
    count_objects,
    find_pair,
    visible_times,
)

Values = Mapping[str, Floats]

EDGES_PER_SIDE = 60
"""Edges of a candidate before and after t_q that are read."""
_1, _7, _60 = (DECAY_SCALES.index(scale) for scale in (1.0, 7.0, 60.0))


def linked_facts(inputs: FeatureInputs, low: int, high: int) -> Values:
    """The share of the support facts that lead to the candidate."""
    facts = np.repeat(np.diff(inputs.queries.offsets)[low:high], np.diff(inputs.offsets)[low:high])
    linked = inputs.accumulators[inputs.offsets[low] : inputs.offsets[high], Accumulator.LINKED_FACTS]
    return {"linked_share": linked / facts}


def inverse_popularity(inputs: FeatureInputs, low: int, high: int) -> Values:
    """The number of facts of the candidate with r_q in the other direction."""
    (count,) = _blank(inputs, low, high, 1)
    search = inputs.statistics.search
    asked = low, high, inputs.queries, search.objects, len(search.rates.pair_rate)
    _inverse_count(*asked, inputs.offsets, inputs.entity, count)
    return {"inverse_count": count}


def candidate_activity(inputs: FeatureInputs, low: int, high: int) -> Values:
    """Edges of the candidate: all of them, and decayed around t_q at three time scales."""
    degree, short, medium, long, excited = _blank(inputs, low, high, 5)
    search = inputs.statistics.search
    _activity(
        *(low, high, inputs.queries, inputs.base, inputs.statistics.excitation_rate, search.decay),
        *(search.units_per_tick, inputs.offsets, inputs.entity),
        *(degree, short, medium, long, excited),
    )
    return {"degree": degree, "activity_1": short, "activity_7": medium, "activity_60": long, "excitation": excited}


def candidate_concepts(inputs: FeatureInputs, low: int, high: int) -> Values:
    """The highest P(c | r_q) of the candidate's concepts."""
    (fit,) = _blank(inputs, low, high, 1)
    concepts = inputs.statistics.concepts
    if len(concepts.ids):
        _concept_fit(low, high, inputs.queries.relation, concepts, inputs.offsets, inputs.entity, fit)
    return {"concept_fit": fit}


def support_similarity(inputs: FeatureInputs, low: int, high: int) -> Values:
    """Cosine similarity between the candidate and the support entities (spectral embedding): maximum and mean."""
    best, mean = _blank(inputs, low, high, 2)
    support = inputs.queries.offsets, inputs.queries.support_entity
    embedding = inputs.statistics.search.embedding
    _similarity(low, high, *support, embedding, inputs.offsets, inputs.entity, best, mean)
    return {"similarity_max": best, "similarity_mean": mean}


def profile_product(inputs: FeatureInputs, low: int, high: int) -> Values:
    """The approximation of log(1 + count) of (r_q, candidate) by low-rank factors."""
    (product,) = _blank(inputs, low, high, 1)
    factors = inputs.statistics.entity_factors, inputs.statistics.relation_factors
    _profile(low, high, inputs.queries.relation, *factors, inputs.offsets, inputs.entity, product)
    return {"relation_profile": product}


def encoder_log_probs(inputs: FeatureInputs, low: int, high: int) -> Values:
    """Log-probabilities of the encoder; NaN without an encoder."""
    values = inputs.encoder[inputs.offsets[low] : inputs.offsets[high]].astype(np.float64)
    return {"encoder_support_only": values[:, 0], "encoder_with_events": values[:, 1]}


def name_overlap(inputs: FeatureInputs, low: int, high: int) -> Values:
    """What the names of the candidate, the query entity and the support entities have in common."""
    query_words, support_words = _blank(inputs, low, high, 2)
    names = inputs.statistics.names
    if not len(names.word_ids):  # names are not used
        none = np.full_like(query_words, np.nan)
        places = {"same_place": none, "support_place_share": query_words, "place_affinity": none, "role_fit": none}
        return {"query_words": query_words, "support_words": support_words, **places}
    given = low, high, inputs.queries, names, inputs.offsets, inputs.entity
    _shared_words(*given, query_words, support_words)
    same, share, affinity, role = _blank(inputs, low, high, 4)
    _places(*given, same, share, affinity, role)
    return {
        "query_words": query_words,
        "support_words": support_words,
        "same_place": same,
        "support_place_share": share,
        "place_affinity": affinity,
        "role_fit": role,
    }


def query_values(inputs: FeatureInputs, low: int, high: int) -> Values:
    """Values that are the same for all candidates of a query: size, age and fit of the support, and size of r_q."""
    gap, facts, fit, degree = (np.empty(high - low) for _ in range(4))
    queries, search = inputs.queries, inputs.statistics.search
    asked = read_only(np.arange(low, high)), queries.relation[low:high], queries.visible_before[low:high]
    objects = count_objects(search.objects, *asked)
    given = low, high, queries, inputs.base, search.rates.pair_rate, search.units_per_tick
    _query(*given, gap, facts, fit, degree)
    values = {
        "support_gap": gap,
        "support_size": facts,
        "relation_objects": objects,
        "support_relation_fit": fit,
        "neighbour_degree": degree,
    }
    candidates = np.diff(inputs.offsets)[low:high]
    return {name: np.repeat(value, candidates) for name, value in values.items()}


def _blank(inputs: FeatureInputs, low: int, high: int, count: int) -> Floats:
    return np.zeros((count, int(inputs.offsets[high] - inputs.offsets[low])))


@loop()
def _inverse_count(
    low: int,
    high: int,
    queries: QueryBatch,
    objects: ObjectColumns,
    relations: int,
    offsets: Longs,
    entity: Ints,
    out: Floats,
) -> None:
    for q in range(low, high):
        relation = inverse_relation(queries.relation[q], relations)
        for i in range(offsets[q], offsets[q + 1]):
            position = find_pair(objects, relation, entity[i])
            if position >= 0:
                begin, finish = visible_times(objects, q, position, queries.visible_before[q])
                out[i - offsets[low]] = finish - begin


@loop()
def _activity(
    low: int,
    high: int,
    queries: QueryBatch,
    graph: EdgeColumns,
    excitation_rate: Floats,
    decay: Floats,
    units_per_tick: float,
    offsets: Longs,
    entity: Ints,
    degree: Floats,
    short: Floats,
    medium: Floats,
    long: Floats,
    excited: Floats,
) -> None:
    """Edges of each candidate around t_q, those with the query entity excluded, and their excitation of r_q."""
    relations = excitation_rate.shape[0]
    for q in range(low, high):
        r, now, e = queries.relation[q], queries.time[q], queries.entity[q]
        for i in range(offsets[q], offsets[q + 1]):
            row = i - offsets[low]
            first, end = visible_edges(graph, q, entity[i], queries.visible_before[q])
            degree[row] = end - first
            here = lower_bound(graph.time, first, end, now)
            for a in range(max(first, here - EDGES_PER_SIDE), min(end, here + EDGES_PER_SIDE)):
                if graph.target[a] == e:
                    continue
                gap = now - graph.time[a]
                size = min(abs(gap), len(decay) - 1)
                short[row] += decay[size, _1]
                medium[row] += decay[size, _7]
                long[row] += decay[size, _60]
                bucket = gap_bucket(gap * units_per_tick)
                excited[row] += excitation_rate[r, bucket, inverse_relation(graph.relation[a], relations)]


@loop()
def _concept_fit(
    low: int, high: int, relation: Ints, concepts: ConceptColumns, offsets: Longs, entity: Ints, out: Floats
) -> None:
    for q in range(low, high):
        for i in range(offsets[q], offsets[q + 1]):
            x, fit = entity[i], 0.0
            for c in range(concepts.offsets[x], concepts.offsets[x + 1]):
                fit = max(fit, concepts.probability[relation[q], concepts.ids[c]])
            out[i - offsets[low]] = fit


@loop()
def _similarity(
    low: int,
    high: int,
    support_offsets: Longs,
    support_entity: Ints,
    embedding: Floats,
    offsets: Longs,
    entity: Ints,
    best: Floats,
    mean: Floats,
) -> None:
    for q in range(low, high):
        first, end = support_offsets[q], support_offsets[q + 1]
        for i in range(offsets[q], offsets[q + 1]):
            row = i - offsets[low]
            best[row] = -1.0
            for k in range(first, end):
                cosine = 0.0
                for z in range(embedding.shape[1]):
                    cosine += embedding[support_entity[k], z] * embedding[entity[i], z]
                best[row] = max(best[row], cosine)
                mean[row] += cosine / (end - first)


@loop()
def _profile(
    low: int,
    high: int,
    relation: Ints,
    entity_factors: Floats,
    relation_factors: Floats,
    offsets: Longs,
    entity: Ints,
    out: Floats,
) -> None:
    for q in range(low, high):
        for i in range(offsets[q], offsets[q + 1]):
            product = 0.0
            for z in range(entity_factors.shape[1]):
                product += entity_factors[entity[i], z] * relation_factors[relation[q], z]
            out[i - offsets[low]] = max(product, 0.0)


@loop(inner=True)
def _mark_words(x: int, names: NameColumns, value: float, mark: Floats) -> None:
    for w in range(names.word_offsets[x], names.word_offsets[x + 1]):
        mark[names.word_ids[w]] = value


@loop(inner=True)
def _marked_share(x: int, names: NameColumns, mark: Floats) -> float:
    """The share of the weight of an entity's words that is marked."""
    shared, total = 0.0, 1e-6
    for w in range(names.word_offsets[x], names.word_offsets[x + 1]):
        word = names.word_ids[w]
        total += names.word_weight[word]
        shared += names.word_weight[word] * mark[word]
    return shared / total


@array_function()
def _shared_words(
    low: int,
    high: int,
    queries: QueryBatch,
    names: NameColumns,
    offsets: Longs,
    entity: Ints,
    query_words: Floats,
    support_words: Floats,
) -> None:
    """The share of the candidate's words that the query entity has, and that the support entities have."""
    own, support = np.zeros(len(names.word_weight)), np.zeros(len(names.word_weight))
    for q in range(low, high):
        _mark_words(queries.entity[q], names, 1.0, own)
        for k in range(queries.offsets[q], queries.offsets[q + 1]):
            _mark_words(queries.support_entity[k], names, 1.0, support)
        for i in range(offsets[q], offsets[q + 1]):
            query_words[i - offsets[low]] = _marked_share(entity[i], names, own)
            support_words[i - offsets[low]] = _marked_share(entity[i], names, support)
        _mark_words(queries.entity[q], names, 0.0, own)
        for k in range(queries.offsets[q], queries.offsets[q + 1]):
            _mark_words(queries.support_entity[k], names, 0.0, support)


@loop(inner=True)
def _query_place(queries: QueryBatch, q: int, names: NameColumns) -> int:
    """The place in the name of e' or, if it has none, the most frequent one of the support entities; -1 for none.

    Of equally frequent places it is the one with the lowest id, so that the order of the support facts does not matter.
    """
    place = names.place[queries.entity[q]]
    most = 0
    if place >= 0:
        return place
    for k in range(queries.offsets[q], queries.offsets[q + 1]):
        candidate, times = names.place[queries.support_entity[k]], 0
        for other in range(queries.offsets[q], queries.offsets[q + 1]):
            times += names.place[queries.support_entity[other]] == candidate
        if candidate >= 0 and (times > most or (times == most and candidate < place)):
            place, most = candidate, times
    return place


@loop()
def _places(
    low: int,
    high: int,
    queries: QueryBatch,
    names: NameColumns,
    offsets: Longs,
    entity: Ints,
    same: Floats,
    share: Floats,
    affinity: Floats,
    role: Floats,
) -> None:
    """Whether the candidate has the place of e', the share of support entities that do, and the fit of both."""
    for q in range(low, high):
        home = _query_place(queries, q, names)
        first, end = queries.offsets[q], queries.offsets[q + 1]
        for i in range(offsets[q], offsets[q + 1]):
            row = i - offsets[low]
            place = names.place[entity[i]]
            same[row] = affinity[row] = role[row] = np.nan
            if place >= 0 and home >= 0:
                same[row] = 1 if place == home else -1
                affinity[row] = names.affinity[home, place]
            if place >= 0:
                for k in range(first, end):
                    share[row] += (names.place[queries.support_entity[k]] == place) / (end - first)
            if names.role[entity[i]] >= 0:
                role[row] = names.role_fit[queries.relation[q], names.role[entity[i]]]


@loop()
def _query(
    low: int,
    high: int,
    queries: QueryBatch,
    graph: EdgeColumns,
    pair_rate: Floats,
    units_per_tick: float,
    gap: Floats,
    facts: Floats,
    fit: Floats,
    degree: Floats,
) -> None:
    for q in range(low, high):
        r, row = queries.relation[q], q - low
        first, end = queries.offsets[q], queries.offsets[q + 1]
        fit[row], gap[row], total = NO_PAIR_RATE, np.inf, 0.0
        for k in range(first, end):
            fit[row] = max(fit[row], pair_rate[queries.support_relation[k], r])
            gap[row] = min(gap[row], abs(queries.time[q] - queries.support_time[k]) * units_per_tick)
            low_edge, high_edge = visible_edges(graph, q, queries.support_entity[k], queries.visible_before[q])
            total += math.log1p(high_edge - low_edge)
        facts[row] = end - first
        degree[row] = total / (end - first)
