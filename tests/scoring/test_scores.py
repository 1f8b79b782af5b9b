"""Scores: construction and validation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.scoring.scores import Scores

triples = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(-3, 3)), max_size=30)


def listed(answers: Scores) -> dict[tuple[int, int], float]:
    pairs = zip(answers.query.tolist(), answers.entity.tolist(), strict=True)
    return dict(zip(pairs, answers.score.tolist(), strict=True))


@given(triples)
def test_summed_adds_up_repeated_pairs(rows):
    expected: dict[tuple[int, int], float] = {}
    for query, entity, score in rows:
        expected[query, entity] = expected.get((query, entity), 0) + score
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    answers = Scores.summed(*columns, queries=5, entities=5)
    answers.check(5, 5)
    assert listed(answers) == expected


@given(triples, st.integers(0, 5), st.integers(0, 5))
def test_concat_of_parts_equals_all_scores(rows, first, second):
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    answers = Scores.summed(*columns, queries=5, entities=5)
    low, high = sorted((first, second))
    joined = Scores.concat([answers.take(part) for part in (slice(0, low), slice(low, high), slice(high, 5))])
    np.testing.assert_array_equal(joined.offsets, answers.offsets)
    np.testing.assert_array_equal(joined.entity, answers.entity)
    np.testing.assert_array_equal(joined.score, answers.score)


def test_from_dense_omits_impossible_entities():
    answers = Scores.from_dense([[0.5, -np.inf, -2.0], [-np.inf] * 3])
    assert listed(answers) == {(0, 0): 0.5, (0, 2): -2.0}
    assert len(answers) == 2


@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_from_dense_rejects_nan_and_infinity(score):
    with pytest.raises(ValueError, match="finite"):
        Scores.from_dense([[score, 1.0]])


def test_infinite_scores_are_rejected():
    with pytest.raises(ValueError, match="do not list impossible entities"):
        Scores(np.array([0, 1]), np.array([0], np.int32), np.array([-np.inf]))


@pytest.mark.parametrize("offsets", [[0, 1], [1, 2], [0, 3, 2], []])
def test_invalid_offsets_are_rejected(offsets):
    with pytest.raises(ValueError, match="offsets"):
        Scores(np.array(offsets, np.int64), np.array([0, 1], np.int32), np.zeros(2))


def test_shares_sum_to_one_and_keep_order():
    shares = Scores.summed([0, 0, 2], [1, 2, 4], [3.0, 1.0, 0.2], queries=3, entities=5).shares()
    assert listed(shares) == {(0, 1): 0.75, (0, 2): 0.25, (2, 4): 1.0}


@pytest.mark.parametrize("entity", [(1, 1), (2, 1, 2)])
def test_check_rejects_an_entity_that_is_listed_twice(entity):
    scores = Scores(np.array([0, len(entity)]), np.array(entity, np.int32), np.zeros(len(entity)))
    with pytest.raises(ValueError, match="twice"):
        scores.check(1, 5)


def test_check_rejects_entities_out_of_range_and_missing_queries():
    scores = Scores(np.array([0, 1]), np.array([5], np.int32), np.zeros(1))
    scores.check(1, 6)
    with pytest.raises(ValueError, match="not in"):
        scores.check(1, 5)
    with pytest.raises(ValueError, match="instead of 2"):
        scores.check(2, 6)


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=5))
def test_check_accepts_exactly_the_lists_of_distinct_entities(rows):
    entity = np.array([x for row in rows for x in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    scores = Scores(offsets, entity, np.zeros(len(entity)))
    if all(len(set(row)) == len(row) for row in rows):
        scores.check(len(rows), 5)
    else:
        with pytest.raises(ValueError, match="twice"):
            scores.check(len(rows), 5)


def test_from_dense_lists_all_entities_of_a_finite_matrix():
    answers = Scores.from_dense([[0.5, 1.0], [-2.0, 0.0], [3.0, 4.0]])
    expected = {(0, 0): 0.5, (0, 1): 1.0, (1, 0): -2.0, (1, 1): 0.0, (2, 0): 3.0, (2, 1): 4.0}
    assert listed(answers) == expected
    answers.check(3, 2)
