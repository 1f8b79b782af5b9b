"""The temporal memory against a plain sum."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from fitcarl.models.base import GraphContext
from fitcarl.models.plus.encoder.temporal_memory import event_mass, event_window
from fitcarl.models.plus.event_index import event_index


@pytest.mark.parametrize(("units_per_tick", "reach"), [(1.0, 2), (0.5, 4), (0.3, 6), (30.4, 1)])
def test_event_mass_and_gradient_match_a_plain_sum(context: GraphContext, units_per_tick: float, reach: int) -> None:
    """The window is two days before and after t_q, or one tick if that is longer, in five buckets."""
    graph, rng = context.graph, np.random.default_rng(1)
    events, n = event_index(graph), graph.relations.directed
    time = rng.integers(5, 60, 7).astype(np.int32)
    entity, relation = rng.integers(0, graph.entities, 7), rng.integers(0, n, 7)
    column = np.where(np.arange(graph.entities) % 3 == 0, -1, 0)
    column[column == 0] = np.arange((column == 0).sum())
    given = [torch.randn(7, 6), torch.randn(graph.entities, 6), torch.randn(n, n), torch.randn(5)]
    slope = torch.randn(7, column.max() + 1)

    fast = [part.clone().requires_grad_() for part in given]
    mass = event_mass(event_window(events, units_per_tick, entity, relation, time, column), *fast)
    (mass * slope).sum().backward()

    slow = [part.clone().requires_grad_() for part in given]
    rows = []
    for q in range(7):
        row = [torch.zeros(()) for _ in range(column.max() + 1)]
        for t, y, r, x in zip(*(events[f"event_{c}"] for c in ("time", "source", "relation", "target")), strict=True):
            ticks = int(t) - int(time[q])
            if abs(ticks) <= reach and column[x] >= 0 and entity[q] not in (x, y):
                gap = math.floor(Fraction(2 * ticks, reach) + Fraction(1, 2)) + 2
                weight = slow[0][q] @ slow[1][y] + slow[2][relation[q], r] + slow[3][gap]
                row[column[x]] = row[column[x]] + weight.clamp(max=8).exp()
        rows.append(torch.stack(row))
    plain = torch.stack(rows)
    (plain * slope).sum().backward()

    assert float(mass.detach().max()) > 0
    torch.testing.assert_close(mass, plain, rtol=1e-4, atol=1e-4)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-3)


def test_event_mass_and_gradient_do_not_depend_on_threads(
    context: GraphContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, rng = context.graph, np.random.default_rng(2)
    events, n, queries = event_index(graph), graph.relations.directed, 200
    time, column = rng.integers(5, 60, queries).astype(np.int32), np.arange(graph.entities)
    window = event_window(
        events, 1.0, rng.integers(0, graph.entities, queries), rng.integers(0, n, queries), time, column, 20, rng
    )
    given = [torch.randn(queries, 32), torch.randn(graph.entities, 32), torch.randn(n, n), torch.randn(5)]
    slope = torch.randn(queries, graph.entities)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FITCARL_THREADS", threads)
        parts = [part.clone().requires_grad_() for part in given]
        mass = event_mass(window, *parts)
        (mass * slope).sum().backward()
        found.append([mass.detach(), *(part.grad for part in parts)])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_sampled_events_represent_all_events(context: GraphContext) -> None:
    graph = context.graph
    events, column = event_index(graph), np.arange(graph.entities)
    time, none, relation = np.full(400, 30, dtype=np.int32), np.full(400, -1), np.zeros(400, dtype=np.int64)
    directed = graph.relations.directed
    level = torch.zeros(400, 1), torch.zeros(graph.entities, 1), torch.zeros(directed, directed)
    rng = np.random.default_rng(0)
    windows = [event_window(events, 1.0, none, relation, time, column, max_events, rng) for max_events in (1000, 9)]
    full, part = (event_mass(window, *level, torch.zeros(5)) for window in windows)
    assert not torch.equal(full, part)
    torch.testing.assert_close(part.mean(0), full.mean(0), rtol=0.15, atol=0.15)
