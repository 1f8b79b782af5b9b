"""The policy: compared with plain loops, in special cases, and its gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fitcarl.graph.backward import backward_action_space
from fitcarl.models.titer.action_scores import score_actions
from fitcarl.models.titer.kernels import GatedActions
from fitcarl.models.titer.policy import TiterPolicy, distinct_lags
from tests.models.titer.tiny import FACTS, graph_of, policy_of

ENTITY, RELATION, TIME = (np.array(column, dtype=np.int32) for column in ([0, 1, 4], [2, 0, 3], [8, 5, 1]))


def first_step(policy: TiterPolicy) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """log π of the first step with its mask and the relations of the actions."""
    space = backward_action_space(graph_of(FACTS), ENTITY, TIME, TIME, 50, may_stay=False)
    entities = policy.entity_rows()
    queries = policy.encode_queries(entities, ENTITY, RELATION)
    lag = TIME[:, None] - space.time
    log_policy = policy.log_policy(entities, queries, policy.start(entities, queries), space, space.entity, lag)
    return log_policy, space.mask, space.relation


def test_zero_output_is_uniform_over_the_real_actions() -> None:
    policy = policy_of()
    with torch.no_grad():
        policy.second.weight.zero_()
        policy.second.bias.zero_()
    log_policy, mask, _ = first_step(policy)
    expected = np.where(mask, 1 / mask.sum(1, keepdims=True), 0)
    assert log_policy.exp().detach().numpy() == pytest.approx(expected, abs=1e-6)
    assert mask.sum(1).tolist() == [3, 2, 1]


def test_closed_gate_scores_by_relation_only() -> None:
    policy = policy_of()
    with torch.no_grad():
        policy.gate.bias.fill_(-torch.inf)
    log_policy, mask, relation = first_step(policy)
    before = log_policy.detach().clone()
    with torch.no_grad():
        policy.entity[2:] += 1  # the query entities 0 and 1 stay: they are part of the state
    after, _, _ = first_step(policy)
    assert torch.equal(after[:2].exp(), before[:2].exp())
    same = np.equal.outer(relation[0], relation[0]) & mask[0] & mask[0][:, None]
    values = before[0].exp().numpy()
    assert all(values[i] == pytest.approx(values[j]) for i, j in zip(*np.nonzero(same), strict=True))


def test_open_gate_ignores_the_relation_of_an_action() -> None:
    policy = policy_of()
    with torch.no_grad():
        policy.gate.bias.fill_(torch.inf)
    before, _, _ = first_step(policy)
    with torch.no_grad():
        policy.relation[1] += 1  # no query has this relation, an action of the first query has it
    after, _, relation = first_step(policy)
    assert 1 in relation[0]
    torch.testing.assert_close(after.exp(), before.exp())


def test_kernel_and_its_gradients_equal_a_dense_formulation() -> None:
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    shape, sizes = (4, 6), ((5, 3), (7, 4), (3, 2))
    index = [rng.integers(0, rows, shape).astype(np.int32) for rows, _ in sizes]
    mask = rng.random(shape) < 0.7
    tensors = [torch.randn(4, 9, generator=generator), torch.randn(4, generator=generator)]
    tensors += [torch.randn(*size, generator=generator) for size in sizes]
    tensors += [torch.randn(rows, generator=generator) for rows, _ in sizes]
    for tensor in tensors:
        tensor.requires_grad_()

    def dense() -> torch.Tensor:
        vectors, state_gate, *tables = tensors
        rows = [table[torch.from_numpy(i).long()] for table, i in zip(tables[:3], index, strict=True)]
        gates = [table[torch.from_numpy(i).long()] for table, i in zip(tables[3:], index, strict=True)]
        gate = torch.sigmoid(sum(gates) + state_gate[:, None])
        by_relation = (rows[0] * vectors[:, None, :3]).sum(-1)
        by_entity = (torch.cat(rows[1:], -1) * vectors[:, None, 3:]).sum(-1)
        return ((1 - gate) * by_relation + gate * by_entity) * torch.from_numpy(mask)

    def fast() -> torch.Tensor:
        vectors, state_gate, *tables = tensors
        return score_actions(vectors, state_gate, tuple(tables), GatedActions(*index, mask))

    weight = torch.randn(shape, generator=generator)
    torch.testing.assert_close(fast(), dense(), rtol=1e-5, atol=1e-5)
    fast_gradients = torch.autograd.grad((fast() * weight).sum(), tensors)
    for found, expected in zip(fast_gradients, torch.autograd.grad((dense() * weight).sum(), tensors), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_threads_give_the_same_scores_and_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, found = policy_of(), {}
    states = np.arange(300, dtype=np.int32)
    for threads in ("1", "3"):
        monkeypatch.setenv("FITCARL_THREADS", threads)
        entity, relation, time = states % 5, states % 4, states % 9
        space = backward_action_space(graph_of(FACTS), entity, time, time)
        entities = policy.entity_rows()
        queries = policy.encode_queries(entities, entity, relation)
        history, lag = policy.start(entities, queries), time[:, None] - space.time
        log_policy = policy.log_policy(entities, queries, history, space, space.entity, lag)
        loss = log_policy.masked_fill(~torch.from_numpy(space.mask), 0)[:, 0].sum()
        found[threads] = [log_policy, *torch.autograd.grad(loss, tuple(policy.parameters()), allow_unused=True)]
    for one, three in zip(*found.values(), strict=True):
        torch.testing.assert_close(three, one, rtol=1e-4, atol=1e-4)


def test_distinct_lags_restore_all_lags() -> None:
    lag = np.array([[5, 0, 2_000_000], [5, 7, 0]], dtype=np.int32)
    distinct, row = distinct_lags(lag)
    assert distinct.tolist() == [0, 5, 7, 2_000_000]
    assert np.array_equal(distinct[row], lag)


def test_lag_0_is_encoded_as_ones_at_the_start() -> None:
    policy = policy_of()
    assert policy.encode_lags(np.zeros(1, np.int64)).tolist() == [[1.0] * 3]
    assert policy.frequency.tolist() == pytest.approx([1, 10**-4.5, 1e-9])
    expected = np.cos(24 * 2 * np.array([1, 10**-4.5, 1e-9]))
    assert policy.encode_lags(np.array([2])).tolist()[0] == pytest.approx(expected, abs=1e-6)
