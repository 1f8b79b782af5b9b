"""What is remembered of the days around a question: against a plain sum."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from fitcarl.models.base import GraphContext
from fitcarl.models.plus.encoder.temporal_memory import around, happened
from fitcarl.models.plus.statistics import event_index


@pytest.mark.parametrize(("days", "reach"), [(1.0, 2), (0.5, 4), (0.3, 6), (30.4, 1)])
def test_what_happened_and_its_gradient_are_those_of_a_plain_sum(
    context: GraphContext, days: float, reach: int
) -> None:
    """Two days before and after are remembered, or a tick where that is longer, in five gaps."""
    graph, rng = context.graph, np.random.default_rng(1)
    day, n = event_index(graph), graph.relations.directed
    time = rng.integers(5, 60, 7).astype(np.int32)
    entity, relation = rng.integers(0, graph.entities, 7), rng.integers(0, n, 7)
    place = np.where(np.arange(graph.entities) % 3 == 0, -1, 0)
    place[place == 0] = np.arange((place == 0).sum())
    given = [torch.randn(7, 6), torch.randn(graph.entities, 6), torch.randn(n, n), torch.randn(5)]
    slope = torch.randn(7, place.max() + 1)

    fast = [part.clone().requires_grad_() for part in given]
    mass = happened(around(day, days, entity, relation, time, place), *fast)
    (mass * slope).sum().backward()

    slow = [part.clone().requires_grad_() for part in given]
    rows = []
    for q in range(7):
        row = [torch.zeros(()) for _ in range(place.max() + 1)]
        for t, y, r, x in zip(*(day[f"day_{c}"] for c in ("time", "source", "relation", "target")), strict=True):
            later = int(t) - int(time[q])
            if abs(later) <= reach and place[x] >= 0 and entity[q] not in (x, y):
                gap = math.floor(Fraction(2 * later, reach) + Fraction(1, 2)) + 2
                weight = slow[0][q] @ slow[1][y] + slow[2][relation[q], r] + slow[3][gap]
                row[place[x]] = row[place[x]] + weight.clamp(max=8).exp()
        rows.append(torch.stack(row))
    plain = torch.stack(rows)
    (plain * slope).sum().backward()

    assert float(mass.detach().max()) > 0
    torch.testing.assert_close(mass, plain, rtol=1e-4, atol=1e-4)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-3)


def test_the_memory_and_its_gradient_are_the_same_on_any_number_of_threads(
    context: GraphContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, rng = context.graph, np.random.default_rng(2)
    day, n, queries = event_index(graph), graph.relations.directed, 200
    time, place = rng.integers(5, 60, queries).astype(np.int32), np.arange(graph.entities)
    days = around(day, 1.0, rng.integers(0, graph.entities, queries), rng.integers(0, n, queries), time, place, 20, rng)
    given = [torch.randn(queries, 32), torch.randn(graph.entities, 32), torch.randn(n, n), torch.randn(5)]
    slope = torch.randn(queries, graph.entities)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FITCARL_THREADS", threads)
        parts = [part.clone().requires_grad_() for part in given]
        mass = happened(days, *parts)
        (mass * slope).sum().backward()
        found.append([mass.detach(), *(part.grad for part in parts)])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_of_many_facts_a_part_stands_for_all(context: GraphContext) -> None:
    graph = context.graph
    day, place = event_index(graph), np.arange(graph.entities)
    time, nobody, relation = np.full(400, 30, dtype=np.int32), np.full(400, -1), np.zeros(400, dtype=np.int64)
    directed = graph.relations.directed
    level = torch.zeros(400, 1), torch.zeros(graph.entities, 1), torch.zeros(directed, directed)
    rng = np.random.default_rng(0)
    windows = [around(day, 1.0, nobody, relation, time, place, most, rng) for most in (1000, 9)]
    full, part = (happened(days, *level, torch.zeros(5)) for days in windows)
    assert not torch.equal(full, part)
    torch.testing.assert_close(part.mean(0), full.mean(0), rtol=0.15, atol=0.15)
