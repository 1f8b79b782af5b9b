"""Each ablation of the paper changes its part of the model and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.config.schema import FitcarlConfig, FitcarlTrainingConfig, NetworkConfig
from fitcarl.graph.actions import ActionSpace
from fitcarl.models.fitcarl.episode import run_episode
from fitcarl.models.fitcarl.network import EncodedQueries, Fitcarl, TaskContext
from fitcarl.models.fitcarl.policy import PolicyStep
from tests.models.fitcarl.paper.reference import Edge
from tests.models.fitcarl.paper.tiny import REACH, Tiny, build, opened, random_task
from tests.models.fitcarl.paper.walks import Taken, at_random, walk

TASK = random_task(12)


def twin(model: Fitcarl, **config: object) -> Fitcarl:
    """A model with the same weights and other settings."""
    other = build(TASK, **(model.config.model_dump() | config))
    other.load_state_dict(model.state_dict(), strict=False)
    return other


def first_step(model: Fitcarl, task: Tiny = TASK) -> tuple[TaskContext, EncodedQueries, ActionSpace, PolicyStep]:
    context, encoded = opened(model, task)
    state = model.start(context, encoded)
    space = model.actions(context, encoded, state)
    return context, encoded, space, model.step(context, encoded, state, space)


@pytest.mark.parametrize("sampling", ["random", "nearest"])
def test_ablations_a1_and_a2_change_only_the_action_space(sampling: str) -> None:
    model = build(TASK, action_space=3)
    ablated = twin(model, sampling=sampling)
    assert set(model.state_dict()) == set(ablated.state_dict())
    context, encoded = opened(model, TASK)
    other_context, other_encoded = opened(ablated, TASK)
    different = 0
    for step in walk(model, context, encoded, at_random(0)):
        # in the same states: the action spaces of both, and both policies over the same space
        place = np.arange(len(encoded)), step.column.numpy()
        columns = step.space.relation[place], step.space.entity[place], step.space.time[place]
        state = model.advance(context, encoded, model.start(context, encoded), *columns)
        ours, theirs = model.actions(context, encoded, state), ablated.actions(other_context, other_encoded, state)
        assert np.array_equal(ours.mask, theirs.mask)
        different += int((ours.edge != theirs.edge).sum())
        one, two = (
            m.step(s, a, state, ours)
            for m, s, a in ((model, context, encoded), (ablated, other_context, other_encoded))
        )
        assert torch.equal(one.log_policy, two.log_policy)
    assert different > 0


def test_ablation_a2_keeps_the_edges_nearest_to_the_current_node() -> None:
    model = build(TASK, action_space=3, sampling="nearest")
    context, encoded = opened(model, TASK)
    for before, step in zip([None, *(taken := walk(model, context, encoded, at_random(0)))], taken, strict=False):
        for row, query in enumerate(TASK.queries):
            now = query.time if before is None else before.chosen(row).time
            gaps = [abs(edge.time - now) for edge in step.actions(row)[1:]]
            node = step.actions(row)[0].entity
            everything = context.graph.base.edges().rows().tolist() + context.graph.overlay.edges().rows().tolist()
            assert gaps == sorted(abs(t - now) for s, _, _, t in everything if s == node)[:3]


def test_ablation_a1_depends_only_on_its_seed() -> None:
    model = build(TASK, action_space=3, sampling="random")

    def edges(seed: int) -> list[list[Edge]]:
        taken = walk(model, *opened(model, TASK, seed), lambda _, space: torch.from_numpy(space.mask.sum(1) - 1))
        return [step.actions(row) for step in taken for row in range(len(TASK.queries))]

    assert edges(1) == edges(1)
    assert edges(1) != edges(2)


def test_ablation_b_removes_the_confidence() -> None:
    model = build(TASK)
    ablated = twin(model, confidence=False)
    assert set(model.state_dict()) - set(ablated.state_dict()) == {"confidence.core"}
    _, _, space, ours = first_step(model)
    _, _, other_space, theirs = first_step(ablated)
    assert np.array_equal(space.edge, other_space.edge)
    assert theirs.confidence is None
    assert torch.equal(theirs.log_policy.exp(), theirs.probability)
    assert torch.allclose(theirs.probability, ours.probability, rtol=1e-12, atol=0)


def played(model: Fitcarl, concepts: bool, kl_weight: float) -> Tensor:
    config = FitcarlConfig(network=model.config, training=FitcarlTrainingConfig(kl_weight=kl_weight))
    concept_prior = TASK.concept_prior() if concepts else None
    return run_episode(model, TASK.graph(), TASK.task(), config, concept_prior, REACH, 4).loss


def test_ablation_c_removes_the_divergence_and_keeps_the_policy() -> None:
    model = build(TASK)
    without = played(model, concepts=False, kl_weight=0.7)
    assert without.item() == pytest.approx(played(model, concepts=True, kl_weight=0).item(), rel=1e-12)
    # linear in η: twice the weight, twice the difference
    once, twice = (played(model, concepts=True, kl_weight=eta) - without for eta in (0.7, 1.4))
    assert once.item() > 1e-4
    assert twice.item() == pytest.approx(2 * once.item(), rel=1e-9)
    ablated = twin(model, concepts=False)
    assert torch.equal(first_step(model)[3].log_policy, first_step(ablated)[3].log_policy)


def test_ablation_d_removes_time_only_from_the_entity_encoder() -> None:
    model = build(TASK)
    ablated = twin(model, time_bias=False)
    moved = TASK.at_times(lambda time: (time * 5) % 13)
    own = {
        name: opened(m, t)[1].entity_embedding
        for name, m, t in (("a", ablated, TASK), ("b", ablated, moved), ("c", model, TASK))
    }
    assert torch.equal(own["a"], own["b"])
    assert (own["a"] - own["c"]).abs().max() > 1e-3
    context, _, space, _ = first_step(ablated)
    expected_context, _, expected_space, _ = first_step(model)
    assert torch.equal(context.time.rows, expected_context.time.rows)
    assert np.array_equal(space.edge, expected_space.edge)
    with torch.no_grad():  # without the weight of the bias both are equal
        for name, parameter in model.named_parameters():
            if name.endswith("position"):
                parameter.zero_()
    for ours, theirs in zip(walk(model, *opened(model, TASK), at_random(0)),
                            walk(ablated, *opened(ablated, TASK), at_random(0)), strict=True):  # fmt: skip
        assert torch.allclose(ours.step.log_policy, theirs.step.log_policy, rtol=1e-12)


def probabilities(taken: Taken) -> list[Counter[tuple[int, int, float]]]:
    """(r, e, π) of every action, without times."""
    rows = range(len(taken.space))
    policy = taken.step.log_policy.detach()
    return [
        Counter((a.relation, a.entity, round(float(p), 10)) for a, p in zip(taken.actions(i), policy[i], strict=False))
        for i in rows
    ]


@pytest.mark.parametrize(
    "moment", [lambda t: (t * 5) % 13, lambda t: -t, lambda t: t * 1000], ids=["mix", "flip", "far"]
)
def test_ablation_e_is_independent_of_time(moment: Callable[[int], int]) -> None:
    model = build(TASK, temporal=False)

    def loops(_: PolicyStep, space: ActionSpace) -> Tensor:
        """Chooses an action independently of the order of edges."""
        return torch.from_numpy(np.lexsort((space.relation, space.entity * space.mask), axis=1)[:, -1])

    other = TASK.at_times(moment)
    context = model.encode_task(other.graph(), other.meta(), 20_000)
    moved = walk(model, context, model.encode_queries(context, other.query_batch()), loops)
    for step, same in zip(walk(model, *opened(model, TASK), loops), moved, strict=True):
        assert probabilities(step) == probabilities(same)


def test_ablation_e_gives_no_gradient_to_time_parameters_only() -> None:
    model = build(TASK, temporal=False)
    loss = torch.zeros((), dtype=torch.float64)
    for step in walk(model, *opened(model, TASK), at_random(0)):
        mask = torch.from_numpy(step.space.mask)
        weights = torch.linspace(-1, 1, mask.numel(), dtype=torch.float64).view(mask.shape)
        loss = loss + (step.step.log_policy.masked_fill(~mask, 0) * weights).sum()
    names = [name for name, _ in model.named_parameters()]
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    idle = {name for name, gradient in zip(names, found, strict=True) if gradient is None or not gradient.any()}
    positions = {f"encoder.layers.{layer}.position" for layer in (0, 1)}
    assert idle == {"time.omega", "time.phi", "policy.w_delta", *positions}


def test_ablation_e_always_samples_at_random() -> None:
    spaces = [
        first_step(build(TASK, temporal=False, action_space=2, sampling=s))[2].edge for s in ("adaptive", "random")
    ]
    assert np.array_equal(*spaces)


def test_default_network_is_the_papers() -> None:
    config = NetworkConfig()
    assert (config.hops, config.action_space, config.heads, config.layers) == (3, 50, 2, 2)
    assert (config.sampling, config.finetune) == ("adaptive", False)
    assert config.confidence
    assert config.concepts
    assert config.biased
