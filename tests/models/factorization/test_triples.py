from __future__ import annotations

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.models.factorization.triples import Triples
from tests.models.factorization.graphs import RELATIONS, small_background


def test_facts_that_differ_only_in_time_are_counted_as_one_triple() -> None:
    facts = Quadruples.from_rows([(0, 1, 2, 5), (0, 1, 2, 9), (0, 1, 3, 5)])
    triples = Triples.of(facts, RelationIds(2))
    found = {}
    for pair in range(len(triples)):
        _, position = triples.answers(np.array([pair]))
        key = int(triples.entity[pair]), int(triples.relation[pair])
        found[key] = dict(zip(triples.answer[position].tolist(), triples.count[position].tolist(), strict=True))
    assert found == {(0, 1): {2: 2, 3: 1}, (2, 3): {0: 2}, (3, 3): {0: 1}}


def test_order_of_facts_does_not_matter() -> None:
    facts = small_background()
    forward, reordered = Triples.of(facts, RELATIONS), Triples.of(facts.take(slice(None, None, -1)), RELATIONS)
    for column in ("entity", "relation", "offsets", "answer", "count"):
        assert np.array_equal(getattr(forward, column), getattr(reordered, column))


def test_every_fact_is_found_from_subject_and_object() -> None:
    facts = small_background()
    triples = Triples.of(facts, RELATIONS)
    for turned in (facts, facts.inverted(RELATIONS)):
        row, position = triples.answers(triples.find(turned.subject, turned.relation))
        hits = np.bincount(row, weights=triples.answer[position] == turned.object[row])
        assert np.array_equal(hits, np.ones(len(facts)))


def test_pair_without_answers_raises() -> None:
    triples = Triples.of(Quadruples.from_rows([(0, 0, 1, 0)]), RelationIds(1))
    with pytest.raises(ValueError, match="no answer"):
        triples.find(np.array([5], np.int32), np.array([0], np.int32))


def test_no_facts_give_no_triples() -> None:
    assert len(Triples.of(Quadruples.empty(), RELATIONS)) == 0
