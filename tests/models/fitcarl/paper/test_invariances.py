"""Invariances under relabelling, reordering, inversion and shifts of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fitcarl.models.fitcarl.beam import beam_search
from fitcarl.models.fitcarl.network import Fitcarl
from fitcarl.models.paths import entity_scores
from tests.models.fitcarl.paper.reference import Edge
from tests.models.fitcarl.paper.tiny import Query, Tiny, build, opened, random_task

Rename = Callable[[Edge], Edge]
TASK = random_task(9, queries=1)


def all_path_scores(model: Fitcarl, task: Tiny) -> list[dict[tuple[Edge, ...], float]]:
    """Every path of two steps with its log-probability, for every query; model.config.hops must be 2."""
    context, _ = opened(model, task)
    out = []
    for paths in beam_search(model, context, task.query_batch(), beam=10**6):
        for row in range(len(paths.score)):
            log_probs = {}
            for column in np.flatnonzero(np.isfinite(paths.score[row])).tolist():
                steps = (Edge(*(int(x[row, column]) for x in (s.relation, s.entity, s.time))) for s in paths.steps)
                log_probs[tuple(steps)] = float(paths.score[row, column])
            out.append(log_probs)
    return out


def assert_same_up_to(rename: Rename, before: list[dict[Any, float]], after: list[dict[Any, float]]) -> None:
    for one, two in zip(before, after, strict=True):
        assert len(one) > 5
        assert {tuple(map(rename, path)): score for path, score in one.items()} == pytest.approx(two, rel=1e-10)


def test_shift_of_all_times_changes_nothing() -> None:
    model = build(TASK, hops=2)
    for shift in (1, -500, 100_000):
        moved = all_path_scores(model, TASK.moved(shift))
        assert_same_up_to(
            lambda edge, by=shift: edge._replace(time=edge.time + by), all_path_scores(model, TASK), moved
        )


def test_shift_of_all_times_keeps_action_spaces() -> None:
    model = build(TASK, hops=2, action_space=3)
    moved = all_path_scores(model, TASK.moved(77))
    assert_same_up_to(lambda edge: edge._replace(time=edge.time + 77), all_path_scores(model, TASK), moved)


def test_relabelling_entities_only_permutes_scores() -> None:
    model = build(TASK, hops=2)
    number = np.random.default_rng(0).permutation(TASK.entities)
    other = build(TASK, hops=2)
    with torch.no_grad():
        other.entity_rows[number] = model.entity_rows.clone()
    renamed = replace(
        TASK,
        background=[(int(number[s]), r, int(number[o]), t) for s, r, o, t in TASK.background],
        support=[(int(number[e]), (int(number[s]), r, int(number[o]), t)) for e, (s, r, o, t) in TASK.support],
        queries=[Query(int(number[e]), r, t, int(number[o])) for e, r, t, o in TASK.queries],
    )
    before, after = all_path_scores(model, TASK), all_path_scores(other, renamed)
    assert_same_up_to(lambda edge: edge._replace(entity=int(number[edge.entity])), before, after)

    def scores(of: Fitcarl, task: Tiny) -> list[dict[int, float]]:
        context, _ = opened(of, task)
        found = [entity_scores(paths, "sum") for paths in beam_search(of, context, task.query_batch(), beam=10**6)]
        return [dict(zip(a.entity.tolist(), a.score.tolist(), strict=True)) for a in found]

    for one, two in zip(scores(model, TASK), scores(other, renamed), strict=True):
        assert {int(number[entity]): score for entity, score in one.items()} == pytest.approx(two, rel=1e-10)


def inverse(relation: int) -> int:
    return relation if relation >= 6 else (relation + 3) % 6


def test_inverse_query_equals_forward_query_on_the_inverted_graph() -> None:
    task = replace(TASK, queries=[query._replace(relation=3 + query.relation % 3) for query in TASK.queries])
    inverted = replace(
        task,
        background=[(o, r, s, t) for s, r, o, t in task.background],
        support=[(owner, (o, r, s, t)) for owner, (s, r, o, t) in task.support],
        queries=[query._replace(relation=query.relation - 3) for query in task.queries],
    )
    model, swapped = build(task, hops=2), build(task, hops=2)
    with torch.no_grad():
        swapped.relation_rows.copy_(model.relation_rows[[3, 4, 5, 0, 1, 2]])
    before, after = all_path_scores(model, task), all_path_scores(swapped, inverted)
    assert_same_up_to(lambda edge: edge._replace(relation=inverse(edge.relation)), before, after)
    assert np.array_equal(task.concept_prior().probability[3:], inverted.concept_prior().probability[:3])


@pytest.mark.parametrize("config", [{}, {"confidence": False}, {"time_bias": False}], ids=str)
def test_order_of_facts_changes_nothing(config: dict[str, Any]) -> None:
    model = build(TASK, hops=2, action_space=3, **config)
    rng = np.random.default_rng(1)
    supports = [fact for owner in TASK.unseen for fact in reversed([f for f in TASK.support if f[0] == owner])]
    shuffled = replace(
        TASK, background=[TASK.background[i] for i in rng.permutation(len(TASK.background))], support=supports
    )
    assert_same_up_to(lambda edge: edge, all_path_scores(model, TASK), all_path_scores(model, shuffled))


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    task = random_task(10, (1, 2, 3, 2, 1, 3), queries=60)
    model = build(task, hops=2)

    def outcome(count: str) -> list[torch.Tensor]:
        monkeypatch.setenv("FITCARL_THREADS", count)
        context, encoded = opened(model, task)
        state = model.start(context, encoded)
        policy = model.step(context, encoded, state, model.actions(context, encoded, state)).log_policy
        finite = policy.masked_fill(torch.isinf(policy), 0)
        weights = torch.linspace(-1, 1, finite.numel(), dtype=torch.float64).view(finite.shape)
        found = torch.autograd.grad((finite * weights).sum(), list(model.parameters()), allow_unused=True)
        return [finite.detach(), *(gradient for gradient in found if gradient is not None)]

    for one, other in zip(outcome("1"), outcome(threads), strict=True):
        assert torch.allclose(one, other, rtol=1e-9, atol=1e-12)
