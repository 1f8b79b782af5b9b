from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from fitcarl.models.fitcarl import beam as beam_module
from fitcarl.models.fitcarl.beam import beam_search
from fitcarl.models.fitcarl.network import Fitcarl
from fitcarl.models.paths import BeamPaths, BeamStep, entity_scores
from tests.models.fitcarl.paper.reference import Edge, ReferenceModel, weights_of
from tests.models.fitcarl.paper.tiny import Query, Tiny, build, opened, random_task

TASK = random_task(20, (2, 1, 3), seen=4, facts=7, queries=1)
Path = tuple[Edge, ...]
UNLIMITED = 10**6


def enumerated_paths(model: Fitcarl, task: Tiny, query: Query, beam: int) -> dict[Path, float]:
    """Log-probabilities of all paths, or of those that are among the best ``beam`` after each step, by loops."""
    reference = ReferenceModel(weights_of(model), task, model.config)
    kept: dict[Path, float] = {(): 0.0}
    for _ in range(model.config.hops):
        longer: dict[Path, float] = {}
        for path, score in kept.items():
            actions = reference.actions(query, path)
            policy = reference.distribution(query, path, actions).policy.tolist()
            longer |= {(*path, edge): score + math.log(p) for edge, p in zip(actions, policy, strict=True)}
        kept = dict(sorted(longer.items(), key=lambda item: -item[1])[:beam])
    return kept


def found_paths(paths: BeamPaths, row: int) -> dict[Path, float]:
    columns = np.flatnonzero(np.isfinite(paths.score[row])).tolist()
    steps = {
        c: tuple(Edge(*(int(x[row, c]) for x in (s.relation, s.entity, s.time))) for s in paths.steps) for c in columns
    }
    return {steps[column]: float(paths.score[row, column]) for column in columns}


def search(model: Fitcarl, task: Tiny, beam: int) -> list[dict[Path, float]]:
    context, _ = opened(model, task)
    return [
        found_paths(paths, row)
        for paths in beam_search(model, context, task.query_batch(), beam)
        for row in range(len(paths.score))
    ]


@torch.no_grad()
def test_unlimited_beam_equals_full_enumeration_for_both_aggregations() -> None:
    model = build(TASK)
    context, _ = opened(model, TASK)
    found = list(beam_search(model, context, TASK.query_batch(), UNLIMITED))
    assert len(found) == len(TASK.queries)  # so wide a beam takes one query at a time
    for paths, query in zip(found, TASK.queries, strict=True):
        every = enumerated_paths(model, TASK, query, UNLIMITED)
        assert len(every) > 40
        assert found_paths(paths, 0) == pytest.approx(every, rel=1e-10)
        for aggregate in ("max", "sum"):
            expected: dict[int, float] = {}
            for path, score in every.items():
                end = path[-1].entity
                if aggregate == "max":
                    expected[end] = max(expected.get(end, -math.inf), score)
                else:
                    expected[end] = math.log(math.exp(expected.get(end, -math.inf)) + math.exp(score))
            answers = entity_scores(paths, aggregate)
            ours = dict(zip(answers.entity.tolist(), answers.score.tolist(), strict=True))
            assert ours == pytest.approx(expected, rel=1e-10)


@torch.no_grad()
def test_all_paths_together_have_probability_one() -> None:
    for found in search(build(TASK), TASK, UNLIMITED):
        assert math.fsum(math.exp(score) for score in found.values()) == pytest.approx(1, rel=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 3, 10])
@pytest.mark.parametrize("confidence", [True, False])
def test_beam_keeps_the_best_paths_after_every_step(beam: int, confidence: bool) -> None:
    model = build(TASK, confidence=confidence)
    for found, query in zip(search(model, TASK, beam), TASK.queries, strict=True):
        expected = enumerated_paths(model, TASK, query, beam)
        assert found == pytest.approx(expected, rel=1e-10)
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_wider_beam_keeps_the_best_path() -> None:
    model = build(TASK)
    best = [[max(found.values()) for found in search(model, TASK, beam)] for beam in (30, 100, UNLIMITED)]
    for narrow, wide in pairwise(best):  # rounding depends on the width
        assert all(one <= other + 1e-12 for one, other in zip(narrow, wide, strict=True))


@pytest.mark.parametrize("beam", [2, 40])
def test_paths_follow_edges_or_self_loops_from_the_start(beam: int) -> None:
    model = build(TASK)
    reference = ReferenceModel(weights_of(model), TASK, model.config)
    for found, query in zip(search(model, TASK, beam), TASK.queries, strict=True):
        for path in found:
            assert len(path) == 3
            node = (query.entity, query.time)
            for edge in path:
                stays = edge == Edge(2 * TASK.relations, *node)
                assert stays or edge in reference.out_edges(node[0])
                node = (edge.entity, edge.time)


def test_path_score_is_the_sum_of_its_steps() -> None:
    model = build(TASK)
    context, _ = opened(model, TASK)
    for paths in beam_search(model, context, TASK.query_batch(), 25):
        total = sum(step.log_probability for step in paths.steps)
        finite = np.isfinite(paths.score)
        assert finite.any()
        assert np.allclose(paths.score[finite], total[finite], rtol=1e-12)
        assert all(((step.confidence > 0) & (step.confidence <= 1))[finite].all() for step in paths.steps)


@pytest.mark.parametrize("states", [1, 20, 50])
@pytest.mark.parametrize("aggregate", ["max", "sum"])
def test_chunk_size_does_not_change_scores(monkeypatch: pytest.MonkeyPatch, states: int, aggregate: str) -> None:
    task = random_task(21, (1, 3, 2, 1, 2), queries=3)
    model = build(task)
    context, _ = opened(model, task)

    def answers() -> tuple[int, list[dict[int, float]]]:
        chunks = [entity_scores(paths, aggregate) for paths in beam_search(model, context, task.query_batch(), 10)]
        rows = [
            dict(zip(c.take(slice(i, i + 1)).entity.tolist(), c.take(slice(i, i + 1)).score.tolist(), strict=True))
            for c in chunks
            for i in range(len(c))
        ]
        return len(chunks), rows

    count, whole = answers()
    assert count == 1
    monkeypatch.setattr(beam_module, "_MAX_STATES", states)
    count, parts = answers()
    assert count == math.ceil(15 / max(1, states // 10))
    for one, other in zip(whole, parts, strict=True):
        assert one == pytest.approx(other, rel=1e-10)


def test_steps_have_no_confidence_without_confidence_learner() -> None:
    model = build(TASK, confidence=False)
    context, _ = opened(model, TASK)
    (paths,) = beam_search(model, context, TASK.query_batch(), 5)
    assert all(np.isnan(step.confidence).all() for step in paths.steps)


def by_hand(score: list[list[float]], entity: list[list[int]]) -> BeamPaths:
    ends = np.array(entity, dtype=np.int32)
    nothing = np.zeros(ends.shape)
    return BeamPaths(np.array(score), [BeamStep(ends, ends, ends, nothing, nothing)])


def test_entities_are_scored_by_their_best_path_or_by_the_sum() -> None:
    # Query 0 ends at 7 twice (.2 + .1) and at 3 once (.25); query 1 has one path, to 5.
    logs = [[math.log(0.25), math.log(0.2), math.log(0.1)], [math.log(0.4), -math.inf, -math.inf]]
    paths = by_hand(logs, [[3, 7, 7], [5, 7, 7]])
    best, total = entity_scores(paths, "max"), entity_scores(paths, "sum")
    for answers in (best, total):
        assert answers.offsets.tolist() == [0, 2, 3]
        assert answers.entity.tolist() == [3, 7, 5]
    assert np.exp(best.score).tolist() == pytest.approx([0.25, 0.2, 0.4])
    assert np.exp(total.score).tolist() == pytest.approx([0.25, 0.3, 0.4])


def test_sum_of_very_improbable_paths_does_not_underflow() -> None:
    answers = entity_scores(by_hand([[-2000.0, -2000.0]], [[1, 1]]), "sum")
    assert answers.score.tolist() == pytest.approx([-2000 + math.log(2)])
