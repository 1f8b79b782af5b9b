"""Filtered ranking: other true answers of a query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.evaluation.filtering import FILTERS, KnownAnswers
from tests.evaluation.reference import dataset_of, meta_set, queries_of
from tests.evaluation.test_ranks import IDS, facts


def others(known, row, filter):
    return known.filtered_answers(queries_of([row]), filter).entity.tolist()


@pytest.fixture
def known():
    dataset = dataset_of(
        [(0, 0, 1, 5)],
        entities=20,
        relations=2,
        train=meta_set([(10, 10, 0, 2, 5)]),
        valid=meta_set([(11, 11, 0, 3, 5), (11, 11, 0, 4, 5), (11, 11, 0, 3, 9)]),
        test=meta_set([(12, 5, 1, 12, 5), (12, 6, 1, 12, 5)]),
        dropped=[(11, 0, 10, 5), (11, 0, 10, 6)],
    )
    return KnownAnswers.of(dataset)


def test_all_parts_of_dataset_are_known_answers(known):
    assert others(known, (12, 3, 19, 5), "time-aware") == [5, 6]
    assert others(known, (10, 0, 19, 5), "time-aware") == [2]
    assert others(known, (11, 0, 19, 5), "time-aware") == [3, 4, 10]
    assert others(known, (11, 0, 19, 6), "time-aware") == [10]


def test_answer_itself_is_not_filtered(known):
    assert others(known, (11, 0, 4, 5), "time-aware") == [3, 10]
    assert others(known, (11, 0, 3, 9), "time-unaware") == [4, 10]


def test_time_unaware_filter_lists_answer_once(known):
    assert others(known, (11, 0, 19, 9), "time-unaware") == [3, 4, 10]


def test_inverse_queries_are_filtered(known):
    assert others(known, (12, 1 + 2, 5, 5), "time-aware") == [6]
    assert others(known, (12, 1, 5, 5), "time-aware") == []


@pytest.mark.parametrize("time", [-1, 4, 10, 10_000])
def test_no_answer_is_filtered_at_times_without_facts(known, time):
    for entity in range(20):
        for relation in range(4):
            assert others(known, (entity, relation, 19, time), "time-aware") == []


@given(rows=facts)
def test_inverse_query_equals_forward_query_on_inverted_graph(rows):
    table = np.array(rows, np.int32).reshape(-1, 4)
    known = KnownAnswers.of_facts(Quadruples.from_rows(table), IDS)
    turned = KnownAnswers.of_facts(Quadruples.from_rows(table[:, [2, 1, 0, 3]]), IDS)
    for filter in FILTERS:
        for entity in range(6):
            for relation in range(IDS.directed):
                for time in range(3):
                    inverse = int(IDS.inverse(relation))
                    forward = others(known, (entity, relation, 0, time), filter)
                    inverted = others(turned, (entity, inverse, 0, time), filter)
                    assert forward == inverted


def test_large_ids_do_not_overflow():
    relations = RelationIds(500)
    rows = [(2_000_000_000, 499, 7, 100_000), (1_999_999_999, 0, 8, 0)]
    known = KnownAnswers.of_facts(Quadruples.from_rows(rows), relations)
    assert others(known, (2_000_000_000, 499, 1, 100_000), "time-aware") == [7]
    assert others(known, (8, 500, 1, 0), "time-unaware") == [1_999_999_999]
