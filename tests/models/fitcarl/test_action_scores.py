from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.models.fitcarl.action_scores import ActionEmbeddings, ActionIndex, action_scores

D, RELATIONS, ENTITIES, TIMES, UNSEEN = 5, 8, 12, 9, 3


def made(
    states: int, dtype: torch.dtype, frozen: int, learn: bool
) -> tuple[Tensor, Tensor, ActionEmbeddings, ActionIndex]:
    """Random vectors, tables and actions; entities 0 to 2 are unseen and each state's query entity is one of them."""
    rng = np.random.default_rng(states)

    def table(*shape: int) -> Tensor:
        return torch.tensor(rng.normal(size=shape), dtype=dtype)

    unseen_row = np.full(ENTITIES, -1, dtype=np.int32)
    unseen_row[:UNSEEN] = [2, 0, 1]
    width = 7
    index = ActionIndex(
        rng.integers(0, UNSEEN, states).astype(np.int32),
        rng.integers(0, RELATIONS, (states, width)).astype(np.int32),
        rng.integers(0, ENTITIES, (states, width)).astype(np.int32),
        rng.integers(0, TIMES, (states, width)).astype(np.int32),
        rng.integers(1, width + 1, states),
    )
    rows = ActionEmbeddings(
        table(RELATIONS, D).requires_grad_(),
        frozen,
        table(ENTITIES, D).requires_grad_(learn),
        table(TIMES, D).requires_grad_(),
        table(UNSEEN, D).requires_grad_(),
        unseen_row,
    )
    return table(states, 5, 3 * D).requires_grad_(), table(states, D).requires_grad_(), rows, index


def scores(vectors: Tensor, query_entity: Tensor, rows: ActionEmbeddings, index: ActionIndex) -> Tensor:
    return action_scores(vectors[:, :2], vectors[:, 2:], query_entity, rows, index)


def dense(vectors: Tensor, query_entity: Tensor, rows: ActionEmbeddings, index: ActionIndex) -> Tensor:
    """The same by gathering [states, actions, 3d]."""
    relation = rows.relation[torch.from_numpy(index.relation.astype(np.int64))]
    relation = torch.cat([rows.relation[: rows.frozen_relations].detach(), rows.relation[rows.frozen_relations :]])[
        torch.from_numpy(index.relation.astype(np.int64))
    ]
    entity = []
    for state in range(len(vectors)):
        line = []
        for node in index.entity[state].tolist():
            if node == index.query_entity[state]:
                line.append(query_entity[state])
            elif rows.unseen_row[node] >= 0:
                line.append(rows.unseen_embeddings[int(rows.unseen_row[node])])
            else:
                line.append(rows.entity[node])
        entity.append(torch.stack(line))
    time = rows.time[torch.from_numpy(index.difference.astype(np.int64))]
    x = torch.cat([relation, torch.stack(entity), time], -1)
    exists = torch.arange(index.relation.shape[1]) < torch.from_numpy(index.action_count).unsqueeze(1)
    return torch.einsum("wjk,wak->wja", vectors, x) * exists.unsqueeze(1)


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("frozen", [0, RELATIONS - 2])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_scores_and_gradients_equal_those_of_gathered_rows(
    dtype: torch.dtype, tolerance: float, frozen: int, learn: bool
) -> None:
    vectors, query_entity, rows, index = made(30, dtype, frozen, learn)
    actual, dense_scores = scores(vectors, query_entity, rows, index), dense(vectors, query_entity, rows, index)
    assert actual.dtype == dtype
    assert torch.allclose(actual, dense_scores, rtol=tolerance, atol=tolerance)
    weights = torch.randn(actual.shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    inputs = [vectors, query_entity, rows.relation, rows.time, rows.unseen_embeddings] + [rows.entity] * learn
    found = torch.autograd.grad((actual * weights).sum(), inputs)
    expected = torch.autograd.grad((dense_scores * weights).sum(), inputs)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=tolerance, atol=10 * tolerance)
    assert not found[2][:frozen].any()
    assert found[2][frozen:].any()


@pytest.mark.parametrize("threads", ["2", "3", "7"])
def test_number_of_threads_changes_only_rounding(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    vectors, query_entity, rows, index = made(470, torch.float64, 0, True)
    inputs = [vectors, query_entity, rows.relation, rows.time, rows.unseen_embeddings, rows.entity]

    def run(count: str) -> tuple[Tensor, ...]:
        monkeypatch.setenv("FITCARL_THREADS", count)
        out = scores(vectors, query_entity, rows, index)
        return out.detach(), *torch.autograd.grad(out.pow(2).sum(), inputs)

    alone, together, again = run("1"), run(threads), run(threads)
    for one, other, repeated in zip(alone, together, again, strict=True):
        assert torch.allclose(one, other, rtol=1e-11, atol=1e-11)
        assert torch.equal(other, repeated)  # and the same number of threads gives the same bits
    assert torch.equal(alone[0], together[0])


def test_padding_behind_the_last_action_is_ignored() -> None:
    vectors, query_entity, rows, index = made(30, torch.float64, 0, True)
    behind = np.arange(7) >= index.action_count[:, None]
    other = index._replace(
        relation=np.where(behind, 1, index.relation).astype(np.int32),
        entity=np.where(behind, 5, index.entity).astype(np.int32),
        difference=np.where(behind, 0, index.difference).astype(np.int32),
    )
    assert behind.any()
    inputs = [vectors, query_entity, rows.relation, rows.time, rows.unseen_embeddings, rows.entity]
    out, changed = scores(vectors, query_entity, rows, index), scores(vectors, query_entity, rows, other)
    assert torch.equal(out, changed)
    assert not out.detach().numpy().transpose(0, 2, 1)[behind].any()
    weights = torch.randn_like(out)
    for one, two in zip(
        torch.autograd.grad((out * weights).sum(), inputs),
        torch.autograd.grad((changed * weights).sum(), inputs),
        strict=True,
    ):
        assert torch.equal(one, two)


def test_pretrained_rows_of_unseen_entities_are_ignored() -> None:
    vectors, query_entity, rows, index = made(30, torch.float64, 0, True)
    with torch.no_grad():
        spoilt = rows.entity.clone()
        spoilt[:UNSEEN] = torch.nan
    spoilt.requires_grad_()
    out = scores(vectors, query_entity, replace(rows, entity=spoilt), index)
    assert torch.equal(out, scores(vectors, query_entity, rows, index))
    (gradient,) = torch.autograd.grad(out.sum(), [spoilt])
    assert not gradient[:UNSEEN].any()
