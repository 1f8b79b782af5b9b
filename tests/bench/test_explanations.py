"""Probabilities of random paths compared with enumeration, and the complete measurement on a tiny world."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.bench.explanations import CauseProbability, measure_explanations
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.scoring.path import ExplanationPath, PathStep
from fitcarl.synthetic import generate_world
from fitcarl.training.api import train
from tests.small import SMALL, write_tiny

RELATIONS = RelationIds(2)
_FACT = st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4), st.integers(0, 3))


def path_of(steps: int) -> ExplanationPath:
    return ExplanationPath("", "", 0.0, tuple(PathStep("", "", "", "", 0.5, None, True) for _ in range(steps)))


def enumerated(edges: list[tuple[int, ...]], bad: set[tuple[int, ...]], start: int, end: int, steps: int) -> float:
    """The share of paths with a cause, by enumeration."""
    paths: list[list[tuple[int, ...]]] = [[]]
    for step in range(steps):
        ends = [(path, path[-1][2] if path else start) for path in paths]
        paths = [[*path, edge] for path, node in ends for edge in edges if edge[0] == node]
        if step + 1 < steps:
            paths = [path for path in paths if path[-1][2] != start]
    paths = [path for path in paths if path[-1][2] == end]
    return float(np.mean([any(edge in bad for edge in path) for path in paths])) if paths else 0.0


@given(st.lists(_FACT, min_size=1, max_size=9, unique=True), st.integers(1, 3), st.integers(1, 4))
def test_random_path_probability_equals_enumeration(
    facts: list[tuple[int, int, int, int]], steps: int, end: int
) -> None:
    quadruples = Quadruples.from_rows(facts)
    graph = TemporalGraph.from_facts(quadruples, 5, RELATIONS)
    causes = quadruples.take(slice(0, 1))
    edges = list(graph.base.edges())
    bad = {*causes, *causes.inverted(RELATIONS)}
    found = CauseProbability.of(graph, 0, end, causes, path_of(steps))
    assert found.path == pytest.approx(enumerated(edges, bad, 0, end, steps))
    assert -1e-9 <= found.walk <= 1 + 1e-9


def test_random_walk_probability_by_hand() -> None:
    """From 0 there are two edges, one of them the cause; from 1 one more, besides the one back."""
    facts = Quadruples.from_rows([(0, 0, 1, 0), (0, 0, 2, 0), (1, 1, 3, 0)])
    graph = TemporalGraph.from_facts(facts, 4, RELATIONS)
    assert CauseProbability.of(graph, 0, 1, facts.take(slice(0, 1)), path_of(1)).walk == pytest.approx(0.5)
    assert CauseProbability.of(graph, 0, 3, facts.take(slice(2, 3)), path_of(2)).walk == pytest.approx(0.5)


def test_context_fact_is_compared_with_all_facts_of_the_answer() -> None:
    facts = Quadruples.from_rows([(1, 0, 3, 0), (2, 0, 3, 1), (2, 0, 4, 1), (0, 1, 3, 0)])
    graph = TemporalGraph.from_facts(facts, 5, RELATIONS)
    context_path = ExplanationPath("", "", 0.0, path_of(1).steps, "context")
    found = CauseProbability.of(graph, 0, 3, facts.take(slice(0, 1)), context_path)
    assert (found.path, found.walk) == pytest.approx((1 / 3, 1 / 4))


def test_counts_of_a_tiny_world_are_consistent(tmp_path: Path) -> None:
    run = train(write_tiny(tmp_path / "tiny", seed=8), out=tmp_path / "run", shots=1, episodes=4, settings=SMALL)
    found = measure_explanations(run, generate_world("tiny", seed=8))
    assert 0 < found.right <= found.asked
    assert found.open_confirmed <= found.confirmed <= found.visible <= found.right
    assert found.planted_cause_share == pytest.approx(found.confirmed / found.right)
    assert found.open_by_chance <= found.open
