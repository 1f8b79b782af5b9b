"""Answers of TITer: compared with all walks one by one, and blind to everything that is not in the past."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fitcarl.config.titer import TiterConfig
from fitcarl.models.titer.beam import ranked_paths, search_walks
from fitcarl.models.titer.inductive_mean import InductiveMean
from fitcarl.models.titer.scorer import TiterScorer
from fitcarl.scoring.scores import Scores
from tests.graph.reference import Fact
from tests.models.titer.reference import SlowPolicy
from tests.models.titer.tiny import FACTS, SUPPORT, UNSEEN, as_dict, graph_of, policy_of, scores_of, task_of

QUERIES = [(UNSEEN, 0, 8), (UNSEEN, 3, 7), (UNSEEN, 2, 5), (UNSEEN, 1, 2)]


def equal(first: Scores, second: Scores) -> bool:
    """Bit for bit."""
    return np.array_equal(first.entity, second.entity) and np.array_equal(first.score, second.score)


def test_unlimited_beam_finds_the_best_of_all_walks() -> None:
    policy = policy_of()
    slow, scores = SlowPolicy(policy), scores_of(policy, FACTS, SUPPORT, QUERIES)
    for number, (entity, relation, time) in enumerate(QUERIES):
        best: dict[int, float] = {}
        for walk in slow.all_walks([*FACTS, *SUPPORT], entity, relation, time):
            best[walk.end] = max(best.get(walk.end, -np.inf), walk.log_probability)
        assert as_dict(scores, number) == pytest.approx(best, abs=2e-5)


def test_explained_paths_are_the_walks() -> None:
    policy, (entity, relation, time) = policy_of(), QUERIES[0]
    graph, task = graph_of([*FACTS, *SUPPORT]), task_of([], QUERIES[:1])
    [kept] = search_walks(policy, policy.entity_rows(), graph, task.queries, task.queries.entity, 10_000)
    paths = ranked_paths(kept)
    slow = sorted(
        SlowPolicy(policy).all_walks([*FACTS, *SUPPORT], entity, relation, time), key=lambda walk: -walk.log_probability
    )
    finite = np.isfinite(paths.score[0])
    assert finite.sum() == len(slow)
    for rank, walk in enumerate(slow[:20]):
        steps = [(int(s.relation[0, rank]), int(s.entity[0, rank]), int(s.time[0, rank])) for s in paths.steps]
        assert tuple(steps) == walk.edges
        assert paths.score[0, rank] == pytest.approx(walk.log_probability, abs=2e-5)
        assert sum(step.log_probability[0, rank] for step in paths.steps) == pytest.approx(paths.score[0, rank])


def test_small_beam_expands_the_last_step_to_all_ends() -> None:
    policy = policy_of()
    narrow, wide = (scores_of(policy, FACTS, SUPPORT, QUERIES[:1], beam=beam) for beam in (1, 10_000))
    assert 1 < len(narrow.entity) <= len(wide.entity)


def test_without_earlier_support_the_walk_stays() -> None:
    scores = scores_of(policy_of(), FACTS, SUPPORT, [(UNSEEN, 0, 2), (UNSEEN, 1, 0)])
    for number in range(2):
        assert as_dict(scores, number) == {UNSEEN: 0.0}


FUTURE = st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 5), st.integers(5, 30))


@settings(max_examples=30)
@given(st.lists(FUTURE, max_size=20, unique=True), st.lists(FUTURE, max_size=5, unique=True))
def test_facts_at_or_after_the_query_time_change_nothing(background: list[Fact], support: list[Fact]) -> None:
    policy, query = policy_of(), [(UNSEEN, 2, 5)]
    past = [fact for fact in FACTS if fact[3] < 5]
    known = [fact for fact in SUPPORT if fact[3] < 5]
    about = [(UNSEEN, r, o, t) for _, r, o, t in support]
    poisoned = scores_of(policy, [*past, *background], [*known, *about], query)
    assert equal(poisoned, scores_of(policy, past, known, query))


@settings(max_examples=15)
@given(st.integers(-1000, 1000))
def test_shifting_all_times_changes_nothing(shift: int) -> None:
    def moved(facts: list[Fact]) -> list[Fact]:
        return [(s, r, o, t + shift) for s, r, o, t in facts]

    policy = policy_of()
    shifted = scores_of(policy, moved(FACTS), moved(SUPPORT), [(e, r, t + shift) for e, r, t in QUERIES])
    assert equal(shifted, scores_of(policy, FACTS, SUPPORT, QUERIES))


def test_lags_are_counted_in_hours() -> None:
    days, hours = policy_of(days_per_tick=1.0), policy_of(days_per_tick=1 / 24)

    def scale(facts: list[Fact]) -> list[Fact]:
        return [(s, r, o, 24 * t) for s, r, o, t in facts]

    scores = scores_of(hours, scale(FACTS), scale(SUPPORT), [(e, r, 24 * t) for e, r, t in QUERIES])
    expected = scores_of(days, FACTS, SUPPORT, QUERIES)
    assert np.array_equal(scores.entity, expected.entity)
    assert scores.score == pytest.approx(expected.score, abs=1e-5)


def test_inductive_mean_equals_a_network_with_the_shifted_row() -> None:
    policy, (_, relation, _) = policy_of(), QUERIES[0]
    subjects = sorted({s for s, r, _, _ in FACTS if r == relation})
    shifted = policy_of()
    with torch.no_grad():
        shifted.entity[UNSEEN] = 0.1 * policy.entity[UNSEEN] + 0.9 * policy.entity[subjects].mean(0)
    with_mean = scores_of(policy, FACTS, SUPPORT, QUERIES[:1], inductive_mean=True)
    expected = scores_of(shifted, FACTS, SUPPORT, QUERIES[:1])
    assert as_dict(with_mean) == pytest.approx(as_dict(expected), abs=1e-5)
    assert as_dict(with_mean) != pytest.approx(as_dict(scores_of(policy, FACTS, SUPPORT, QUERIES[:1])), abs=1e-3)
    own = scores_of(policy, FACTS, SUPPORT, QUERIES[:1], inductive_mean=True, inductive_share=1.0)
    assert as_dict(own) == pytest.approx(as_dict(scores_of(policy, FACTS, SUPPORT, QUERIES[:1])), abs=1e-6)


def test_inductive_mean_does_not_accumulate() -> None:
    policy = policy_of()
    before = policy.entity.detach().clone()
    config = TiterConfig.model_validate({"search": {"inductive_mean": True}})
    scorer, task = TiterScorer(policy, graph_of(FACTS), config), task_of(SUPPORT, QUERIES)
    first = scorer.score(task, task.queries)
    assert equal(scorer.score(task, task.queries), first)
    assert torch.equal(policy.entity, before)


def test_inductive_mean_leaves_seen_entities_alone() -> None:
    policy = policy_of()
    mean = InductiveMean.of(graph_of(FACTS), policy.entity.detach())
    queries = task_of([], [(0, 0, 8), (UNSEEN, 0, 8)]).queries
    further, row = mean.shift(policy.entity.detach(), queries, 0.1)
    assert row.tolist() == [0, len(policy.entity)]
    assert len(further) == 1
