from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.models.fitcarl.rollout import sample_rollout
from fitcarl.models.sampling import sample_actions
from tests.models.fitcarl.paper.reference import concept_probability, concepts_given_relation, divergence
from tests.models.fitcarl.paper.tiny import build, opened, random_task
from tests.models.fitcarl.paper.walks import by_policy, walk

TASK = random_task(30)


def policy(*probabilities: float) -> torch.Tensor:
    return torch.tensor([probabilities], dtype=torch.float64).log()


def test_actions_are_sampled_with_the_policys_probabilities() -> None:
    probabilities = [0.05, 0.3, 0.01, 0.44, 0.2]
    count = 40_000
    drawn = sample_actions(policy(*probabilities, 0, 0).expand(count, 7), torch.Generator().manual_seed(0))
    seen = torch.bincount(drawn, minlength=7)
    assert not seen[5:].any()  # padding
    expected = torch.tensor(probabilities, dtype=torch.float64) * count
    statistic = ((seen[:5] - expected) ** 2 / expected).sum().item()
    assert statistic < 18.5  # chi-square with four degrees of freedom: beyond this once in a thousand seeds


@given(st.lists(st.floats(-40, 0), min_size=1, max_size=6), st.integers(0, 4), st.integers(0, 2**31))
def test_padding_is_never_sampled(logits: list[float], padding: int, seed: int) -> None:
    rows = torch.tensor([logits + [-math.inf] * padding], dtype=torch.float64).log_softmax(-1).expand(500, -1)
    assert sample_actions(rows, torch.Generator().manual_seed(seed)).max() < len(logits)


def test_rounding_error_never_samples_padding() -> None:
    rows = torch.tensor([[math.log(0.3), math.log(0.3), -math.inf]]).expand(20_000, 3)
    drawn = sample_actions(rows, torch.Generator().manual_seed(1))
    assert set(drawn.tolist()) == {0, 1}


def test_certain_action_is_sampled() -> None:
    assert sample_actions(policy(0, 0, 1, 0).expand(100, 4), torch.Generator().manual_seed(0)).tolist() == [2] * 100


@pytest.mark.parametrize("confidence", [True, False])
def test_rollout_records_every_step(confidence: bool) -> None:
    model = build(TASK, confidence=confidence)
    context, encoded = opened(model, TASK)
    rollout = sample_rollout(
        model, context, encoded, torch.Generator().manual_seed(9), TASK.concept_prior(), with_entropy=True
    )
    taken = walk(model, context, encoded, by_policy(9))
    assert len(rollout.log_policy) == len(rollout.divergence) == len(rollout.entropy) == len(rollout.entity) == 3
    for level, step in enumerate(taken):
        for row, query in enumerate(TASK.queries):
            actions, pi = step.actions(row), step.step.log_policy[row][step.space.mask[row]].exp().detach()
            assert rollout.entity[level][row] == step.chosen(row).entity
            chosen = pi[int(step.column[row])].item()
            assert rollout.log_policy[level][row].item() == pytest.approx(math.log(chosen), rel=1e-12)
            given = concepts_given_relation(TASK, query.relation)
            fit = concept_probability(TASK.concepts, given, [edge.entity for edge in actions])
            assert rollout.divergence[level][row].item() == pytest.approx(divergence(pi, fit).item(), abs=1e-12)
            assert rollout.entropy[level][row].item() == pytest.approx(-(pi * pi.log()).sum().item(), rel=1e-12)


def test_rollout_without_options_records_no_divergence_or_entropy() -> None:
    model = build(TASK)
    rollout = sample_rollout(model, *opened(model, TASK), torch.Generator().manual_seed(0))
    assert rollout.divergence == []
    assert rollout.entropy == []


def test_rollout_depends_on_the_seed() -> None:
    model = build(TASK)
    context, encoded = opened(model, TASK)
    walks = [
        np.stack(sample_rollout(model, context, encoded, torch.Generator().manual_seed(seed)).entity)
        for seed in (5, 5, 6)
    ]
    assert np.array_equal(walks[0], walks[1])
    assert not np.array_equal(walks[0], walks[2])
