from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fitcarl.tasks.task import Queries
from tests.models.fitcarl.paper.tiny import REACH, build, opened, random_task

TASK = random_task(60)


@pytest.mark.parametrize("sampling", ["adaptive", "nearest", "random"])
@pytest.mark.parametrize("time", [-9, 6, 30])
def test_a_time_difference_beyond_the_table_is_noticed(sampling: str, time: int) -> None:
    """Facts lie in 0..11: a query at 6 is near to all of them, but one fact is 11 ticks away from another."""
    model = build(TASK, sampling=sampling)
    scene = model.scene(TASK.graph(), TASK.meta(), 10)
    queries = replace(TASK, queries=[query._replace(time=time) for query in TASK.queries]).asked()
    with pytest.raises(ValueError, match="beyond the table, which ends at 10"):
        model.ask(scene, queries)


def test_a_table_that_just_suffices_is_enough() -> None:
    model = build(TASK)
    first, last = TASK.graph().overlay(TASK.meta().facts).time_range
    exact, wide = (model.scene(TASK.graph(), TASK.meta(), reach) for reach in (last - first, REACH))
    for time in (first, last):
        queries = replace(TASK, queries=[query._replace(time=time) for query in TASK.queries]).asked()
        assert torch.allclose(model.ask(exact, queries).vectors, model.ask(wide, queries).vectors, rtol=1e-12)


def test_seen_entities_are_as_pretrained_and_unseen_ones_as_their_support_says() -> None:
    model = build(TASK)
    scene, _ = opened(model, TASK)
    asked = np.array([3, TASK.unseen[1], 0, TASK.unseen[0], TASK.unseen[1]], dtype=np.int32)
    expected = [model.entity_rows[3], scene.rows.resting[1], model.entity_rows[0], *scene.rows.resting[:2]]
    assert torch.equal(scene.represent(asked), torch.stack(expected))


def test_agents_start_at_the_new_entity_when_the_query_asks() -> None:
    model = build(TASK)
    scene, asked = opened(model, TASK)
    walkers = model.start(scene, asked)
    assert walkers.entity.tolist() == [query.entity for query in TASK.queries]
    assert walkers.time.tolist() == [query.time for query in TASK.queries]
    assert walkers.history.shape == (len(TASK.queries), 3 * 4)


def test_taking_some_of_what_was_asked_equals_asking_some() -> None:
    model = build(TASK)
    scene, asked = opened(model, TASK)
    some = torch.tensor([2, 0, 0, 5])
    taken, alone = asked.take(some), model.ask(scene, TASK.asked().take(some.numpy()))
    for name in ("entity", "relation", "time"):
        assert np.array_equal(getattr(taken, name), getattr(alone, name))
    assert torch.allclose(taken.own, alone.own, rtol=1e-12)
    assert torch.allclose(taken.vectors, alone.vectors, rtol=1e-12)


def test_pretrained_rows_are_weights_only_where_they_are_finetuned() -> None:
    frozen, tuned = build(TASK), build(TASK, finetune=True)
    assert set(frozen.state_dict()) == set(tuned.state_dict())
    extra = {name for name, _ in tuned.named_parameters()} - {name for name, _ in frozen.named_parameters()}
    assert extra == {"entity_rows", "relation_rows"}


def test_no_query_is_no_trouble() -> None:
    model = build(TASK)
    scene, _ = opened(model, TASK)
    nobody = np.empty(0, dtype=np.int32)
    asked = model.ask(scene, Queries(nobody, nobody, nobody, nobody))
    walkers = model.start(scene, asked)
    space = model.actions(scene, asked, walkers)
    assert model.step(scene, asked, walkers, space).log_policy.shape == (0, 1)
