"""The order of edges, against numpy's lexsort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph import edge_order
from fitcarl.graph.temporal import Adjacency


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), edges=st.integers(0, 120), far=st.booleans())
@pytest.mark.parametrize(("long", "bits", "block"), [(4096, 63, 1 << 15), (3, 63, 20), (3, 63, 1), (4096, 2, 20)])
def test_edges_are_sorted_by_entity_time_relation_and_target(
    long: int, bits: int, block: int, seed: int, edges: int, far: bool
) -> None:
    rng = np.random.default_rng(seed)
    given_edges = Quadruples.of(
        rng.integers(0, 9, edges),
        rng.integers(0, 6, edges),
        rng.integers(0, 9, edges),
        rng.integers(-5, 5, edges) * (300_000_000 if far else 1),
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(edge_order, "_LONG", long)
        patched.setattr(edge_order, "_KEY_BITS", bits)
        patched.setattr(edge_order, "_BLOCK", block)
        patched.setattr(edge_order, "_MIN_BLOCKS", 1)
        found = Adjacency.from_edges(given_edges, 9, RelationIds(3))
        facts = given_edges.in_real_direction(RelationIds(3))
        both = Adjacency.from_facts(facts, 9, RelationIds(3))
        expected_both = Adjacency.from_edges(facts.both_directions(RelationIds(3)), 9, RelationIds(3))
    order = np.lexsort((given_edges.object, given_edges.relation, given_edges.time, given_edges.subject))
    expected = given_edges.take(order)
    assert found.edges() == expected
    np.testing.assert_array_equal(found.offsets, np.searchsorted(expected.subject, np.arange(10)))
    np.testing.assert_array_equal(both.offsets, expected_both.offsets)
    assert both.edges() == expected_both.edges()
