"""Graph statistics against naive counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.gaps import BUCKETS, gap_bucket, gap_buckets
from fitcarl.models.plus.kernels import count_cooccurrences
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics

RELATIONS = RelationIds(2)
FACTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.integers(0, 80)), min_size=1, max_size=25,
    unique=True,
)  # fmt: skip


def statistics_of(facts: list[tuple[int, int, int, int]], entities: int = 4) -> GraphStatistics:
    quadruples = Quadruples.from_rows(facts)
    graph = TemporalGraph.from_facts(quadruples, entities, RELATIONS)
    return compute_statistics(quadruples, graph, Concepts.none(entities))


def test_gap_buckets_are_symmetric() -> None:
    gaps = np.arange(-60, 61, dtype=np.int32)
    buckets = [gap_bucket(int(gap)) for gap in gaps]
    assert buckets == gap_buckets(gaps).tolist()
    assert buckets == sorted(buckets)
    assert set(buckets) == set(range(BUCKETS))
    assert [BUCKETS - 1 - bucket for bucket in buckets[::-1]] == buckets
    assert [gap_bucket(gap) for gap in (0, 1, 2, 3, 10, 11, 45, 46)] == [4, 5, 5, 6, 6, 7, 7, 8]


@given(FACTS)
def test_cooccurrence_counts_match_a_naive_count(facts: list[tuple[int, int, int, int]]) -> None:
    near, ever, total = np.zeros((BUCKETS, 2, 2)), np.zeros((2, 2)), np.zeros(2)
    ordered = sorted(facts, key=lambda fact: (fact[0], fact[2], fact[3]))
    pairs = Counter((s, o) for s, _, o, _ in ordered)
    offsets = np.concatenate(([0], np.cumsum([pairs[pair] for pair in sorted(pairs)]))).astype(np.int64)
    columns = Quadruples.from_rows(ordered)
    count_cooccurrences(offsets, columns.relation, columns.time, 1.0, 100, near, ever, total)

    by_hand = np.zeros_like(near)
    by_hand_ever = np.zeros_like(ever)
    for fact in facts:
        others = [other for other in facts if other != fact and (other[0], other[2]) == (fact[0], fact[2])]
        for bucket, relation in {(gap_bucket(other[3] - fact[3]), other[1]) for other in others}:
            by_hand[bucket, fact[1], relation] += 1
        for relation in {other[1] for other in others}:
            by_hand_ever[fact[1], relation] += 1
    assert np.array_equal(near, by_hand)
    assert np.array_equal(ever, by_hand_ever)
    assert total.tolist() == [sum(fact[1] == relation for fact in facts) for relation in (0, 1)]


@given(FACTS)
def test_event_index_lists_objects_of_a_relation_with_times(facts: list[tuple[int, int, int, int]]) -> None:
    statistics = statistics_of(facts)
    both = [(s, r, o, t) for s, r, o, t in facts] + [(o, r + 2, s, t) for s, r, o, t in facts]
    for relation in range(4):
        low, high = statistics.relation_offsets[relation], statistics.relation_offsets[relation + 1]
        objects = statistics.object_entity[low:high]
        assert objects.tolist() == sorted({o for _, r, o, _ in both if r == relation})
        for place in range(low, high):
            times = statistics.object_times[statistics.object_offsets[place] : statistics.object_offsets[place + 1]]
            wanted = statistics.object_entity[place]
            assert times.tolist() == sorted(t for _, r, o, t in both if (r, o) == (relation, wanted))


def test_following_relation_has_a_higher_rate() -> None:
    facts = [(a, 0, a + 1, 10 * a) for a in range(0, 60, 2)] + [(a, 1, a + 1, 10 * a + 5) for a in range(0, 60, 2)]
    statistics = statistics_of(facts, 61)
    after, before = gap_bucket(5), gap_bucket(-5)
    assert statistics.cooccurrence_rate[after, 0, 1] > statistics.cooccurrence_rate[before, 0, 1] + 2
    assert statistics.pair_rate[0, 1] > statistics.pair_rate[0, 0] + 2


def test_decay_table_ends_with_zero() -> None:
    table = statistics_of([(0, 0, 1, 0)]).decay
    np.testing.assert_allclose(table[20], np.exp(-20 / np.array([1, 3, 7, 20, 60, 90])), rtol=1e-5)
    assert table[-2].max() > 0
    assert not table[-1].any()
