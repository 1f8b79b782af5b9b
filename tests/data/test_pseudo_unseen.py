"""Pseudo-unseen entities: selection, and removal of all their facts from the background."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.pseudo_unseen import _can_be_hidden, hold_out_entities, select_pseudo_unseen
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError

ENTITIES = 12

rows = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, 3), st.integers(0, ENTITIES - 1), st.integers(0, 20)),
    max_size=60,
    unique=True,
)
groups = st.sets(st.integers(0, ENTITIES - 1), min_size=1)


def star(counts: list[int]) -> Quadruples:
    """Entity i has ``counts[i]`` facts, each with a distinct other entity."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return Quadruples.of(owner, np.zeros_like(owner), np.arange(len(owner)) + len(counts), np.zeros_like(owner))


def entity_count(facts: Quadruples) -> int:
    return int(max(facts.subject.max(), facts.object.max())) + 1


def chosen(facts: Quadruples, shots: int = 3, seed: int = 0, **ways: float) -> list[list[int]]:
    found = select_pseudo_unseen(facts, entity_count(facts), shots, np.random.default_rng(seed), **ways)  # type: ignore[arg-type]
    return [group.tolist() for group in found.groups]


@given(rows, groups, st.integers(0, 5))
def test_every_fact_is_in_the_background_or_listed_once_under_a_held_out_entity(
    facts: list[tuple[int, int, int, int]], group: set[int], seed: int
) -> None:
    fold = hold_out_entities(
        Quadruples.from_rows(facts), np.array(sorted(group)), ENTITIES, np.random.default_rng(seed)
    )
    assert list(fold.background) == [row for row in facts if not {row[0], row[2]} & group]
    assert sorted(fold.hidden.facts) == sorted(row for row in facts if {row[0], row[2]} & group)
    for owner, row in zip(fold.hidden.entity_of_fact.tolist(), fold.hidden.facts, strict=True):
        assert owner in group & {row[0], row[2]}
    assert len(set(fold.hidden.entities.tolist())) == len(fold.hidden.entities)  # the rows of an entity are contiguous


def test_fact_within_the_group_is_listed_under_subject_or_object() -> None:
    facts = Quadruples.of(np.zeros(200), np.zeros(200), np.ones(200), np.arange(200))
    fold = hold_out_entities(facts, np.array([0, 1]), 2, np.random.default_rng(0))
    assert 60 < (fold.hidden.entity_of_fact == 0).sum() < 140


def test_entities_with_few_facts_are_selected_once() -> None:
    facts = star([5] * 30 + [6] * 30 + [40] * 30 + [41] * 30)
    drawn = chosen(facts)
    assert len(drawn) == 4
    together = [entity for group in drawn for entity in group]
    assert len(set(together)) == len(together)
    assert set(together) <= set(range(30, 90))


def test_group_holds_out_at_most_its_share_of_facts() -> None:
    facts = star([10] * 100)
    assert [len(group) for group in chosen(facts)] == [10, 10, 10, 10]
    assert [len(group) for group in chosen(facts, max_entities=7, groups=2)] == [7, 7]


def test_entities_nearest_to_the_usual_count_are_selected_and_reported() -> None:
    facts = star([100] * 3 + [60] * 20)
    found = select_pseudo_unseen(facts, entity_count(facts), 3, np.random.default_rng(0))
    assert found.found == (60, 60)
    assert str(found) == "4 groups of 2 entities with 60 to 60 facts (too few have 6 to 40)"


def test_usual_selection_is_described_without_remark() -> None:
    facts = star([12] * 40)
    found = select_pseudo_unseen(facts, entity_count(facts), 3, np.random.default_rng(0), groups=1)
    assert str(found) == "4 entities with 12 to 12 facts"


def test_selection_depends_on_the_seed() -> None:
    facts = star([10] * 100)
    assert chosen(facts, seed=1) == chosen(facts, seed=1)
    assert chosen(facts, seed=1) != chosen(facts, seed=2)


@pytest.mark.parametrize("facts", [star([3] * 50), Quadruples.of([0] * 9, [0] * 9, [1] * 9, range(9))])
def test_facts_without_eligible_entities_are_rejected_in_one_line(facts: Quadruples) -> None:
    with pytest.raises(InputError, match=r"mine: no entity can be held out; found .* expected some with 6 to 40"):
        select_pseudo_unseen(facts, entity_count(facts), 3, np.random.default_rng(0), name="mine")


@given(seed=st.integers(0, 2**32 - 1), facts=st.integers(0, 30), groups=st.integers(1, 4), shots=st.integers(0, 3))
def test_groups_that_can_be_hidden(seed: int, facts: int, groups: int, shots: int) -> None:
    rng = np.random.default_rng(seed)
    known = Quadruples.of(*(rng.integers(0, 8, facts) for _ in range(4)))
    parts = [part.astype(np.int32) for part in np.array_split(rng.permutation(8)[: rng.integers(4, 9)], groups)]
    expected = []
    for part in (set(part.tolist()) for part in parts):
        ends = [{s, o} & part for s, _, o, _ in known]
        outward = [(s if s in part else o) for s, _, o, _ in known if (s in part) != (o in part)]
        expected.append(not all(ends) and any(outward.count(entity) > shots for entity in part))
    assert _can_be_hidden(known, parts, 8, shots) == expected
