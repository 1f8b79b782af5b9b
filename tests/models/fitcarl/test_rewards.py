from __future__ import annotations

import math

import torch

from fitcarl.config.schema import FitcarlTrainingConfig
from fitcarl.models.fitcarl.loss import task_loss
from fitcarl.models.fitcarl.rewards import returns, reward
from fitcarl.models.fitcarl.rollout import Rollout


def test_reward_is_a_sigmoid_of_margin_minus_distance() -> None:
    answer = torch.tensor([[0.0, 0.0], [1.0, 2.0]])
    chosen = torch.tensor([[3.0, 4.0], [1.0, 2.0]])
    worked = [1 / (1 + math.exp(-(5 - 5))), 1 / (1 + math.exp(-5))]
    assert torch.allclose(reward(answer, chosen, 5.0), torch.tensor(worked))


def test_return_is_the_discounted_sum_of_what_follows() -> None:
    rewards = torch.tensor([[1.0], [2.0], [4.0]])
    assert returns(rewards, 0.5).flatten().tolist() == [1 + 0.5 * 2 + 0.25 * 4, 2 + 0.5 * 4, 4]


def two_queries_two_steps() -> tuple[Rollout, torch.Tensor]:
    log_policy = [torch.tensor([-1.0, -2.0]), torch.tensor([-3.0, -4.0])]
    divergence = [torch.tensor([0.1, 0.2]), torch.tensor([0.3, 0.4])]
    return Rollout(log_policy, divergence, [], []), torch.tensor([[0.5, 0.25], [1.0, 0.0]])


def test_loss_is_equation_12() -> None:
    rollout, rewards = two_queries_two_steps()
    loss = task_loss(rollout, rewards, FitcarlTrainingConfig(gamma=0.9, kl_weight=10.0))
    first = (10 * 0.1 + 1.0 * 0.5) + 0.9 * (10 * 0.3 + 3.0 * 1.0)
    second = (10 * 0.2 + 2.0 * 0.25) + 0.9 * (10 * 0.4 + 4.0 * 0.0)
    assert math.isclose(float(loss), (first + second) / 2, rel_tol=1e-6)


def test_without_the_concept_regulariser_no_divergence_enters_the_loss() -> None:
    rollout, rewards = two_queries_two_steps()
    bare = Rollout(rollout.log_policy, [], [], [])
    loss = task_loss(bare, rewards, FitcarlTrainingConfig(gamma=0.9, kl_weight=10.0))
    assert math.isclose(float(loss), ((0.5 + 0.9 * 3.0) + 0.5) / 2, rel_tol=1e-6)


def test_baseline_subtracts_the_mean_reward_of_each_step() -> None:
    rollout, rewards = two_queries_two_steps()
    bare = Rollout(rollout.log_policy, [], [], [])
    loss = task_loss(bare, rewards, FitcarlTrainingConfig(gamma=1.0, baseline="mean"))
    first = 1.0 * (0.5 - 0.375) + 3.0 * (1.0 - 0.5)
    second = 2.0 * (0.25 - 0.375) + 4.0 * (0.0 - 0.5)
    assert math.isclose(float(loss), (first + second) / 2, rel_tol=1e-6)


def test_no_gradient_flows_through_rewards() -> None:
    rewards = torch.ones(2, 2, requires_grad=True)
    leaf = torch.tensor([-1.0, -2.0], requires_grad=True)
    task_loss(Rollout([leaf, leaf * 1], [], [], []), rewards, FitcarlTrainingConfig()).backward()
    assert rewards.grad is None
    assert leaf.grad is not None
