"""Mini-batches of triples."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.config.aggregation import AggregationTrainingConfig
from fitcarl.models.aggregation.batches import TripleBatch, TripleBatches
from tests.models.aggregation.small_graph import ENTITIES, FACTS, RELATIONS

TRIPLES = {(s, r, o) for s, r, o, _ in FACTS}


def batches(**settings: object) -> TripleBatches:
    config = AggregationTrainingConfig.model_validate({"batch_size": 3, "negatives": 2, **settings})
    return TripleBatches(FACTS, ENTITIES + 2, RELATIONS, config, seed=1)


def triples(batch: TripleBatch) -> list[tuple[int, int, int]]:
    return list(zip(batch.head.tolist(), batch.relation.tolist(), batch.tail.tolist(), strict=True))


def messages(batch: TripleBatch, row: int) -> set[tuple[int, int]]:
    rows = batch.neighbourhoods
    chosen = rows.message[rows.offsets[row] : rows.offsets[row + 1]]
    return set(zip(rows.relation[chosen].tolist(), rows.neighbour[chosen].tolist(), strict=True))


def test_an_epoch_contains_every_distinct_triple_once_in_another_order() -> None:
    made = batches()
    assert len(made) == 3
    epochs = [[triple for i in (1, 2, 3) for triple in triples(made.batch(3 * epoch + i))] for epoch in range(3)]
    for epoch in epochs:
        assert len(epoch) == len(TRIPLES)
        assert set(epoch) == TRIPLES
    assert epochs[0] != epochs[1] != epochs[2]


def test_batches_do_not_depend_on_earlier_calls() -> None:
    made, again = batches(), batches()
    for number in (1, 2, 5, 8):
        made.batch(number)
    one, other = made.batch(6), again.batch(6)
    for name in ("head", "relation", "tail", "corrupts_tail", "corrupted"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert np.array_equal(one.neighbourhoods.message, other.neighbourhoods.message)


def test_corrupted_triples_are_false_and_differ_on_one_side() -> None:
    sides = set()
    for number in range(1, 40):
        batch = batches().batch(number)
        for i, (head, relation, tail) in enumerate(triples(batch)):
            sides.add(bool(batch.corrupts_tail[i]))
            for entity in batch.corrupted[i].tolist():
                wrong = (head, relation, entity) if batch.corrupts_tail[i] else (entity, relation, tail)
                assert wrong not in TRIPLES
                assert entity < ENTITIES, "an entity outside the facts is never a corruption"
    assert sides == {True, False}


def test_corruptions_by_slot_are_entities_of_the_relation_in_that_place() -> None:
    made = batches(corrupt="slot")
    for number in range(1, 20):
        batch = made.batch(number)
        for i, (_, relation, _) in enumerate(triples(batch)):
            place = 2 if batch.corrupts_tail[i] else 0
            assert set(batch.corrupted[i].tolist()) <= {triple[place] for triple in TRIPLES if triple[1] == relation}


@pytest.mark.parametrize("left_out", [True, False])
def test_target_is_left_out_of_its_own_rows_on_request(left_out: bool) -> None:
    made = batches(leave_target_out=left_out, neighbours=50)
    for number in (1, 2, 3):
        batch = made.batch(number)
        for i, (head, relation, tail) in enumerate(triples(batch)):
            assert ((relation, tail) in messages(batch, i)) != left_out
            assert ((relation + RELATIONS.count, head) in messages(batch, len(batch.head) + i)) != left_out


def test_rows_are_heads_tails_and_corruptions_with_the_relation_they_are_asked_about() -> None:
    batch = batches().batch(1)
    asked, n = batch.query_relations(RELATIONS), len(batch.head)
    assert len(asked) == len(batch.entities) == len(batch.neighbourhoods) == 4 * n
    for i in range(n):
        as_head, as_tail = int(batch.relation[i]), int(batch.relation[i]) + RELATIONS.count
        assert (asked[i], asked[n + i]) == (as_head, as_tail)
        assert set(asked[2 * n + 2 * i : 2 * n + 2 * i + 2]) == {as_tail if batch.corrupts_tail[i] else as_head}
        assert batch.entities[2 * n + 2 * i] == batch.corrupted[i, 0]


def test_neighbours_are_limited() -> None:
    assert batches(neighbours=1).batch(1).neighbourhoods.counts.max() == 1
    assert batches(neighbours=50).batch(1).neighbourhoods.counts.max() > 1
