"""The reference implementation of the benchmarks is the same model: equal actions, losses and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fitcarl.bench.reference import reference_actions, reference_episode, reference_paths
from fitcarl.config.schema import FitcarlConfig, FitcarlTrainingConfig
from fitcarl.graph.actions import Adaptive, action_space
from fitcarl.models.base import EpisodeResult
from fitcarl.models.fitcarl.beam import beam_search
from fitcarl.models.fitcarl.episode import run_episode
from fitcarl.models.fitcarl.network import Fitcarl
from tests.models.fitcarl.paper.tiny import REACH, Tiny, build, random_task


def episodes(model: Fitcarl, task: Tiny, seed: int) -> tuple[EpisodeResult, EpisodeResult]:
    config = FitcarlConfig(
        network=model.config, training=FitcarlTrainingConfig(kl_weight=0.5, reward_margin=1.5, gamma=0.8)
    )
    concept_prior = task.concept_prior() if model.config.concepts else None
    given = model, task.graph(), task.task(), config, concept_prior, REACH, seed
    return reference_episode(*given), run_episode(*given)


def assert_same(literal: EpisodeResult, fast: EpisodeResult, model: Fitcarl, tolerance: float) -> None:
    assert fast.loss.item() == pytest.approx(literal.loss.item(), rel=tolerance)
    assert fast.metrics["reward"] == pytest.approx(literal.metrics["reward"], rel=tolerance)
    assert fast.metrics["hit_rate"] == literal.metrics["hit_rate"]
    parameters = dict(model.named_parameters())
    expected = torch.autograd.grad(literal.loss, list(parameters.values()))
    found = torch.autograd.grad(fast.loss, list(parameters.values()))
    for name, one, other in zip(parameters, expected, found, strict=True):
        assert one.any(), name
        assert float((one - other).abs().max()) <= tolerance * float(one.abs().max()), name


@pytest.mark.parametrize(
    "config",
    [
        *({}, {"action_space": 3}, {"confidence": False}, {"concepts": False}, {"finetune": True}, {"layers": 1}),
        {"policy": "product", "self_loop_history": False, "attention_scale": "model"},
    ],
    ids=str,
)
@pytest.mark.parametrize("shots", [(1, 1, 1), (3, 3), (2, 1, 4)], ids=str)
def test_reference_loss_and_gradients_agree_to_nine_digits(config: dict[str, Any], shots: tuple[int, ...]) -> None:
    task = random_task(40, shots, queries=12)
    model = build(task, d=6, **config)
    assert_same(*episodes(model, task, 3), model, 1e-9)


def test_reference_loss_and_gradients_agree_to_four_digits_in_single_precision() -> None:
    task = random_task(41, (3, 2, 3, 1), queries=40)
    model = build(task, d=16, dtype=torch.float32)
    assert_same(*episodes(model, task, 5), model, 1e-4)


def test_reference_selects_the_same_actions_in_the_same_order() -> None:
    task = random_task(42, facts=80)
    rng = np.random.default_rng(0)
    entity, now, encoded = (rng.integers(0, top, 50).astype(np.int32) for top in (task.entities, 12, 12))
    graph = task.graph().with_facts(task.meta().facts)
    sampling = Adaptive.by_score(rng.normal(size=2 * REACH + 1))
    *columns, mask = reference_actions(graph, sampling, entity, now, encoded, 6)
    space = action_space(graph, entity, now, encoded, sampling, 6)
    assert space.width == 7
    assert np.array_equal(mask, space.mask)
    for found, expected in zip(columns, (space.relation, space.entity, space.time), strict=True):
        assert np.array_equal(found, expected)


def test_reference_beam_search_finds_the_same_paths() -> None:
    beam = 10_000  # all paths: a smaller beam may cut among ties, in a different order
    task = random_task(43, (2, 3), queries=10)
    model = build(task, d=6, hops=2)
    graph, encoded = task.graph(), task.task()
    with torch.no_grad():
        context = model.encode_task(graph, encoded.support, REACH)
    found = list(beam_search(model, context, encoded.queries, beam))
    expected = list(reference_paths(model, graph, encoded, REACH, beam, chunk=4))
    by_query = [row[np.isfinite(row)] for paths in found for row in paths.score]
    literally = [row[np.isfinite(row)] for _, score in expected for row in score]
    assert len(by_query) == len(literally) == len(encoded.queries)
    for one, other in zip(by_query, literally, strict=True):
        np.testing.assert_allclose(np.sort(one), np.sort(other), rtol=1e-9)
