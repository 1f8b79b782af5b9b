"""Typical mistakes of reimplementations of the paper; each test excludes one of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fitcarl.graph.actions import ActionSpace
from fitcarl.models.fitcarl.network import Fitcarl, SearchState, TaskContext
from fitcarl.tasks.task import Queries
from tests.models.fitcarl.paper.tiny import REACH, Query, Tiny, build, opened, random_task
from tests.models.fitcarl.paper.walks import Taken, at_random, walk

TASK = random_task(8)


def with_answers_at_home(task: Tiny) -> Tiny:
    return replace(task, queries=[query._replace(answer=query.entity) for query in task.queries])


def test_support_of_an_earlier_task_does_not_leak() -> None:
    model, background = build(TASK), TASK.graph()
    edges = background.edges
    first = model.encode_task(background, TASK.meta(), REACH)
    other = replace(TASK, support=[(owner, (s, r, o, t + 100)) for owner, (s, r, o, t) in TASK.support])
    second = model.encode_task(background, other.meta(), REACH + 100)
    assert background.edges == edges
    assert len(first.graph.overlay) > 0
    assert min(second.graph.overlay.time) >= 100


def test_padding_has_zero_probability_in_both_softmaxes() -> None:
    taken = walk(build(TASK), *opened(build(TASK), TASK), at_random(0))
    for step in taken:
        padding = ~step.space.mask
        assert padding.any()
        assert step.step.confidence is not None
        for distribution in (step.step.log_policy.exp(), step.step.probability, step.step.confidence):
            assert (distribution[torch.from_numpy(padding)] == 0).all()
            assert torch.allclose(distribution.sum(1), torch.ones(len(distribution), dtype=torch.float64))


def test_content_of_padding_changes_nothing() -> None:
    model = build(TASK)
    context, encoded = opened(model, TASK)
    state = model.start(context, encoded)
    space = model.actions(context, encoded, state)

    def filled(column: np.ndarray, value: int) -> np.ndarray:
        return np.where(space.mask, column, value).astype(np.int32)

    other = ActionSpace(
        filled(space.relation, 1), filled(space.entity, 2), filled(space.time, 3), space.mask, space.edge
    )
    parameters = list(model.parameters())

    def outcome(actions: ActionSpace) -> list[torch.Tensor]:
        step = model.step(context, encoded, state, actions)
        mask = torch.from_numpy(actions.mask)
        weights = torch.linspace(-1, 1, mask.numel(), dtype=torch.float64).view(mask.shape)
        loss = (step.log_policy.masked_fill(~mask, 0) * weights).sum()
        return [step.log_policy, *torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)]

    for one, two in zip(outcome(space), outcome(other), strict=True):
        assert (one is None and two is None) or torch.equal(one, two)


def test_policy_of_a_query_does_not_depend_on_the_batch() -> None:
    model = build(TASK)
    context, encoded = opened(model, TASK)
    queries = TASK.query_batch()
    together = walk(model, context, encoded, lambda _, space: torch.from_numpy(space.mask.sum(1) - 1))
    order = np.random.default_rng(0).permutation(len(queries))
    shuffled = walk(
        model,
        context,
        model.encode_queries(context, queries.take(order)),
        lambda _, space: torch.from_numpy(space.mask.sum(1) - 1),
    )
    for step, other in zip(together, shuffled, strict=True):
        for row, original in enumerate(order.tolist()):
            assert other.actions(row) == step.actions(original)
            exists = other.space.mask[row]
            expected = step.step.log_policy[original][step.space.mask[original]]
            assert torch.allclose(other.step.log_policy[row][exists], expected, rtol=1e-12)


def test_query_entity_is_encoded_at_its_own_query_time() -> None:
    model = build(TASK)
    context, encoded = opened(model, TASK)
    queries = TASK.query_batch()
    later = Queries(
        queries.entity, queries.relation, queries.time + np.eye(len(queries), dtype=np.int32)[1], queries.answer
    )
    moved = model.encode_queries(context, later).entity_embedding
    assert (moved == encoded.entity_embedding).all(1).tolist() == [row != 1 for row in range(len(queries))]
    assert (moved[1] - encoded.entity_embedding[1]).abs().max() > 1e-4


def test_actions_are_sampled_by_query_time_not_current_time() -> None:
    model = build(TASK, action_space=3)
    context, encoded = opened(model, TASK)
    state = model.start(context, encoded)
    everywhere = SearchState(np.arange(len(encoded), dtype=np.int32) % 7, state.time, state.history)

    def edges(time: np.ndarray) -> list[set[tuple[int, ...]]]:
        space = model.actions(context, encoded, replace(everywhere, time=time.astype(np.int32)))
        taken = Taken(space, None, torch.zeros(0))  # type: ignore[arg-type]
        return [set(taken.actions(row)[1:]) for row in range(len(encoded))]

    assert edges(state.time) == edges(state.time + 3) == edges(state.time * 0)
    later = model.encode_queries(context, Queries(encoded.entity, encoded.relation, encoded.time + 3, encoded.entity))
    space = model.actions(context, later, everywhere)
    taken = Taken(space, None, torch.zeros(0))  # type: ignore[arg-type]
    assert [set(taken.actions(row)[1:]) for row in range(len(encoded))] != edges(state.time)


@pytest.mark.parametrize("finetune", [False, True])
def test_pretrained_rows_of_unseen_entities_are_neither_read_nor_trained(finetune: bool) -> None:
    """Some support facts connect two unseen entities, and paths visit unseen entities."""
    task = with_answers_at_home(TASK)
    assert any(s in task.unseen and o in task.unseen for _, (s, _, o, _) in task.support)
    model = build(task, finetune=finetune)

    def outcome() -> list[torch.Tensor]:
        return [step.step.log_policy for step in walk(model, *opened(model, task), at_random(0))]

    before = outcome()
    if finetune:
        loss = sum(policy[torch.isfinite(policy)].pow(2).sum() for policy in before)
        (gradient,) = torch.autograd.grad(loss, [model.entity_rows])  # type: ignore[arg-type]
        assert gradient.any()
        assert not gradient[task.unseen].any()
    with torch.no_grad():
        model.entity_rows[task.unseen] = 17.0
    for one, two in zip(before, outcome(), strict=True):
        assert torch.equal(one, two)


def met(model: Fitcarl, context: TaskContext, asking: Query, relation: int, entity: int, time: int) -> torch.Tensor:
    """The history after one step to a node."""
    one = np.array([[asking.entity, asking.relation, asking.time, asking.answer]], dtype=np.int32).T
    encoded = model.encode_queries(context, Queries(*one))
    step = (np.array([value], dtype=np.int32) for value in (relation, entity, time))
    return model.advance(context, encoded, model.start(context, encoded), *step).history


def test_other_unseen_entities_are_represented_by_their_own_support() -> None:
    model = build(TASK)
    here, there = TASK.unseen[:2]
    asking = Query(here, 0, 4, 0)
    before = met(model, model.encode_task(TASK.graph(), TASK.meta(), REACH), asking, 1, there, 5)
    changed = replace(
        TASK, support=[(owner, (s, (r + 1) % 3 if owner == there else r, o, t)) for owner, (s, r, o, t) in TASK.support]
    )
    after = met(model, model.encode_task(TASK.graph(), changed.meta(), REACH), asking, 1, there, 5)
    assert (before - after).abs().max() > 1e-4


def test_returning_to_the_query_entity_uses_its_embedding_at_query_time() -> None:
    model = build(TASK)
    context = model.encode_task(TASK.graph(), TASK.meta(), REACH)
    here = TASK.unseen[0]
    early, late = (met(model, context, Query(here, 0, t, 0), 1, here, t) for t in (1, 9))
    assert (early - late).abs().max() > 1e-4  # the time of the node relative to its query is 0 in both


def test_inverse_queries_use_the_row_of_the_inverse_relation() -> None:
    model = build(TASK)
    context = model.encode_task(TASK.graph(), TASK.meta(), REACH)
    here = np.full(6, TASK.unseen[0], np.int32)
    queries = Queries(here, np.arange(6, dtype=np.int32), here * 0 + 4, here)
    before = model.encode_queries(context, queries).vectors
    with torch.no_grad():
        model.relation_rows[4] += 1  # the inverse of relation 1; supports were encoded before
    after = model.encode_queries(context, queries).vectors
    assert [bool((before[r] != after[r]).any()) for r in range(6)] == [False, False, False, False, True, False]
