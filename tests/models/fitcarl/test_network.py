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
def test_time_difference_beyond_the_table_raises(sampling: str, time: int) -> None:
    """Facts lie in 0..11: a query at 6 is near all of them, but two facts are 11 ticks apart."""
    model = build(TASK, sampling=sampling)
    context = model.encode_task(TASK.graph(), TASK.meta(), 10)
    queries = replace(TASK, queries=[query._replace(time=time) for query in TASK.queries]).query_batch()
    with pytest.raises(ValueError, match="beyond the time table, which ends at 10"):
        model.encode_queries(context, queries)


def test_smallest_sufficient_time_table_is_accepted() -> None:
    model = build(TASK)
    first, last = TASK.graph().with_facts(TASK.meta().facts).time_range
    exact, padded = (model.encode_task(TASK.graph(), TASK.meta(), max_delta) for max_delta in (last - first, REACH))
    for time in (first, last):
        queries = replace(TASK, queries=[query._replace(time=time) for query in TASK.queries]).query_batch()
        assert torch.allclose(
            model.encode_queries(exact, queries).vectors, model.encode_queries(padded, queries).vectors, rtol=1e-12
        )


def test_seen_entities_use_pretrained_rows_and_unseen_ones_their_support() -> None:
    model = build(TASK)
    context, _ = opened(model, TASK)
    encoded = np.array([3, TASK.unseen[1], 0, TASK.unseen[0], TASK.unseen[1]], dtype=np.int32)
    expected = [
        model.entity_rows[3],
        context.embeddings.unseen_embeddings[1],
        model.entity_rows[0],
        *context.embeddings.unseen_embeddings[:2],
    ]
    assert torch.equal(context.embed(encoded), torch.stack(expected))


def test_search_starts_at_the_query_entity_and_time() -> None:
    model = build(TASK)
    context, encoded = opened(model, TASK)
    state = model.start(context, encoded)
    assert state.entity.tolist() == [query.entity for query in TASK.queries]
    assert state.time.tolist() == [query.time for query in TASK.queries]
    assert state.history.shape == (len(TASK.queries), 3 * 4)


def test_taking_encoded_queries_equals_encoding_the_selection() -> None:
    model = build(TASK)
    context, encoded = opened(model, TASK)
    some = torch.tensor([2, 0, 0, 5])
    taken, separate = encoded.take(some), model.encode_queries(context, TASK.query_batch().take(some.numpy()))
    for name in ("entity", "relation", "time"):
        assert np.array_equal(getattr(taken, name), getattr(separate, name))
    assert torch.allclose(taken.entity_embedding, separate.entity_embedding, rtol=1e-12)
    assert torch.allclose(taken.vectors, separate.vectors, rtol=1e-12)


def test_pretrained_rows_are_parameters_only_with_finetuning() -> None:
    frozen, tuned = build(TASK), build(TASK, finetune=True)
    assert set(frozen.state_dict()) == set(tuned.state_dict())
    extra = {name for name, _ in tuned.named_parameters()} - {name for name, _ in frozen.named_parameters()}
    assert extra == {"entity_rows", "relation_rows"}


def test_empty_batch_of_queries_is_supported() -> None:
    model = build(TASK)
    context, _ = opened(model, TASK)
    empty = np.empty(0, dtype=np.int32)
    encoded = model.encode_queries(context, Queries(empty, empty, empty, empty))
    state = model.start(context, encoded)
    space = model.actions(context, encoded, state)
    assert model.step(context, encoded, state, space).log_policy.shape == (0, 1)
