"""The orders of the event index, against plain sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.event_index import event_index
from fitcarl.models.plus.event_order import edges_by_pair

ENTITIES, RELATIONS = 8, 3


def _graph(seed: int, facts: int) -> TemporalGraph:
    rng = np.random.default_rng(seed)
    rows = np.unique(
        np.stack([rng.integers(0, top, facts) for top in (ENTITIES, RELATIONS, ENTITIES, 6)], axis=1), axis=0
    )
    return TemporalGraph.from_facts(Quadruples.from_rows(rows), ENTITIES, RelationIds(RELATIONS))


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 2**32 - 1), facts=st.integers(0, 60), max_objects=st.integers(0, 8))
def test_event_index_is_that_of_sorted_edges(seed: int, facts: int, max_objects: int) -> None:
    graph = _graph(seed, facts)
    index, rows = event_index(graph, max_objects), sorted((r, o, t, s) for s, r, o, t in graph.base.edges())
    pairs = sorted({(r, o) for r, o, _, _ in rows})
    offsets = index["object_offsets"]
    for number, (r, o) in enumerate(pairs):
        assert index["object_entity"][number] == o
        assert index["relation_offsets"][r] <= number < index["relation_offsets"][r + 1]
        times = index["object_times"][offsets[number] : offsets[number + 1]]
        assert times.tolist() == [t for r_, o_, t, _ in rows if (r_, o_) == (r, o)]
    assert len(index["object_entity"]) == len(pairs)
    assert offsets[-1] == len(rows)
    for r in range(2 * RELATIONS):
        low, high = index["relation_offsets"][r], index["relation_offsets"][r + 1]
        firsts = sorted(min(t for r_, o_, t, _ in rows if (r_, o_) == pair) for pair in pairs if pair[0] == r)
        assert index["object_first"][low:high].tolist() == firsts
        events = slice(*index["relation_event_offsets"][r : r + 2])
        large = high - low > max_objects
        expected = sorted((t, pairs.index((r, o))) for r_, o, t, _ in rows if r_ == r) if large else []
        found = zip(index["relation_event_time"][events], index["relation_event_pair"][events], strict=True)
        assert list(found) == expected
    by_time = [index[f"event_{name}"] for name in ("time", "source", "relation", "target")]
    assert list(zip(*by_time, strict=True)) == sorted((t, s, r, o) for s, r, o, t in graph.base.edges())


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 2**32 - 1), facts=st.integers(0, 60))
def test_edges_by_pair_are_sorted_by_pair_and_time(seed: int, facts: int) -> None:
    graph = _graph(seed, facts)
    offsets, relation, time = edges_by_pair(graph.base.columns)
    rows = sorted((s, o, t, r) for s, r, o, t in graph.base.edges() if s != o)
    assert list(zip(time.tolist(), relation.tolist(), strict=True)) == [(t, r) for _, _, t, r in rows]
    counts = np.unique([(s, o) for s, o, _, _ in rows], axis=0, return_counts=True)[1] if rows else []
    assert np.diff(offsets).tolist() == list(counts)
