"""Ranks: ragged counts against a slow reference, ties, filters, unlisted answers."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.evaluation.filtering import FILTERS, KnownAnswers
from fitcarl.evaluation.ranks import RANK_TYPES, rank
from fitcarl.scoring.scores import Scores
from tests.evaluation.reference import plain_counts, queries_of, scores_of

ENTITIES, RELATIONS, TIMES = 6, 2, 3
IDS = RelationIds(RELATIONS)

facts = st.lists(
    st.tuples(
        st.integers(0, ENTITIES - 1),
        st.integers(0, RELATIONS - 1),
        st.integers(0, ENTITIES - 1),
        st.integers(0, TIMES - 1),
    ),
    max_size=25,
)
# Times reach beyond those of the facts: a filter must not wrap around.
asked = st.tuples(
    st.integers(0, ENTITIES - 1),
    st.integers(0, 2 * RELATIONS - 1),
    st.integers(0, ENTITIES - 1),
    st.integers(-1, TIMES),
)
# Few distinct scores, so that ties are frequent.
scores = st.dictionaries(st.integers(0, ENTITIES - 1), st.sampled_from([-1.5, 0.0, 0.5]))


def known(rows: list[tuple[int, int, int, int]]) -> KnownAnswers:
    return KnownAnswers.of_facts(Quadruples.from_rows(np.array(rows, np.int32).reshape(-1, 4)), IDS)


@pytest.mark.parametrize("filter", FILTERS)
@given(rows=facts, batch=st.lists(st.tuples(asked, scores), min_size=1, max_size=6))
def test_counts_equal_slow_reference(filter, rows, batch):
    ranks = rank(scores_of([s for _, s in batch]), queries_of([q for q, _ in batch]), known(rows), ENTITIES, filter)
    expected = [plain_counts(s, q, rows, ENTITIES, RELATIONS, filter) for q, s in batch]
    found = list(zip(ranks.greater, ranks.equal, ranks.candidates, ranks.covered, strict=True))
    assert found == expected


@given(rows=facts, batch=st.lists(st.tuples(asked, scores), min_size=1, max_size=4), order=st.permutations(range(6)))
def test_relabelling_entities_does_not_change_ranks(rows, batch, order):
    moved = [(order[s], r, order[o], t) for s, r, o, t in rows]
    turned = [((order[e], r, order[a], t), {order[k]: v for k, v in s.items()}) for (e, r, a, t), s in batch]
    for filter in FILTERS:
        before = rank(scores_of([s for _, s in batch]), queries_of([q for q, _ in batch]), known(rows), 6, filter)
        after = rank(scores_of([s for _, s in turned]), queries_of([q for q, _ in turned]), known(moved), 6, filter)
        for kind in RANK_TYPES:
            np.testing.assert_array_equal(before.of(kind), after.of(kind))


@given(rows=facts, batch=st.lists(st.tuples(asked, scores), min_size=1, max_size=4))
def test_optimistic_realistic_pessimistic_ranks_are_ordered(rows, batch):
    ranks = rank(
        scores_of([s for _, s in batch]), queries_of([q for q, _ in batch]), known(rows), ENTITIES, "time-aware"
    )
    assert np.all(ranks.of("optimistic") <= ranks.of("realistic"))
    assert np.all(ranks.of("realistic") <= ranks.of("pessimistic"))
    assert np.all(ranks.of("pessimistic") <= ranks.candidates)


def test_rank_types_of_a_tie():
    ranks = rank(scores_of([{0: 3.0, 1: 2.0, 2: 2.0, 3: 2.0}]), queries_of([(5, 0, 2, 0)]), known([]), 6, "time-aware")
    assert [float(ranks.of(kind)[0]) for kind in RANK_TYPES] == [2.0, 3.0, 4.0]


def test_unlisted_answer_is_tied_with_all_unlisted_entities():
    ranks = rank(scores_of([{0: 3.0, 1: 2.0}]), queries_of([(5, 0, 4, 0)]), known([]), 10, "time-aware")
    assert not ranks.covered[0]
    assert [float(ranks.of(kind)[0]) for kind in RANK_TYPES] == [3.0, 6.5, 10.0]
    assert ranks.paper(10)[0] == 10


def test_other_true_answers_are_not_candidates():
    rows = [(5, 0, 0, 0), (5, 0, 1, 0), (5, 0, 2, 0)]
    listed_and_better = rank(scores_of([{0: 9.0, 2: 1.0}]), queries_of([(5, 0, 2, 0)]), known(rows), 6, "time-aware")
    assert (listed_and_better.greater[0], listed_and_better.equal[0], listed_and_better.candidates[0]) == (0, 1, 4)
    nothing_listed = rank(scores_of([{}]), queries_of([(5, 0, 2, 0)]), known(rows), 6, "time-aware")
    assert (nothing_listed.greater[0], nothing_listed.equal[0]) == (0, 4)


def test_only_time_unaware_filter_removes_answers_at_other_times():
    rows = [(5, 0, 0, 0), (5, 0, 2, 1)]
    scores, queries = scores_of([{0: 9.0, 2: 1.0}]), queries_of([(5, 0, 2, 1)])
    assert rank(scores, queries, known(rows), 6, "time-aware").of("realistic")[0] == 2
    assert rank(scores, queries, known(rows), 6, "time-unaware").of("realistic")[0] == 1


def test_query_entity_is_a_candidate():
    ranks = rank(scores_of([{5: 2.0, 1: 1.0}]), queries_of([(5, 0, 5, 0)]), known([]), 6, "time-aware")
    assert ranks.of("realistic")[0] == 1
    ranks = rank(scores_of([{5: 2.0, 1: 1.0}]), queries_of([(5, 0, 1, 0)]), known([]), 6, "time-aware")
    assert ranks.of("realistic")[0] == 2


def test_scores_equal_in_float32_are_not_tied():
    ranks = rank(scores_of([{0: 1.0 + 1e-12, 1: 1.0}]), queries_of([(5, 0, 1, 0)]), known([]), 6, "time-aware")
    assert (ranks.greater[0], ranks.equal[0]) == (1, 1)


def test_memory_is_proportional_to_listed_entities():
    queries, entities, listed = 2_000, 1_000_000, 5
    rng = np.random.default_rng(0)
    scores = Scores(
        np.arange(0, queries * listed + 1, listed),
        np.sort(rng.integers(0, entities // listed, (queries, listed)) * listed + np.arange(listed))
        .astype(np.int32)
        .ravel(),
        rng.random(queries * listed),
    )
    asked = queries_of([(int(e), 0, int(a), 0) for e, a in rng.integers(0, entities, (queries, 2))])
    tracemalloc.start()
    ranks = rank(scores, asked, known([(0, 0, 1, 0)]), entities, "time-aware")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.all(ranks.candidates == entities)
    assert peak < 5e6  # one byte for each of entities × queries would be 2e9


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (Scores.from_dense([[0.0, 1.0]]), "1 queries instead of 2"),
        (Scores(np.array([0, 2, 2]), np.array([3, 3], np.int32), np.zeros(2)), "listed twice"),
        (Scores(np.array([0, 1, 1]), np.array([6], np.int32), np.zeros(1)), r"not in \[0, 6\)"),
        (Scores(np.array([0, 1, 1]), np.array([-1], np.int32), np.zeros(1)), r"not in \[0, 6\)"),
    ],
)
def test_invalid_scores_are_rejected_by_rank(scores, message):
    with pytest.raises(ValueError, match=message):
        rank(scores, queries_of([(5, 0, 2, 0), (5, 0, 3, 0)]), known([]), 6, "time-aware")
