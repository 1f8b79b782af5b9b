"""The softmax objective against a plain computation, in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.config.factorization import FactorizationConfig
from fitcarl.config.settings import configure
from fitcarl.models.factorization.loss import softmax_cross_entropy
from fitcarl.models.factorization.objective import FactBatch, QueryIds, SupportBatch
from fitcarl.models.factorization.score_function import Tables
from fitcarl.models.factorization.trainable import objective_of

MODELS = ("complex", "bique", "tntcomplex", "telm")
E, R, T = 9, 2, 4


def _objective_and_tables(name: str, n3_weight: float = 0.0) -> tuple[object, Tables]:
    settings = ["embedding.dim=16", f"training.n3_weight={n3_weight}"]
    settings += ["training.smoothness_weight=0"] if name in ("tntcomplex", "telm") else []
    config = configure(settings=settings, model=name)
    assert isinstance(config, FactorizationConfig)
    objective = objective_of(config)
    tables = objective.initial_tables(E, 2 * R, T, torch.Generator().manual_seed(0))
    random = np.random.default_rng(0)
    rows = {
        key: torch.from_numpy(random.normal(size=tuple(value.shape))) * 0.7
        for key, value in vars(tables).items()
        if value is not None
    }
    return objective, replace(tables, **rows)


def _log_softmax(objective: object, tables: Tables, queries: QueryIds) -> Tensor:
    return torch.log_softmax(objective.scores(tables, queries), dim=1)  # type: ignore[attr-defined]


def test_cross_entropy_equals_autograd() -> None:
    random = np.random.default_rng(1)
    queries, candidates = (torch.from_numpy(random.normal(size=(n, 5))).requires_grad_() for n in (4, 6))
    row, column = torch.tensor([0, 0, 1, 3]), torch.tensor([2, 5, 0, 1])
    weight = torch.tensor([1.0, 3.0, 2.0, 1.0]).double()
    log_weight = torch.from_numpy(random.normal(size=6))
    log_weight[column] = 0
    found = softmax_cross_entropy(queries, candidates, row, column, weight, log_weight)
    plain = -(weight * torch.log_softmax(queries @ candidates.T + log_weight, dim=1)[row, column]).sum()
    assert found.item() == pytest.approx(plain.item())
    for one, other in zip(
        torch.autograd.grad(found, (queries, candidates)),
        torch.autograd.grad(plain, (queries, candidates)),
        strict=True,
    ):
        assert torch.allclose(one, other)


@pytest.mark.parametrize("name", MODELS)
def test_grouped_queries_have_the_loss_of_their_facts(name: str) -> None:
    objective, tables = _objective_and_tables(name)
    queries = QueryIds(torch.tensor([0, 3]), torch.tensor([1, 2]), torch.tensor([0, 3]))
    batch = FactBatch(queries, torch.tensor([0, 0, 1]), torch.tensor([4, 5, 0]), torch.tensor([2.0, 1.0, 1.0]).double())
    loss, _ = objective.loss(tables, batch, torch.Generator())  # type: ignore[attr-defined]
    log_probability = _log_softmax(objective, tables, queries)
    facts = [log_probability[0, 4], log_probability[0, 4], log_probability[0, 5], log_probability[1, 0]]
    assert loss.item() == pytest.approx(-sum(fact.item() for fact in facts) / 4)


@pytest.mark.parametrize("name", MODELS)
def test_support_loss_is_the_loss_of_both_directions(name: str) -> None:
    """The entity whose row is solved is the last one; entity 7 is no candidate."""
    objective, tables = _objective_and_tables(name)
    candidates = torch.tensor([0, 1, 2, 3, 4, 5, 6])
    relation, neighbour, tick = torch.tensor([0, 3, 1]), torch.tensor([2, 2, 6]), torch.tensor([1, 0, 2])
    support = SupportBatch(torch.tensor([0, 0, 0]), relation, neighbour, tick, candidates)
    row = torch.from_numpy(np.random.default_rng(5).normal(size=(1, 16)))
    found = objective.support_loss(tables, support)(row)  # type: ignore[attr-defined]

    with_row = replace(tables, entity=torch.cat((tables.entity[candidates], row)))
    own, inverse = torch.full((3,), 7), (relation + R) % (2 * R)
    forward = objective.scores(with_row, QueryIds(own, relation, tick))[:, :7]  # type: ignore[attr-defined]
    backward = objective.scores(with_row, QueryIds(neighbour, inverse, tick))  # type: ignore[attr-defined]
    position = torch.arange(3)
    expected = -torch.log_softmax(forward, dim=1)[position, neighbour] - torch.log_softmax(backward, dim=1)[position, 7]
    assert found.item() == pytest.approx(expected.mean().item() / 2)


@pytest.mark.parametrize("name", MODELS)
def test_regulariser_is_weighted_per_fact(name: str) -> None:
    queries = QueryIds(torch.tensor([0, 3]), torch.tensor([1, 2]), torch.tensor([0, 3]))
    batch = FactBatch(queries, torch.tensor([0, 0, 1]), torch.tensor([4, 5, 0]), torch.tensor([2.0, 1.0, 1.0]).double())
    losses = []
    for n3_weight in (0.0, 0.5):
        objective, tables = _objective_and_tables(name, n3_weight)
        losses.append(objective.loss(tables, batch, torch.Generator())[0].item())  # type: ignore[attr-defined]
    score = objective._score  # type: ignore[attr-defined]
    rows = tables.entity[queries.entity], tables.relation[queries.relation], tables.time_rows(queries.tick)
    query, answer = score.query_penalty(*rows), score.answer_penalty(tables.entity[batch.answer])
    expected = (3 * query[0] + query[1] + 2 * answer[0] + answer[1] + answer[2]) / 4
    assert losses[1] - losses[0] == pytest.approx(0.5 * expected.item())


@pytest.mark.parametrize("name", MODELS)
def test_support_loss_has_the_regulariser_of_both_directions(name: str) -> None:
    support = SupportBatch(*(torch.tensor(ids) for ids in ([0], [1], [2], [0], [0, 1, 2, 3])))
    row = torch.from_numpy(np.random.default_rng(5).normal(size=(1, 16)))
    losses = []
    for n3_weight in (0.0, 0.5):
        objective, tables = _objective_and_tables(name, n3_weight)
        losses.append(objective.support_loss(tables, support)(row).item())  # type: ignore[attr-defined]
    score = objective._score  # type: ignore[attr-defined]
    time = tables.time_rows(torch.tensor([0]))
    expected = score.query_penalty(row, tables.relation[1:2], time) + score.answer_penalty(row)
    assert losses[1] - losses[0] == pytest.approx(0.5 * expected.item() / 2)
