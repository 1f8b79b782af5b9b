"""The network equals the reference model: values, losses and gradients.

Tolerances: 1e-9 relative in float64, 1e-4 in float32 (both relative to the largest entry of what is compared).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.config.schema import FitcarlConfig, FitcarlTrainingConfig
from fitcarl.models.fitcarl.episode import run_episode
from fitcarl.models.fitcarl.network import Fitcarl
from tests.models.fitcarl.paper.reference import Edge, ReferenceModel, weights_of
from tests.models.fitcarl.paper.tiny import REACH, Query, Tiny, build, opened, random_task
from tests.models.fitcarl.paper.walks import Taken, at_random, by_policy, paths, spaces, walk

DOUBLE, SINGLE = 1e-9, 1e-4
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "few actions": {"action_space": 4},
    "one layer": {"layers": 1},
    "three layers, four heads": {"layers": 3, "heads": 4},
    "A1 random": {"sampling": "random", "action_space": 4},
    "A2 nearest": {"sampling": "nearest", "action_space": 4},
    "B no confidence": {"confidence": False},
    "C no concepts": {"concepts": False},
    "D no time bias": {"time_bias": False},
    "E no time": {"temporal": False},
    "finetune": {"finetune": True},
    "1/√d, four heads": {"attention_scale": "model", "heads": 4},
    "product": {"policy": "product"},
    "product without confidence": {"policy": "product", "confidence": False},
    "self-loops not in the history": {"self_loop_history": False},
    "finetune without confidence": {"finetune": True, "confidence": False, "action_space": 4},
}
SHOTS = {"1-shot": (1, 1, 1), "3-shot": (3, 3, 3), "unequal": (3, 1, 2, 4)}


def assert_near(ours: Tensor, literal: Tensor, tolerance: float = DOUBLE) -> None:
    ours, literal = ours.detach().double(), literal.detach()
    assert ours.shape == literal.shape
    assert float((ours - literal).abs().max()) <= tolerance * max(float(literal.abs().max()), 1e-4)


def reference_model(model: Fitcarl, task: Tiny) -> ReferenceModel:
    return ReferenceModel(weights_of(model), task, model.config)


@pytest.mark.parametrize("shots", SHOTS.values(), ids=SHOTS)
@pytest.mark.parametrize(
    "variant", ["paper", "one layer", "three layers, four heads", "1/√d, four heads", "D no time bias", "E no time"]
)
def test_entity_encoder_equals_equation_2(shots: tuple[int, ...], variant: str) -> None:
    task = random_task(1, shots)
    model = build(task, **VARIANTS[variant])
    context, encoded = opened(model, task)
    expected_model = reference_model(model, task)
    assert_near(encoded.entity_embedding, torch.stack([expected_model.unseen(q.entity, q.time) for q in task.queries]))
    unseen_embeddings = [
        expected_model.unseen(e, max(t for _, _, t in expected_model.neighbourhood(e))) for e in task.unseen
    ]
    assert_near(context.embeddings.unseen_embeddings, torch.stack(unseen_embeddings))


@pytest.mark.parametrize("variant", ["paper", "E no time", "finetune", "self-loops not in the history"])
def test_history_encoder_equals_equation_3(variant: str) -> None:
    task = random_task(2, queries=1)
    model = build(task, **VARIANTS[variant])
    context, encoded = opened(model, task)
    expected_model, state = reference_model(model, task), model.start(context, encoded)
    rng = np.random.default_rng(0)
    path: list[list[Edge]] = [[] for _ in task.queries]
    for _ in range(3):
        expected = [expected_model.history(query, edges) for query, edges in zip(task.queries, path, strict=True)]
        assert_near(state.history, torch.stack(expected))
        space = model.actions(context, encoded, state)
        taken = Taken(space, None, torch.from_numpy(rng.integers(0, space.mask.sum(1))))  # type: ignore[arg-type]
        for row, edges in enumerate(path):
            edges.append(taken.chosen(row))
        place = np.arange(len(encoded)), taken.column.numpy()
        columns = space.relation[place], space.entity[place], space.time[place]
        state = model.advance(context, encoded, state, *columns)


@pytest.mark.parametrize(
    ("variant", "shots"), [*((v, "unequal") for v in VARIANTS), ("paper", "1-shot"), ("paper", "3-shot")]
)
def test_policy_equals_equations_4_to_9(variant: str, shots: str) -> None:
    task = random_task(3, SHOTS[shots], queries=1)
    model = build(task, **VARIANTS[variant])
    expected_model = reference_model(model, task)
    with torch.no_grad():
        taken = walk(model, *opened(model, task), at_random(0))
        for row, (query, path) in enumerate(zip(task.queries, paths(taken), strict=True)):
            for level, step in enumerate(taken):
                exists = step.space.mask[row]
                expected_policy = expected_model.distribution(query, path[:level], step.actions(row))
                assert_near(step.step.probability[row][exists], expected_policy.probability)
                assert_near(step.step.log_policy[row][exists].exp(), expected_policy.policy)
                assert (step.step.confidence is None) == (expected_policy.confidence is None)
                if step.step.confidence is not None and expected_policy.confidence is not None:
                    assert_near(step.step.confidence[row][exists], expected_policy.confidence)


@pytest.mark.parametrize("size", [1, 3, 50])
def test_action_space_is_the_self_loop_and_the_edges_with_the_best_time_scores(size: int) -> None:
    task = random_task(4, queries=1, ticks=9)
    model = build(task, action_space=size)
    expected_model = reference_model(model, task)
    taken = walk(model, *opened(model, task), at_random(1))
    for row, (query, path) in enumerate(zip(task.queries, paths(taken), strict=True)):
        for level, step in enumerate(taken):
            loop, *ours = step.actions(row)
            expected_loop, *expected = expected_model.actions(query, path[:level])
            assert loop == expected_loop
            assert set(ours) <= expected_model.out_edges(loop.entity)
            # Edges of equal time have equal scores; if the cut falls among them, either may be kept.
            assert [expected_model.time_score(query, e) for e in ours] == [
                expected_model.time_score(query, e) for e in expected
            ]


def learning(model: Fitcarl, regularizer: float = 0.5) -> FitcarlConfig:
    """Settings under which no part of the loss is negligible."""
    return FitcarlConfig(
        network=model.config, training=FitcarlTrainingConfig(kl_weight=regularizer, reward_margin=1.5, gamma=0.8)
    )


def network_loss(model: Fitcarl, task: Tiny, config: FitcarlConfig, seed: int) -> Tensor:
    concept_prior = task.concept_prior() if config.network.concepts else None
    return run_episode(model, task.graph(), task.task(), config, concept_prior, REACH, seed).loss


def reference_loss(model: Fitcarl, task: Tiny, config: FitcarlConfig, seed: int) -> Tensor:
    with torch.no_grad():  # only the paths; the loss is computed below
        taken = walk(model, *opened(model, task, seed), by_policy(seed))
    walks: list[tuple[Query, list[Edge]]] = list(zip(task.queries, paths(taken), strict=True))
    settings = config.training.gamma, config.training.kl_weight, config.training.reward_margin
    return reference_model(model, task).loss(walks, spaces(taken), *settings)


def gradients(loss: Tensor, model: Fitcarl) -> dict[str, Tensor]:
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    return {
        name: torch.zeros_like(parameter) if gradient is None else gradient
        for name, parameter, gradient in zip(names, parameters, found, strict=True)
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_loss_and_all_gradients_equal_the_reference(variant: str) -> None:
    task = random_task(5, (3, 1, 2), queries=1)
    model = build(task, **VARIANTS[variant])
    config = learning(model)
    ours, slow = network_loss(model, task, config, 11), reference_loss(model, task, config, 11)
    assert_near(ours, slow)
    found, expected = gradients(ours, model), gradients(slow, model)
    for name in expected:
        assert_near(found[name], expected[name])
    if variant == "paper":  # no comparison with zero
        assert all(float(gradient.abs().max()) > 1e-6 for gradient in expected.values())


def test_pretrained_rows_get_gradients_only_with_finetuning() -> None:
    task = random_task(6)
    tuned, frozen = build(task, finetune=True), build(task)
    config = learning(tuned)
    found = gradients(network_loss(tuned, task, config, 3), tuned)
    assert float(found["entity_rows"].abs().max()) > 1e-6
    assert float(found["relation_rows"].abs().max()) > 1e-6
    assert not found["entity_rows"][task.unseen].any()
    assert set(dict(frozen.named_parameters())) == set(found) - {"entity_rows", "relation_rows"}
    kept = gradients(network_loss(frozen, task, config, 3), frozen)
    for name in kept:
        assert torch.equal(kept[name], found[name])


@pytest.mark.parametrize("shots", SHOTS.values(), ids=SHOTS)
def test_single_precision_agrees_with_the_reference_in_double(shots: tuple[int, ...]) -> None:
    task = random_task(7, shots, queries=1)
    model = build(task, dtype=torch.float32, d=8)
    config = learning(model)
    ours, slow = network_loss(model, task, config, 2), reference_loss(model, task, config, 2)
    assert_near(ours, slow, SINGLE)
    found, expected = gradients(ours, model), gradients(slow, model)
    for name in expected:
        assert_near(found[name], expected[name].double(), SINGLE)
