"""The benchmark of explanations: controls against enumeration, and the complete measurement on small worlds."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from fitcarl.bench.explanation_controls import OURS, VisibleEdges, _draw_path, _paths_to, recent_facts
from fitcarl.bench.explanations import measure_explanations
from fitcarl.bench.fidelity import _leaving_one, _with_one
from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.reporting.explanation_tables import explanation_tables
from fitcarl.synthetic import generate_world
from fitcarl.training.api import train
from tests.small import SMALL, write_tiny

RELATIONS = RelationIds(2)
FACTS = [(0, 0, 1, 0), (0, 0, 2, 0), (1, 1, 3, 0), (2, 1, 1, 1), (0, 1, 3, 2), (3, 0, 3, 1), (1, 0, 3, 9)]


def all_paths(edges: list[tuple[int, ...]], start: int, end: int, steps: int) -> set[tuple[tuple[int, ...], ...]]:
    """Paths of exactly ``steps`` edges that reach the end at last and do not return to the start."""
    paths: list[list[tuple[int, ...]]] = [[]]
    for _ in range(steps):
        ends = [(path, path[-1][2] if path else start) for path in paths]
        paths = [[*path, edge] for path, node in ends for edge in edges if edge[0] == node and edge[2] != start]
    inner_ends = [(path, [edge[2] for edge in path]) for path in paths]
    return {tuple(path) for path, nodes in inner_ends if nodes[-1] == end and end not in nodes[:-1]}


def test_random_paths_are_drawn_from_all_visible_paths() -> None:
    graph = TemporalGraph.from_facts(Quadruples.from_rows(FACTS), 4, RELATIONS)
    visible = VisibleEdges.of(graph, 5)
    edges = list(visible.edges)
    assert all(edge[3] < 5 for edge in edges)
    expected = [all_paths(edges, 0, 3, steps) for steps in (1, 2, 3)]
    reach = _paths_to(visible, 0, 3)
    assert reach[1:, 0].tolist() == [len(paths) for paths in expected]
    rng = np.random.default_rng(0)
    drawn = [tuple(_draw_path(visible, reach, 0, rng)) for _ in range(400)]
    assert set(drawn) == set.union(*expected)
    counts = np.array([drawn.count(path) for path in set(drawn)])
    assert counts.min() > 400 / len(counts) / 2  # equally likely
    for path in set(drawn):
        assert all(one[2] == other[0] for one, other in pairwise(path))


def test_no_path_between_unconnected_entities() -> None:
    graph = TemporalGraph.from_facts(Quadruples.from_rows([(0, 0, 1, 0), (2, 0, 3, 0)]), 4, RELATIONS)
    visible = VisibleEdges.of(graph, 5)
    assert _draw_path(visible, _paths_to(visible, 0, 3), 0, np.random.default_rng(0)) == []


def test_one_fact_of_the_entity_is_always_kept() -> None:
    own, other = [(0, 0, 1, 1), (0, 0, 2, 5)], (3, 0, 4, 2)
    assert _leaving_one([own[0], other, own[1]], own) == [own[0], other]
    assert _leaving_one([own[1]], own[1:]) == []
    assert _with_one([other], own) == [other, own[1]]
    assert _with_one([own[0]], own) == [own[0]]
    assert recent_facts([own[0], other, own[1]]) == [own[1], other, own[0]]


@pytest.mark.parametrize("setting", ["forecast", "completion"])
def test_measurement_of_a_tiny_world_is_consistent(tmp_path: Path, setting: str) -> None:
    world = generate_world("tiny", seed=8)
    run = train(
        write_tiny(tmp_path / "tiny", seed=8),
        out=tmp_path / "run",
        shots=2,
        episodes=6,
        settings=SMALL,
        setting=setting,  # type: ignore[arg-type]
    )
    found = measure_explanations(run, world, answers=6)
    result = found.to_json()
    assert found.fidelity.answers == 6
    for choice in found.fidelity.comprehensiveness.values():
        assert choice["area"] == pytest.approx(np.mean([choice["1"], choice["3"], choice["5"]]))
    random = found.fidelity.comprehensiveness["random_facts"]
    assert found.fidelity.comprehensiveness[OURS]["area"] > random["area"]
    assert found.fidelity.additivity_error < 1e-6
    kinds = {kind: share for kind, share in found.coverage.items() if kind != "total"}
    assert sum(kinds.values()) == pytest.approx(found.coverage["total"])
    for name in ("recall_at_3", "controls", "comprehensiveness", "sufficiency", "coverage", "ms_per_explanation"):
        assert name in result
    json.dumps(result, allow_nan=False)
    assert "Fidelity" in "\n".join(explanation_tables(result))
    if setting == "forecast":
        return
    again = measure_explanations(run, world, answers=6).to_json()
    timed = ("ms_per_explanation", "cpu_ms_per_explanation", "ms_top_10")
    assert {key: again[key] for key in again if key not in timed} == {
        key: result[key] for key in result if key not in timed
    }


@pytest.mark.slow
def test_explanations_name_more_planted_causes_than_random_facts(tmp_path: Path) -> None:
    """Planted causes are read from the world: with a trained model, recall is above that of random facts."""
    world = generate_world("small", seed=7)
    from fitcarl.data.io.dataset_folder import write_dataset
    from fitcarl.data.split import split_facts

    write_dataset(split_facts(world.facts, name="small", bounds=BENCHMARK_BOUNDS), tmp_path / "small")
    settings = [*SMALL, "training.validate_every=10"]
    run = train(tmp_path / "small", out=tmp_path / "run", shots=3, episodes=20, settings=settings, setting="forecast")
    found = measure_explanations(run, world, answers=2).planted
    assert found is not None
    assert 5 < found.visible <= found.right <= found.asked
    assert found.recall[OURS].mean > found.recall["random_facts"].mean
    assert found.difference["random_facts"].mean == pytest.approx(
        found.recall[OURS].mean - found.recall["random_facts"].mean
    )
