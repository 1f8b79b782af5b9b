"""Support facts by entity and by query, ragged and padded."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.models.support import SupportFacts, support_rows
from fitcarl.tasks.task import Queries

RELATIONS = RelationIds(3)
FACTS = Quadruples.from_rows([(9, 0, 1, 10), (2, 1, 9, 11), (7, 2, 3, 12)])
SUPPORT = MetaSet(np.array([9, 9, 7], dtype=np.int32), FACTS)


def queries(*entities: int) -> Queries:
    entity = np.array(entities, dtype=np.int32)
    return Queries(entity, np.zeros_like(entity), np.full_like(entity, 20), np.full_like(entity, -1))


def test_rows_of_entities_are_seen_from_the_unseen_entity() -> None:
    found = SupportFacts.of_entities(SUPPORT, RELATIONS)
    assert len(found) == 2
    assert found.offsets.tolist() == [0, 2, 3]
    assert found.entity.tolist() == [1, 2, 3]
    assert found.relation.tolist() == [0, int(RELATIONS.inverse(1)), 2]
    assert found.time.tolist() == [10, 11, 12]


def test_rows_of_queries_repeat_the_facts_of_their_entity() -> None:
    found = SupportFacts.of_queries(SUPPORT, queries(7, 9, 7), RELATIONS)
    assert found.offsets.tolist() == [0, 1, 3, 4]
    assert found.entity.tolist() == [3, 1, 2, 3]
    assert found.time.tolist() == [12, 10, 11, 12]


def test_padding_marks_cells_without_a_fact() -> None:
    facts = SupportFacts.of_queries(SUPPORT, queries(7, 9), RELATIONS)
    table = facts.padded(fill_entity=np.array([7, 9], dtype=np.int32))
    assert table.known.tolist() == [[True, False], [True, True]]
    assert table.entity.tolist() == [[3, 7], [1, 2]]
    assert table.relation.tolist() == [[2, 0], [0, int(RELATIONS.inverse(1))]]
    assert table.time.tolist() == [[12, 0], [10, 11]]


def test_padding_to_a_given_width() -> None:
    table = SupportFacts.of_entities(SUPPORT, RELATIONS).padded(width=3)
    assert table.known.sum(1).tolist() == [2, 1]
    assert table.entity.shape == (2, 3)


def test_no_facts_give_an_empty_table() -> None:
    empty = MetaSet(np.empty(0, dtype=np.int32), Quadruples.empty())
    assert SupportFacts.of_entities(empty, RELATIONS).padded().known.shape == (0, 0)
    assert not len(SupportFacts.of_queries(empty, queries(), RELATIONS))


@pytest.mark.parametrize("entity", [0, 8, 100])
def test_query_about_an_entity_without_support_is_rejected(entity: int) -> None:
    with pytest.raises(ValueError, match="not in the support"):
        support_rows(SUPPORT, np.array([9, entity], dtype=np.int32))
