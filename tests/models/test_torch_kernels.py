"""Operations of PyTorch that replace compiled loops have the same results and gradients, in one chunk or in many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.core.device import torch_operations, uses_compiled_loops
from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.split import split_facts
from fitcarl.models.base import GraphContext
from fitcarl.models.fitcarl import torch_kernels as fitcarl_kernels
from fitcarl.models.fitcarl.action_scores import action_scores
from fitcarl.models.fitcarl.linear import add_rows, linear_map
from fitcarl.models.plus.encoder import torch_memory
from fitcarl.models.plus.encoder.temporal_memory import EventWindow, event_mass, event_window
from fitcarl.models.plus.statistics import event_index
from fitcarl.models.titer import torch_kernels as titer_kernels
from fitcarl.models.titer.action_scores import score_actions
from fitcarl.models.titer.kernels import GatedActions
from fitcarl.synthetic import generate_world
from tests.models.fitcarl.test_action_scores import RELATIONS, made

CHUNKS = pytest.mark.parametrize("numbers", [1, 500, 1 << 25])


def assert_same(compute: Callable[[], Tensor], inputs: Sequence[Tensor], relative: float = 1e-5) -> None:
    """Compares results, and gradients relative to the largest of each input."""
    compiled = compute()
    with torch_operations():
        found = compute()
    weight = torch.randn(compiled.shape, generator=torch.Generator().manual_seed(3)).to(compiled.dtype)
    expected = [compiled, *torch.autograd.grad((compiled * weight).sum(), inputs)]
    for one, other in zip([found, *torch.autograd.grad((found * weight).sum(), inputs)], expected, strict=True):
        assert other.abs().max() > 0
        assert (one - other).abs().max() <= relative * other.abs().max()


def test_tensors_on_the_cpu_use_compiled_loops_outside_of_the_block() -> None:
    tensor = torch.zeros(1)
    assert uses_compiled_loops(tensor)
    with torch_operations():
        assert not uses_compiled_loops(tensor)
    assert uses_compiled_loops(tensor)
    assert not uses_compiled_loops(torch.zeros(1, device="meta"))


@CHUNKS
@pytest.mark.parametrize("frozen", [0, RELATIONS - 2])
@pytest.mark.parametrize("learn", [False, True])
def test_action_scores_are_those_of_the_compiled_loop(
    numbers: int, frozen: int, learn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitcarl_kernels, "_NUMBERS", numbers)
    vectors, query_entity, rows, index = made(30, torch.float32, frozen, learn)
    inputs = [vectors, query_entity, rows.relation, rows.time, rows.unseen_embeddings] + [rows.entity] * learn
    assert_same(lambda: action_scores(vectors[:, :2], vectors[:, 2:], query_entity, rows, index), inputs)


def test_no_states_have_no_action_scores() -> None:
    vectors, query_entity, rows, index = made(0, torch.float32, 0, learn=False)
    with torch_operations():
        found = action_scores(vectors[:, :2], vectors[:, 2:], query_entity, rows, index)
    assert found.shape == (0, 5, index.relation.shape[1])


def test_linear_maps_and_added_rows_are_those_of_the_compiled_loops() -> None:
    x, weight, bias = torch.randn(600, 3), torch.randn(5, 3), torch.randn(5)
    first, second = torch.randn(7, 5), torch.randn(4, 5)
    i, j = torch.randint(7, (600,)), torch.randint(4, (600,))
    inputs = [part.requires_grad_() for part in (x, weight, bias, first, second)]
    assert_same(lambda: add_rows(linear_map(x, weight, bias), first, i, second, j), inputs)


@CHUNKS
def test_gated_scores_are_those_of_the_compiled_loop(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(titer_kernels, "_NUMBERS", numbers)
    rng, sizes = np.random.default_rng(0), ((5, 3), (7, 4), (3, 2))
    index = [rng.integers(0, rows, (90, 6)).astype(np.int32) for rows, _ in sizes]
    actions = GatedActions(*index, rng.random((90, 6)) < 0.7)
    tensors = [torch.randn(90, 9), torch.randn(90), *(torch.randn(*size) for size in sizes)]
    tensors += [torch.randn(rows) for rows, _ in sizes]
    vectors, state_gate, *tables = (tensor.requires_grad_() for tensor in tensors)
    assert_same(lambda: score_actions(vectors, state_gate, tuple(tables), actions), tensors)


def window_of(context: GraphContext, queries: int, max_events: int) -> EventWindow:
    rng, graph = np.random.default_rng(2), context.graph
    column = np.where(np.arange(graph.entities) % 3 == 0, -1, 0)
    column[column == 0] = np.arange((column == 0).sum())
    asked = rng.integers(0, graph.entities, queries), rng.integers(0, graph.relations.directed, queries)
    time = rng.integers(5, 60, queries).astype(np.int32)
    return event_window(event_index(graph), 1.0, *asked, time, column, max_events, rng)


@pytest.fixture(scope="module")
def context() -> GraphContext:
    world = generate_world("tiny").facts
    return GraphContext.from_dataset(split_facts(world, name="tiny", bounds=BENCHMARK_BOUNDS))


@pytest.mark.parametrize("pairs", [1, 100, 1 << 18])
@pytest.mark.parametrize("max_events", [5, 1000])
@pytest.mark.parametrize("scale", [0.1, 2.0])
def test_event_mass_is_that_of_the_compiled_loop(
    context: GraphContext, pairs: int, max_events: int, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With sampled events, and with log-weights above the highest."""
    monkeypatch.setattr(torch_memory, "_PAIRS", pairs)
    queries = 2 if pairs == 1 else 40
    window, directed = window_of(context, queries, max_events), context.graph.relations.directed
    if max_events == 5:
        assert window.stride.max() > 1
    generator = torch.Generator().manual_seed(1)
    shapes = (queries, 32), (context.graph.entities, 32), (directed, directed), (5,)
    parts = [(torch.randn(*shape, generator=generator) * scale).requires_grad_() for shape in shapes]
    assert_same(lambda: event_mass(window, *parts), parts)


def test_queries_without_events_have_no_mass(context: GraphContext) -> None:
    window = window_of(context, 3, 1000)
    window = window._replace(last=window.first)
    directed = context.graph.relations.directed
    parts = torch.randn(3, 4), torch.randn(context.graph.entities, 4), torch.randn(directed, directed), torch.randn(5)
    with torch_operations():
        found = event_mass(window, *parts)
    assert found.shape == (3, window.column.max() + 1)
    assert not found.any()
