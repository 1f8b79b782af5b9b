"""Sampled walks, mini-batches and the loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fitcarl.config.titer import TiterTrainingConfig
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.titer.rollout import FactBatches, Walks, reinforce_loss, sample_walks
from tests.models.titer.reference import SlowPolicy
from tests.models.titer.tiny import FACTS, RELATIONS, graph_of, policy_of

DIRECTED = Quadruples.from_rows(FACTS).both_directions(RELATIONS)


def test_walks_are_sampled_with_their_probability() -> None:
    policy, count = policy_of(), 4000
    query = Quadruples.from_rows([(4, 3, 0, 8)] * count)
    walks = sample_walks(policy, graph_of(FACTS), query, torch.Generator().manual_seed(0))
    expected = np.zeros(6)
    slow = SlowPolicy(policy).all_walks(FACTS, 4, 3, 8)
    for walk in slow:
        expected[walk.end] += math.exp(walk.log_probability)
    assert np.bincount(walks.entity, minlength=6) / count == pytest.approx(expected, abs=0.03)
    known = {round(walk.log_probability, 4) for walk in slow}
    sampled = walks.log_policy.detach().sum(0).numpy()
    assert all(min(abs(value - other) for other in known) < 1e-3 for value in sampled[:50])


def test_walks_end_before_their_query_unless_they_stay() -> None:
    walks = sample_walks(policy_of(), graph_of(FACTS), DIRECTED, torch.Generator().manual_seed(1))
    stayed = walks.lag == 0
    assert np.array_equal(walks.entity[stayed], DIRECTED.subject[stayed])
    assert np.all(walks.lag[~stayed] > 0)


def test_walks_do_not_see_the_object_or_facts_from_the_query_time_on() -> None:
    policy = policy_of()
    late = [(s, r, o, t) for s, r, o, t in FACTS if t >= 5]
    early = [fact for fact in FACTS if fact[3] < 5]
    queries = Quadruples.from_rows(late).both_directions(RELATIONS)
    other = Quadruples(queries.subject, queries.relation, np.zeros_like(queries.object), np.full_like(queries.time, 5))
    found = sample_walks(policy, graph_of(FACTS), other, torch.Generator().manual_seed(2))
    blind = sample_walks(policy, graph_of(early), other, torch.Generator().manual_seed(2))
    assert torch.equal(found.log_policy, blind.log_policy)
    assert np.array_equal(found.entity, blind.entity)


def test_loss_by_hand() -> None:
    log_policy = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    walks = Walks(log_policy, torch.tensor([[0.5, 0.5], [1.5, 1.5]]), np.zeros(2, np.int32), np.zeros(2, np.int32))
    config = TiterTrainingConfig(gamma=0.5, entropy_coef=0.1, entropy_decay=0.5)
    loss = reinforce_loss(walks, torch.tensor([0.0, 2.0]), config, number=3)
    # Returns 0, 1 (step 1) and 0, 2 (step 2): mean .75, standard deviation √(2.75 / 3).
    weight = (np.array([[0, 1], [0, 2]]) - 0.75) / math.sqrt(2.75 / 3)
    expected = -(log_policy.numpy() * weight).mean() - 0.1 * 0.25 * 1.0
    assert float(loss) == pytest.approx(expected, abs=1e-5)


def test_equal_rewards_leave_only_the_discount() -> None:
    walks = Walks(torch.zeros(3, 2), torch.zeros(3, 2), np.zeros(2, np.int32), np.zeros(2, np.int32))
    assert float(reinforce_loss(walks, torch.zeros(2), TiterTrainingConfig(), 1)) == 0


def test_an_epoch_has_every_directed_fact_once() -> None:
    batches = FactBatches(DIRECTED, 5, seed=1)
    per_epoch = -(-len(DIRECTED) // 5)
    first = [batches.batch(number) for number in range(1, per_epoch + 1)]
    second = [batches.batch(number) for number in range(per_epoch + 1, 2 * per_epoch + 1)]
    for epoch in (first, second):
        assert sorted(Quadruples.concat(epoch)) == sorted(DIRECTED)
    assert Quadruples.concat(first) != Quadruples.concat(second)


def test_a_batch_follows_from_its_number_alone() -> None:
    inorder = FactBatches(DIRECTED, 5, seed=1)
    expected = [inorder.batch(number) for number in range(1, 10)]
    assert FactBatches(DIRECTED, 5, seed=1).batch(9) == expected[-1]
    assert FactBatches(DIRECTED, 5, seed=2).batch(9) != expected[-1]
