"""Facts as arrays, and relation ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.calendar import Calendar
from fitcarl.data.facts import named_facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.data.vocabulary import Vocabulary

R = RelationIds(3)
ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), max_size=15)


@given(ROWS)
def test_rows_round_trip(rows: list[tuple[int, int, int, int]]) -> None:
    facts = Quadruples.from_rows(rows)
    assert list(facts) == rows
    assert len(facts) == len(rows)
    assert facts.rows().shape == (len(rows), 4)
    assert all(column.dtype == np.int32 for column in (facts.subject, facts.relation, facts.object, facts.time))
    assert Quadruples.concat([facts.take(slice(0, 4)), facts.take(slice(4, None))]) == facts


@given(ROWS)
def test_inverting_twice_is_the_identity(rows: list[tuple[int, int, int, int]]) -> None:
    facts = Quadruples.from_rows(rows)
    assert facts.inverted(R).inverted(R) == facts
    assert list(facts.inverted(R)) == [(o, (r + 3) % 6, s, t) for s, r, o, t in rows]


def test_seen_from_makes_the_entity_the_subject() -> None:
    facts = Quadruples.of([1, 1, 2], [0, 2, 1], [2, 2, 2], [7, 8, 9])
    turned = facts.seen_from(np.array([1, 2, 2], np.int32), R)
    assert list(turned) == [(1, 0, 2, 7), (2, 5, 1, 8), (2, 1, 2, 9)]
    with pytest.raises(ValueError, match="neither subject nor object"):
        facts.seen_from(np.array([1, 2, 1], np.int32), R)


def test_columns_of_different_length_are_rejected() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        Quadruples.of([1], [1, 2], [1], [1])


def test_empty_quadruples_are_valid() -> None:
    assert Quadruples.concat([]) == Quadruples.empty() == Quadruples.from_rows([])
    assert list(Quadruples.empty().inverted(R)) == []
    assert Quadruples.empty() != Quadruples.of([0], [0], [0], [0])


def test_relation_ids_include_inverses_self_loop_and_dummy() -> None:
    assert (R.directed, R.self_loop, R.dummy, R.total) == (6, 6, 7, 8)
    assert [R.inverse(r) for r in range(6)] == [3, 4, 5, 0, 1, 2]
    assert [R.base(r) for r in range(6)] == [0, 1, 2, 0, 1, 2]
    assert [R.is_inverse(r) for r in range(8)] == [False] * 3 + [True] * 3 + [False] * 2


def test_inverse_relations_are_recognised_in_arrays() -> None:
    assert R.is_inverse(np.arange(8, dtype=np.int32)).tolist() == [False] * 3 + [True] * 3 + [False] * 2


def test_both_directions_are_the_facts_followed_by_their_inverses() -> None:
    facts = Quadruples.from_rows([(0, 1, 2, 5), (3, 0, 3, 6)])
    assert list(facts.both_directions(R)) == [(0, 1, 2, 5), (3, 0, 3, 6), (2, 4, 0, 5), (3, 3, 3, 6)]


def test_real_direction_has_no_inverse_relations() -> None:
    facts = Quadruples.from_rows([(0, 1, 2, 5), (2, 4, 0, 5), (1, 3, 4, 7)])
    assert list(facts.in_real_direction(R)) == [(0, 1, 2, 5), (0, 1, 2, 5), (4, 0, 1, 7)]


def test_named_facts_use_names_dates_and_inverse_marks() -> None:
    vocabulary, calendar = (
        Vocabulary(("Anna", "Bob"), ("meets", "praises", "visits")),
        Calendar.of_granules("day", [0, 3]),
    )
    facts = Quadruples.from_rows([(0, 1, 1, 0), (1, 4, 0, 3)])
    assert named_facts(facts, vocabulary, calendar) == [
        ("Anna", "praises", "Bob", "1970-01-01"),
        ("Bob", "praises ⁻¹", "Anna", "1970-01-04"),
    ]


@pytest.mark.parametrize("far", [1, 1_000_000_000])
def test_later_duplicates_are_left_out_in_order(far: int) -> None:
    rows = [(5, 1, 2, 3), (0, 0, 0, -1), (5, 1, 2, 3), (5, 1, 2, 4), (0, 0, 0, -1), (far, 1, far, -far)]
    expected = [(5, 1, 2, 3), (0, 0, 0, -1), (5, 1, 2, 4), (far, 1, far, -far)]
    assert list(Quadruples.from_rows(rows).distinct()) == expected
    assert list(Quadruples.from_rows(expected).distinct()) == expected
