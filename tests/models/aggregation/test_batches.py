"""Mini-batches of triples."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.config.aggregation import AggregationTrainingConfig
from fitcarl.models.aggregation.batches import TripleBatch, TripleBatches
from tests.models.aggregation.small_graph import ENTITIES, FACTS, RELATIONS

TRIPLES = {(s, r, o) for s, r, o, _ in FACTS}


def batches(*, encode_candidates: bool = True, **settings: object) -> TripleBatches:
    config = AggregationTrainingConfig.model_validate({"batch_size": 3, "negatives": 2, **settings})
    return TripleBatches(FACTS, ENTITIES + 2, RELATIONS, config, 1, encode_candidates=encode_candidates)


def triples(batch: TripleBatch) -> list[tuple[int, int, int]]:
    """The triples in their original direction."""
    return [triple_of(*row) for row in zip(batch.entity, batch.relation, batch.answer, strict=True)]


def triple_of(entity: int, relation: int, answer: int) -> tuple[int, int, int]:
    if relation < RELATIONS.count:
        return int(entity), int(relation), int(answer)
    return int(answer), int(relation) - RELATIONS.count, int(entity)


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
    for name in ("entity", "relation", "answer", "corrupted", "replacement"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert np.array_equal(one.neighbourhoods.message, other.neighbourhoods.message)


def test_corrupted_triples_are_false_and_of_both_directions() -> None:
    made, directions = batches(), set()
    for number in range(1, 40):
        batch = made.batch(number)
        for i, entity in enumerate(batch.entity):
            directions.add(bool(RELATIONS.is_inverse(int(batch.relation[i]))))
            for wrong in batch.replacement[batch.corrupted[i]].tolist():
                assert triple_of(entity, batch.relation[i], wrong) not in TRIPLES
                assert wrong < ENTITIES, "an entity outside the facts is never a corruption"
    assert directions == {True, False}


def test_corruptions_by_slot_are_answers_of_the_relation() -> None:
    made = batches(corrupt="slot")
    for number in range(1, 20):
        batch = made.batch(number)
        replaced = batch.replacement[batch.corrupted]
        for relation, corrupted in zip(batch.relation.tolist(), replaced.tolist(), strict=True):
            forward = relation < RELATIONS.count
            same = [triple for triple in TRIPLES if triple[1] == relation % RELATIONS.count]
            assert set(corrupted) <= {triple[2 if forward else 0] for triple in same}


def test_shared_corruptions_are_those_of_the_relation_unless_true() -> None:
    made = batches(corrupt="shared", batch_size=len(TRIPLES), negatives=1)
    same = []
    for number in range(1, 30):
        batch = made.batch(number)
        replaced = batch.replacement[batch.corrupted[:, 0]]
        for relation in np.unique(batch.relation):
            found = replaced[batch.relation == relation]
            same += [len(set(found.tolist())) == 1] if len(found) > 1 else []
        for i, wrong in enumerate(replaced):
            assert triple_of(batch.entity[i], batch.relation[i], wrong) not in TRIPLES
    assert np.mean(same) > 0.4
    independent = batches(batch_size=len(TRIPLES), negatives=1).batch(1)
    assert len(independent.replacement) > len(np.unique(independent.relation))


@pytest.mark.parametrize("left_out", [True, False])
def test_target_is_left_out_of_its_own_rows_on_request(left_out: bool) -> None:
    made = batches(leave_target_out=left_out, neighbours=50)
    for number in (1, 2, 3):
        batch = made.batch(number)
        inverse = RELATIONS.inverse(batch.relation)
        for i in range(len(batch.entity)):
            assert ((batch.relation[i], batch.answer[i]) in messages(batch, i)) != left_out
            assert ((inverse[i], batch.entity[i]) in messages(batch, len(batch.entity) + i)) != left_out


def test_rows_are_entities_answers_and_replacements_with_the_relation_they_are_asked_about() -> None:
    batch = batches().batch(1)
    asked, rows, n = batch.row_relations(RELATIONS), batch.row_entities(), len(batch.entity)
    assert len(asked) == len(rows) == len(batch.neighbourhoods) == 2 * n + len(batch.replacement)
    assert len(batch.candidates) == n + len(batch.replacement)
    inverse = RELATIONS.inverse(batch.relation)
    for i in range(n):
        assert (rows[i], asked[i]) == (batch.entity[i], batch.relation[i])
        assert (rows[n + i], asked[n + i]) == (batch.answer[i], inverse[i])
        for k in range(2):
            row = 2 * n + batch.corrupted[i, k]
            assert (rows[row], asked[row]) == (batch.replacement[batch.corrupted[i, k]], inverse[i])
    pairs = set(zip(rows[2 * n :].tolist(), asked[2 * n :].tolist(), strict=True))
    assert len(pairs) == len(batch.replacement), "each pair of a replacement and a relation has one row"


def test_candidates_have_no_rows_if_they_are_not_encoded() -> None:
    batch = batches(encode_candidates=False).batch(1)
    assert np.array_equal(batch.row_entities(), batch.entity)
    assert np.array_equal(batch.row_relations(RELATIONS), batch.relation)
    assert len(batch.neighbourhoods) == len(batch.entity)


def test_neighbours_are_limited() -> None:
    assert batches(neighbours=1).batch(1).neighbourhoods.counts.max() == 1
    assert batches(neighbours=50).batch(1).neighbourhoods.counts.max() > 1
