"""Compiled loops of model ``plus``: counting on the background, and features of path actions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.compiled import array_function, loop
from fitcarl.graph.kernels import EdgeColumns, PatchColumns, inverse_relation, lower_bound, patched_range, visible_edges
from fitcarl.models.plus.gaps import BUCKETS, gap_bucket

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bytes = NDArray[np.int8]


class ObjectColumns(NamedTuple):
    """The pairs (r, o) of relations and their objects, and the times of their facts; see ``GraphStatistics``."""

    relation_offsets: Longs
    object_entity: Ints
    object_first: Ints
    object_offsets: Longs
    object_times: Ints
    object_patches: PatchColumns


class ConceptColumns(NamedTuple):
    """The concepts of entities as ragged rows, and how probable each is for an object of a relation."""

    offsets: Longs
    ids: Ints
    probability: Floats


_CUTOFF = 6
"""Time scales beyond which exp(-gap / scale) is left out of a sum."""

NO_PAIR_RATE = -12.0
"""The log-rate of a pair of relations if there is no support fact."""


@array_function()
def count_cooccurrences(
    pair_offsets: Longs,
    relation: Ints,
    time: Ints,
    units_per_tick: float,
    reach: int,
    near: Floats,
    ever: Floats,
    facts: Floats,
) -> None:
    """Counts how often a fact of r_s has another fact of its entity pair with relation r_q.

    Args:
        pair_offsets: Facts of pair p are ``pair_offsets[p]:pair_offsets[p + 1]``, ascending in time.
        relation: Relation of each fact.
        time: Time of each fact, in ticks.
        units_per_tick: Time units per tick.
        reach: Facts before and after a fact that are compared by gap, which bounds the time for large pairs.
        near: [BUCKETS, r_s, r_q], out: facts of r_s that have such a fact at a gap.
        ever: [r_s, r_q], out: facts of r_s that have such a fact at any gap.
        facts: [r_s], out: all facts of r_s.
    """
    relations = len(facts)
    seen = np.full((BUCKETS, relations), -1, dtype=np.int64)
    relation_count = np.zeros(relations, dtype=np.int64)
    for pair in range(len(pair_offsets) - 1):
        low, high = pair_offsets[pair], pair_offsets[pair + 1]
        for i in range(low, high):
            relation_count[relation[i]] += 1
        for i in range(low, high):
            r_s = relation[i]
            facts[r_s] += 1
            for j in range(max(low, i - reach), min(high, i + reach + 1)):
                if i == j:
                    continue
                bucket = gap_bucket((time[j] - time[i]) * units_per_tick)
                if seen[bucket, relation[j]] != i:
                    seen[bucket, relation[j]] = i
                    near[bucket, r_s, relation[j]] += 1
        # Whether there is such a fact at any gap depends only on the relations of the pair.
        for i in range(low, high):
            r_q = relation[i]
            count = relation_count[r_q]
            if count > 0:
                relation_count[r_q] = -count  # handles each relation of the pair once
                for j in range(low, high):
                    if relation[j] != r_q or count > 1:
                        ever[relation[j], r_q] += 1
        for i in range(low, high):
            relation_count[relation[i]] = 0


@loop()
def count_excitation(
    offsets: Longs,
    relation: Ints,
    target: Ints,
    time: Ints,
    units_per_tick: float,
    reach: int,
    near: Floats,
    facts: Floats,
) -> None:
    """Counts how often the object of a fact of r is the object of a fact of r_q with another subject at a gap.

    Edges are stored with the object, so the relation of the original fact is the inverse of the edge's relation.
    ``near[bucket, r, r_q]`` and ``facts[r]`` are filled; ``reach`` edges before and after each edge are compared.
    """
    relations = len(facts)
    for entity in range(len(offsets) - 1):
        low, high = offsets[entity], offsets[entity + 1]
        for i in range(low, high):
            r = inverse_relation(relation[i], relations)
            facts[r] += 1
            for j in range(i + 1, min(high, i + reach + 1)):
                if target[j] != target[i]:
                    # The same pair at the opposite gap is counted at once: buckets are symmetric.
                    bucket, r_q = (
                        gap_bucket((time[j] - time[i]) * units_per_tick),
                        inverse_relation(relation[j], relations),
                    )
                    near[bucket, r, r_q] += 1
                    near[BUCKETS - 1 - bucket, r_q, r] += 1


@loop()
def rule_slot(first: int, second: int, query: int, relations: int, slots: int) -> int:
    """The position of rule (r_1, r_2) → r_q in the rule tables; a hash where these are smaller than the cube."""
    cell = (first * relations + second) * relations + query
    if slots == relations * relations * relations:
        return cell
    key = np.uint64(cell)
    key = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((key >> np.uint64(20)) % np.uint64(slots))  # type: ignore[return-value]


@loop()
def count_rules(
    query_relation: Ints,
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
    """Counts how often a second hop along r_2, after a first along r_1, ends at the answer of a query about r_q."""
    for i in range(len(query_relation)):
        for a in range(1, count[i]):
            if entity[i, a] < 0:  # back to the query entity, which is never a valid hop
                continue
            slot = rule_slot(first[i], relation[i, a], query_relation[i], relations, len(tries))
            hit = entity[i, a] == answer[i]
            tries[slot] += 1
            pair_tries[relation[i, a], query_relation[i]] += 1
            if hit:
                hits[slot] += 1
                pair_hits[relation[i, a], query_relation[i]] += 1


@loop(inner=True)
def visible_end(times: Ints, low: int, high: int, before: int) -> int:
    """The end of the ascending times[low:high] strictly before a tick."""
    if low < high and times[high - 1] >= before:
        return lower_bound(times, low, high, before)
    return high


@loop(inner=True)
def visible_times(objects: ObjectColumns, query: int, position: int, before: int) -> tuple[int, int]:
    """The range of ``object_times`` of a pair (r, o) strictly before a tick; empty if it has not occurred yet."""
    low, high = objects.object_offsets[position], objects.object_offsets[position + 1]
    pairs = len(objects.object_offsets) - 1
    low, high = patched_range(objects.object_patches, query, position, pairs, low, high)
    return low, visible_end(objects.object_times, low, high, before)


@loop(inner=True)
def find_pair(objects: ObjectColumns, relation: int, entity: int) -> int:
    """The position of the pair (r, o); -1 if there is none."""
    first, end = objects.relation_offsets[relation], objects.relation_offsets[relation + 1]
    position = lower_bound(objects.object_entity, first, end, entity)
    return position if position < end and objects.object_entity[position] == entity else -1


@loop(inner=True)
def visible_objects(objects: ObjectColumns, relation: int, before: int) -> int:
    """The number of distinct objects of a relation strictly before a tick; hidden facts of single queries count."""
    first, end = objects.relation_offsets[relation], objects.relation_offsets[relation + 1]
    return lower_bound(objects.object_first, first, end, before) - first


@array_function()
def count_objects(objects: ObjectColumns, query: Longs, relation: Ints, before: Ints) -> Longs:
    """int64 [queries]: the number of distinct objects of each relation strictly before a tick.

    ``query`` [queries] are their positions in the batch.
    """
    count = np.empty(len(relation), dtype=np.int64)
    patches, pairs = objects.object_patches, len(objects.object_offsets) - 1
    for i in range(len(relation)):
        count[i] = visible_objects(objects, relation[i], before[i])
    for patch in range(len(patches.key)):  # pairs of which a query does not see some facts
        q, position = patches.key[patch] // pairs, patches.key[patch] % pairs
        for i in range(len(relation)):
            first, end = objects.relation_offsets[relation[i]], objects.relation_offsets[relation[i] + 1]
            if query[i] == q and first <= position < end:
                whole = objects.object_times[objects.object_offsets[position]] < before[i]
                low, high = patches.low[patch], patches.high[patch]
                count[i] -= whole and not (low < high and objects.object_times[low] < before[i])
    return count


@loop(inner=True)
def _decayed_count(times: Ints, low: int, high: int, query_time: int, scale: float) -> float:
    """Σ exp(-|t - query_time| / scale) over the ascending times[low:high], without those beyond ``_CUTOFF`` scales."""
    total = 0.0
    reach = _CUTOFF * scale
    position = lower_bound(times, low, high, int(np.ceil(query_time - reach)))
    while position < high and times[position] <= query_time + reach:
        total += np.exp(-abs(times[position] - query_time) / scale)
        position += 1
    return total


@loop()
def describe_entities(
    low: int,
    high: int,
    relation: Ints,
    query_time: Ints,
    query: Longs,
    entity: Ints,
    objects: ObjectColumns,
    concepts: ConceptColumns,
    edges: EdgeColumns,
    visible_before: Ints,
    scales: Floats,
    out: Floats,
) -> None:
    """Features of the entity o that an action leads to: the first columns of ``out``, in this order.

    Log-counts of (r_q, o): in total and near t_q at three scales; log-degree; concept fit; ever an object of r_q.
    """
    for i in range(low, high):
        q = query[i]
        node = entity[i]
        position = find_pair(objects, relation[q], node)
        if position >= 0:
            first, end = visible_times(objects, q, position, visible_before[q])
            if end > first:
                out[i, 0] = np.log1p(end - first)
                for s in range(3):
                    decayed = _decayed_count(objects.object_times, first, end, query_time[q], scales[s])
                    out[i, 1 + s] = np.log(decayed + 0.01) + 4.6
                out[i, 6] = 1.0
        low_edge, high_edge = visible_edges(edges, q, node, visible_before[q])
        out[i, 4] = np.log1p(high_edge - low_edge)
        total = 0.0
        for c in range(concepts.offsets[node], concepts.offsets[node + 1]):
            total += concepts.probability[relation[q], concepts.ids[c]]
        out[i, 5] = total


@loop()
def hash_rules(first: Ints, second: Ints, query: Ints, relations: int, slots: int, out: Longs) -> None:
    """``rule_slot`` of every second hop, [states, actions]."""
    for i in range(second.shape[0]):
        for a in range(second.shape[1]):
            out[i, a] = rule_slot(first[i], second[i, a], query[i], relations, slots)


@array_function()
def multiplicity(values: Ints, out: Floats) -> None:
    """How often each value occurs in its row."""
    for i in range(values.shape[0]):
        for a in range(values.shape[1]):
            total = 0
            for b in range(values.shape[1]):
                total += values[i, a] == values[i, b]
            out[i, a] = total
