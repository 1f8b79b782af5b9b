"""Supports and queries: which entities are queried, with which facts, and that no fact is both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.dataset import MetaSet
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.tasks.task import Task, official_task, sampled_task

R = RelationIds(4)
Fact = tuple[int, int, int, int]


def meta_set(counts: list[int], seed: int = 0) -> MetaSet:
    """Entities 100, 101, ... with this many distinct facts each, as subject or as object."""
    rng = np.random.default_rng(seed)
    owner, rows = [], []
    for i, count in enumerate(counts):
        for time in range(count):
            entity, other, relation = 100 + i, int(rng.integers(0, 90)), int(rng.integers(0, R.count))
            owner.append(entity)
            rows.append((entity, relation, other, time) if rng.random() < 0.5 else (other, relation, entity, time))
    return MetaSet(np.array(owner, np.int32), Quadruples.from_rows(rows))


def facts_of(meta: MetaSet) -> dict[int, list[Fact]]:
    found: dict[int, list[Fact]] = {}
    for owner, fact in zip(meta.entity_of_fact.tolist(), meta.facts, strict=True):
        found.setdefault(owner, []).append(fact)
    return found


def query_facts(task: Task) -> dict[int, list[Fact]]:
    """The hidden facts behind the queries, per entity."""
    found: dict[int, list[Fact]] = {}
    q = task.queries
    for e, r, t, a in zip(q.entity.tolist(), q.relation.tolist(), q.time.tolist(), q.answer.tolist(), strict=True):
        fact = (e, r, a, t) if r < R.count else (a, r - R.count, e, t)
        found.setdefault(e, []).append(fact)
    return found


COUNTS = st.lists(st.integers(1, 8), min_size=1, max_size=6)


@given(COUNTS, st.integers(1, 4))
def test_official_task_supports_with_the_first_facts(counts: list[int], shots: int) -> None:
    meta = meta_set(counts)
    task = official_task(meta, shots, R)
    facts = {entity: rows for entity, rows in facts_of(meta).items() if len(rows) > shots}
    assert facts_of(task.support) == {entity: rows[:shots] for entity, rows in facts.items()}
    assert query_facts(task) == {entity: rows[shots:] for entity, rows in facts.items()}
    assert task.entities.tolist() == list(facts)


@given(COUNTS, st.integers(1, 4), st.integers(0, 2**32 - 1), st.one_of(st.none(), st.integers(1, 4)))
def test_sampled_fact_is_support_or_query_but_not_both(
    counts: list[int], shots: int, seed: int, max_queries: int | None
) -> None:
    meta = meta_set(counts)
    task = sampled_task(meta, shots, R, np.random.default_rng(seed), max_queries)
    supports, queries = facts_of(task.support), query_facts(task)
    facts = {entity: rows for entity, rows in facts_of(meta).items() if len(rows) > shots}
    assert list(supports) == list(queries) == list(facts)
    for entity, rows in facts.items():
        drawn = supports[entity] + queries[entity]
        assert len(supports[entity]) == shots
        assert len(queries[entity]) == min(len(rows) - shots, max_queries or len(rows))
        assert len(set(drawn)) == len(drawn)
        assert set(drawn) <= set(rows)


def test_sampled_task_depends_on_the_seed() -> None:
    meta = meta_set([20, 20])
    first, again, other = (sampled_task(meta, 3, R, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.support == again.support
    assert query_facts(first) == query_facts(again)
    assert first.support != other.support


def test_every_fact_is_support_in_some_sample() -> None:
    meta = meta_set([6])
    rng = np.random.default_rng(0)
    seen = [fact for _ in range(300) for fact in sampled_task(meta, 1, R, rng).support.facts]
    shares = [seen.count(fact) / 300 for fact in meta.facts]
    assert all(abs(share - 1 / 6) < 0.07 for share in shares)


def test_inverse_query_starts_at_the_unseen_entity() -> None:
    meta = MetaSet(np.array([5, 5], np.int32), Quadruples.of([5, 7], [0, 2], [6, 5], [1, 2]))
    queries = official_task(meta, 1, R).queries
    assert (queries.entity.tolist(), queries.relation.tolist(), queries.answer.tolist()) == ([5], [R.inverse(2)], [7])


def test_entities_with_too_few_facts_give_an_empty_task() -> None:
    task = official_task(meta_set([1, 2]), 3, R)
    assert len(task.queries) == len(task.support) == len(task.entities) == 0


@pytest.mark.data
def test_official_task_has_the_published_number_of_queries(benchmarks: Path) -> None:
    data = read_dataset(benchmarks / "icews14-oog")
    relations = data.vocabulary.relation_ids
    counts = {
        (split, shots): len(official_task(data.meta(split), shots, relations).queries)
        for split in ("valid", "test")
        for shots in (1, 3)
    }
    assert counts == {("valid", 1): 670, ("test", 1): 656, ("valid", 3): 574, ("test", 3): 560}


def dated(rows: list[tuple[int, int, int]]) -> MetaSet:
    """Facts (owner, 0, other, time) from rows (owner, other, time), owners contiguous."""
    facts = [(owner, 0, other, time) for owner, other, time in rows]
    return MetaSet(np.array([row[0] for row in rows], np.int32), Quadruples.from_rows(facts))


def test_forecast_supports_with_the_earliest_facts_and_asks_for_strictly_later_ones() -> None:
    meta = dated([(100, 1, 9), (100, 2, 3), (100, 3, 5), (100, 4, 5), (100, 5, 7), (101, 6, 2), (101, 7, 2)])
    task = official_task(meta, 2, R, "forecast")
    # Entity 100: supports at 3 and 5; the other fact at 5 is not later. Entity 101 has nothing later than its supports.
    assert facts_of(task.support) == {100: [(100, 0, 2, 3), (100, 0, 3, 5)]}
    assert query_facts(task) == {100: [(100, 0, 5, 7), (100, 0, 1, 9)]}
    assert task.queries.visible_before.tolist() == [7, 9]


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=8), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from([None, 1, 2]),
)
def test_sampled_forecast_has_successive_supports_before_all_queries(
    times: list[list[int]], shots: int, seed: int, limit: int | None
) -> None:
    rows = [(100 + i, 10 * i + j, time) for i, column in enumerate(times) for j, time in enumerate(column)]
    meta = dated(rows)
    task = sampled_task(meta, shots, R, np.random.default_rng(seed), limit, "forecast")
    supports, queries = facts_of(task.support), query_facts(task)
    assert supports.keys() == queries.keys()
    for entity, facts in facts_of(meta).items():
        if entity not in supports:
            continue
        known, asked = supports[entity], queries[entity]
        last = max(time for *_, time in known)
        assert len(known) == shots
        assert set(asked) <= {fact for fact in facts if fact[3] > last}
        assert limit is None or len(asked) <= limit
        between = [fact for fact in facts if min(time for *_, time in known) < fact[3] < last]
        assert set(between) <= set(known)
    assert np.array_equal(task.queries.visible_before, task.queries.time)


def test_completion_queries_have_no_limit() -> None:
    task = official_task(meta_set([5, 4]), 2, R)
    assert not task.queries.limited
    assert official_task(meta_set([5, 4]), 2, R, "forecast").queries.limited
