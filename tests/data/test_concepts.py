"""C_e and P(c | r) against the paper's example and an independent count."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.concepts import Concepts, concept_distribution
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds


def test_distribution_matches_the_worked_example_of_the_paper() -> None:
    """E_r = {e1, e2}, C_e1 = {c1, c2}, C_e2 = {c2}: P(c1 | r) = 1/3 and P(c2 | r) = 2/3."""
    concepts = Concepts.from_pairs(3, [(1, "c1"), (1, "c2"), (2, "c2")])
    background = Quadruples.of([0, 0, 0], [0, 0, 0], [1, 2, 2], [5, 5, 7])
    forward, inverse = concept_distribution(background, concepts, RelationIds(1))
    np.testing.assert_allclose(forward, [1 / 3, 2 / 3])
    np.testing.assert_array_equal(inverse, [0, 0])


def test_objects_of_an_inverse_relation_are_the_subjects() -> None:
    concepts = Concepts.from_pairs(2, [(0, "x"), (1, "y"), (1, "z")])
    background = Quadruples.of([0], [1], [1], [0])
    found = concept_distribution(background, concepts, RelationIds(2))
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 0.5, 0.5], [0, 0, 0], [1, 0, 0]])


def by_counting(
    facts: list[tuple[int, int, int]], of: list[set[str]], names: list[str], relations: int
) -> list[list[float]]:
    table = []
    for directed in range(2 * relations):
        if directed < relations:
            objects = {o for _, r, o in facts if r == directed}
        else:
            objects = {s for s, r, _ in facts if r == directed - relations}
        counts = [sum(name in of[entity] for entity in objects) for name in names]
        table.append([float(Fraction(n, sum(counts))) if sum(counts) else 0.0 for n in counts])
    return table


ENTITIES, RELATIONS = 6, 3
FACTS = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=25
)
KINDS = st.lists(st.sets(st.sampled_from("pqrst")), min_size=ENTITIES, max_size=ENTITIES)


@given(FACTS, KINDS)
def test_distribution_matches_counting(facts: list[tuple[int, int, int]], of: list[set[str]]) -> None:
    concepts = Concepts.from_pairs(ENTITIES, ((e, name) for e, names in enumerate(of) for name in names))
    s, r, o = np.array(facts, dtype=np.int32).reshape(-1, 3).T
    found = concept_distribution(Quadruples.of(s, r, o, np.zeros(len(facts))), concepts, RelationIds(RELATIONS))
    names = sorted(set().union(*of))
    assert found.shape == (2 * RELATIONS, len(names))
    np.testing.assert_allclose(found.reshape(2 * RELATIONS, -1), np.array(by_counting(facts, of, names, RELATIONS)))


@given(KINDS)
def test_rows_and_matrix_agree(of: list[set[str]]) -> None:
    pairs = [(e, name) for e, names in enumerate(of) for name in names]
    concepts = Concepts.from_pairs(ENTITIES, [*pairs, *pairs])
    assert [set(concepts.of(entity)) for entity in range(ENTITIES)] == of
    dense = concepts.matrix()
    assert dense.dtype == np.float32
    assert {(int(e), concepts.names[c]) for e, c in zip(*np.nonzero(dense), strict=True)} == set(pairs)
    assert concepts == Concepts.from_pairs(ENTITIES, reversed(pairs))


def test_dataset_without_concepts_has_empty_tables() -> None:
    none = Concepts.none(3)
    assert (len(none), none.of(2), none.matrix().shape) == (0, (), (3, 0))
    assert concept_distribution(Quadruples.of([0], [0], [1], [0]), none, RelationIds(1)).shape == (2, 0)


@given(pairs=st.sets(st.tuples(st.integers(0, 5), st.sampled_from("abcdef")), max_size=15), unused=st.booleans())
def test_used_concepts_are_those_of_the_pairs(pairs: set[tuple[int, str]], unused: bool) -> None:
    expected = Concepts.from_pairs(6, pairs)
    if unused:
        extra = Concepts.from_pairs(7, pairs | {(6, name) for name in "aceg"})
        found = Concepts(extra.names, extra.offsets[:-1], extra.ids[: extra.offsets[-2]]).used()
    else:
        found = expected.used()
    assert found == expected
    assert found.ids.dtype == np.int32
