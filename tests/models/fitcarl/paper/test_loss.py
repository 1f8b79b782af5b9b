"""Rewards and Eq. 12, computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fitcarl.config.schema import FitcarlTrainingConfig
from fitcarl.models.fitcarl.episode import step_rewards
from fitcarl.models.fitcarl.loss import task_loss
from fitcarl.models.fitcarl.rewards import reward, standardise
from fitcarl.models.fitcarl.rollout import Rollout
from tests.models.fitcarl.paper import reference
from tests.models.fitcarl.paper.tiny import build, opened, random_task


def numbers(values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_reward_decreases_with_distance_to_the_answer() -> None:
    # ‖(3, 4)‖ = 5: σ(5 - 5) = 1/2, σ(7 - 5) = .8807971; at the answer itself σ(5) = .9933071
    far, pair = numbers([[0.0, 0.0]]), numbers([[3.0, 4.0]])
    for chosen, margin, expected in ((far, 5, 0.5), (far, 7, 0.8807971), (pair, 5, 0.9933071)):
        assert reward(pair, chosen, margin).item() == pytest.approx(expected, abs=1e-6)
        assert reference.reward(pair[0], chosen[0], margin).item() == pytest.approx(expected, abs=1e-6)


def test_reward_at_the_answer_has_zero_distance() -> None:
    """Also if the answer is the query entity, whose embedding differs between queries."""
    task = random_task(50, queries=1)
    model = build(task)
    context, encoded = opened(model, task)
    for queries in (
        task.query_batch(),
        type(task.query_batch())(encoded.entity, encoded.relation, encoded.time, encoded.entity),
    ):
        gain = step_rewards(context, encoded, queries, Rollout([], [], [], [queries.answer]), 2.0)
        assert gain.flatten().tolist() == pytest.approx([1 / (1 + math.exp(-2))] * len(queries))


def test_rewards_use_the_query_entity_embedding_of_each_query() -> None:
    task = random_task(51)
    model = build(task)
    context, encoded = opened(model, task)
    expected_model = reference.ReferenceModel(reference.weights_of(model), task, model.config)
    ends = np.random.default_rng(0).integers(0, task.entities, len(task.queries)).astype(np.int32)
    ends[0] = task.queries[0].entity
    gain = step_rewards(context, encoded, task.query_batch(), Rollout([], [], [], [ends]), 1.5)[0]
    for row, query in enumerate(task.queries):
        pair = expected_model.entity(query.answer, query), expected_model.entity(int(ends[row]), query)
        assert gain[row].item() == pytest.approx(reference.reward(*pair, 1.5).item(), rel=1e-12)
    assert not gain.requires_grad


# Two queries, two steps: log π = (-1, -2), (-3, -4); R = (.5, .25), (.1, .2); KL = (2, 4), (6, 8)
ROLLOUT = Rollout([numbers([-1.0, -2.0]), numbers([-3.0, -4.0])], [numbers([2.0, 4.0]), numbers([6.0, 8.0])], [], [])
REWARDS = numbers([[0.5, 0.25], [0.1, 0.2]])


def test_loss_equals_equation_12() -> None:
    # Step 0: (.5 + .1 · 2) and (.5 + .1 · 4), mean .8; step 1: (.3 + .1 · 6) and (.8 + .1 · 8), mean 1.25.
    # .8 + .9 · 1.25 = 1.925
    loss = task_loss(ROLLOUT, REWARDS, FitcarlTrainingConfig(gamma=0.9, kl_weight=0.1))
    assert loss.item() == pytest.approx(1.925)


def test_loss_without_concept_regulariser_has_no_divergence_term() -> None:
    # means of -log π R: .5 and .55; .5 + .9 · .55 = .995
    bare = Rollout(ROLLOUT.log_policy, [], [], [])
    assert task_loss(bare, REWARDS, FitcarlTrainingConfig(gamma=0.9, kl_weight=0.1)).item() == pytest.approx(0.995)


def test_options_beyond_the_paper() -> None:
    bare = Rollout(ROLLOUT.log_policy, [], [numbers([1.0, 3.0]), numbers([5.0, 7.0])], [])
    # returns: .5 + .9 · .1 = .59, .25 + .9 · .2 = .43 at step 0; means of -log π G: (.59 + .86)/2 = .725 and .55
    config = FitcarlTrainingConfig(gamma=0.9, reward="return")
    assert task_loss(bare, REWARDS, config).item() == pytest.approx(0.725 + 0.9 * 0.55)
    config = FitcarlTrainingConfig(gamma=0.9, reward="return", discount_loss=False)
    assert task_loss(bare, REWARDS, config).item() == pytest.approx(0.725 + 0.55)
    # less the mean reward: ±.125 and ∓.05: (.125 - .25)/2 = -.0625 and (-.15 + .2)/2 = .025
    config = FitcarlTrainingConfig(gamma=0.9, baseline="mean")
    assert task_loss(bare, REWARDS, config).item() == pytest.approx(-0.0625 + 0.9 * 0.025)
    # less a hundredth of the entropies' means, 2 and 6
    config = FitcarlTrainingConfig(gamma=0.9, entropy_coef=0.01)
    assert task_loss(bare, REWARDS, config).item() == pytest.approx(0.995 - 0.01 * (2 + 0.9 * 6))


def test_standardised_weights_have_mean_0_and_deviation_1_over_all_steps_and_queries() -> None:
    # .5, .25, .1, .2 have mean .2625; their squared deviations sum up to .0884..., over three degrees of freedom
    scale = math.sqrt((0.2375**2 + 0.0125**2 + 0.1625**2 + 0.0625**2) / 3)
    bare = Rollout(ROLLOUT.log_policy, [], [], [])
    config = FitcarlTrainingConfig(gamma=0.9, baseline="standardise")
    first, second = (0.2375 - 2 * 0.0125) / 2, (-3 * 0.1625 - 4 * 0.0625) / 2
    assert task_loss(bare, REWARDS, config).item() == pytest.approx((first + 0.9 * second) / scale, rel=1e-4)
    weights = standardise(REWARDS)
    assert weights.mean().item() == pytest.approx(0, abs=1e-12)
    assert weights.std().item() == pytest.approx(1, rel=1e-4)
    assert not standardise(torch.ones(3, 4)).any()  # equal rewards give no gradient instead of a division by zero


def test_returns_are_standardised_after_discounting() -> None:
    bare = Rollout(ROLLOUT.log_policy, [], [], [])
    both = FitcarlTrainingConfig(gamma=0.9, reward="return", baseline="standardise")
    only = FitcarlTrainingConfig(gamma=0.9, baseline="standardise")
    following = numbers([[0.59, 0.43], [0.1, 0.2]])
    assert task_loss(bare, REWARDS, both).item() == pytest.approx(task_loss(bare, following, only).item(), rel=1e-12)


@pytest.mark.parametrize(("episode", "weight"), [(1, 0.02), (2, 0.018), (11, 0.02 * 0.9**10)])
def test_entropy_bonus_fades_from_episode_to_episode(episode: int, weight: float) -> None:
    bare = Rollout(ROLLOUT.log_policy, [], [numbers([1.0, 3.0]), numbers([5.0, 7.0])], [])
    config = FitcarlTrainingConfig(gamma=0.9, entropy_coef=0.02, entropy_decay=0.9)
    assert config.entropy_bonus(episode) == pytest.approx(weight)
    loss = task_loss(bare, REWARDS, config, episode).item()
    assert loss == pytest.approx(0.995 - weight * (2 + 0.9 * 6))
