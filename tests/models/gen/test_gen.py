"""GEN's layer by hand, identities that follow from its equations, and the number of support facts in training."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.config.gen import GenConfig, GenNetworkConfig, GenTrainingConfig
from fitcarl.config.meta_learned import RankingTrainingConfig
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.base import Episode, seeded
from fitcarl.models.gen.network import Gen, RelationLayer
from fitcarl.models.gen.shots import training_shots, with_more_support
from fitcarl.models.gen.trainable import GenModel
from fitcarl.models.ranking import ranking_batch
from fitcarl.models.support import SupportFacts
from fitcarl.tasks.task import Task
from tests.models.random_task import (
    DIM,
    ENTITIES,
    FIRST_UNSEEN,
    RELATIONS,
    context_of,
    dense,
    random_concepts,
    random_embeddings,
    random_task,
)

TRAINING = GenTrainingConfig(dropout=0.0, negatives=3, start_shots=0)


def model_of(bases: int = 4, training: GenTrainingConfig = TRAINING, transductive: bool = False) -> GenModel:
    torch.manual_seed(3)
    config = GenConfig(network=GenNetworkConfig(bases=bases, transductive=transductive), training=training)
    return GenModel(config, random_embeddings())


def scores(model: GenModel, task: Task) -> np.ndarray:
    return dense(model.scorer().score(task, task.queries))


def facts_of(*facts: tuple[int, int, int, int]) -> SupportFacts:
    owner = np.full(len(facts), FIRST_UNSEEN, dtype=np.int32)
    return SupportFacts.of_entities(MetaSet(owner, Quadruples.from_rows(list(facts))), RELATIONS)


def embed(module: Gen, support: SupportFacts) -> Tensor:
    unseen = np.arange(FIRST_UNSEEN, FIRST_UNSEEN + len(support), dtype=np.int32)
    return cast(Tensor, module(unseen, support))


def test_scores_equal_plain_loops() -> None:
    model, task = model_of(), random_task()
    x, u, a, v = (
        value.detach().double().numpy()
        for value in (
            *(model.module.entity_rows, model.module.relation_rows),
            *(model.module.inductive.coefficients, model.module.inductive.bases),
        )
    )
    embedded: dict[int, np.ndarray] = {}
    for entity in task.entities.tolist():
        messages = []
        for owner, (s, r, o, _) in zip(task.support.entity_of_fact.tolist(), task.support.facts, strict=True):
            if owner == entity:
                neighbour, directed = (o, r + RELATIONS.count) if s == entity else (s, r)
                matrix = sum(a[directed, b] * v[b] for b in range(len(v)))
                messages.append(np.concatenate([x[neighbour], u[r]]) @ matrix)
        embedded[entity] = np.mean(messages, axis=0)
    q = task.queries
    expected = [
        [(embedded[entity] * u[relation % RELATIONS.count] * x[c]).sum() for c in range(ENTITIES)]
        for entity, relation in zip(q.entity.tolist(), q.relation.tolist(), strict=True)
    ]
    found = scores(model, task)
    assert np.ptp(found) > 0.1
    assert np.allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("transductive", [False, True])
def test_training_loss_equals_plain_loops(transductive: bool) -> None:
    """The hinge of every negative, averaged by query, then by entity; T-GEN's unseen candidates are embedded."""
    model, task, seed = model_of(transductive=transductive), random_task(), 5
    model._entities_in_training = np.arange(ENTITIES, dtype=np.int32)  # unseen entities are negatives as well
    result = model.training_step(Episode(task, seed))
    batch = ranking_batch(task, model._entities_in_training, RELATIONS, TRAINING, np.random.default_rng(seed))
    assert np.isin(batch.candidate[:, 1:], batch.entity).any()
    with seeded(seed), torch.no_grad():
        embedded = model.module(batch.entity, batch.support, sample=True).double().numpy()
    x, u = (value.detach().double().numpy() for value in (model.module.entity_rows, model.module.relation_rows))
    means: dict[int, list[float]] = {}
    for row, relation, candidates in zip(batch.row, batch.queries.relation.tolist(), batch.candidate, strict=True):
        listed = []
        for candidate in candidates.tolist():
            is_unseen = transductive and candidate in batch.entity
            other = embedded[batch.entity.tolist().index(candidate)] if is_unseen else x[candidate]
            listed.append(float((embedded[row] * u[relation % RELATIONS.count] * other).sum()))
        hinges = [max(0.0, TRAINING.margin - listed[0] + negative) for negative in listed[1:]]
        means.setdefault(int(row), []).append(sum(hinges) / len(hinges))
    expected = sum(sum(each) / len(each) for each in means.values()) / len(means)
    assert expected > 0.1
    assert result.loss.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("transductive", [False, True])
def test_dropout_drops_values_of_the_inductive_layer(transductive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the value with probability one half, or nothing; T-GEN drops after the rectifier."""
    module, task = model_of(transductive=transductive).module, random_task()
    support = SupportFacts.of_entities(task.support, RELATIONS)
    seen: list[Tensor] = []

    def recorded(embedded: Tensor) -> Tensor:
        seen.append(embedded)
        return Gen.candidate_rows(module, embedded)

    monkeypatch.setattr(module, "candidate_rows", recorded)
    with torch.no_grad():
        whole = module(task.entities, support)
        with seeded(1):
            dropped = module(task.entities, support, dropout_rate=0.5)
    if transductive:
        whole, dropped = seen
        assert (whole >= 0).all()
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * whole[kept])
    assert 0 < int(kept.sum()) < int((whole != 0).sum())


def test_one_support_fact_and_one_basis() -> None:
    module = model_of(bases=1).module
    with torch.no_grad():
        module.inductive.coefficients.fill_(1)
        found = embed(module, facts_of((4, 2, FIRST_UNSEEN, 0)))
        expected = torch.cat([module.entity_rows[4], module.relation_rows[2]]) @ module.inductive.bases[0]
    assert torch.allclose(found[0], expected, atol=1e-6)


def test_equal_support_facts_count_as_one() -> None:
    module, fact = model_of().module, (4, 2, FIRST_UNSEEN, 0)
    one, three = embed(module, facts_of(fact)), embed(module, facts_of(fact, fact, fact))
    assert torch.allclose(one, three, atol=1e-6)


def test_swapping_subject_and_object_changes_the_matrix_only() -> None:
    module = model_of().module
    facts = (4, 2, FIRST_UNSEEN, 0), (FIRST_UNSEEN, 2, 4, 0)
    first, swapped = (embed(module, facts_of(fact)) for fact in facts)
    assert not torch.allclose(first, swapped)
    with torch.no_grad():
        module.inductive.coefficients[2 + RELATIONS.count] = module.inductive.coefficients[2]
    assert torch.allclose(first, embed(module, facts_of(facts[1])))


def test_rows_without_edges_are_zero_and_padding_is_ignored() -> None:
    layer = RelationLayer(2, 3, 4, 5)
    values, relation = torch.randn(2, 2, 4), torch.zeros(2, 2, dtype=torch.int64)
    known = torch.tensor([[True, False], [False, False]])
    found = layer(values, relation, known)
    assert torch.allclose(found[0], layer(values[:1, :1], relation[:1, :1], known[:1, :1])[0], atol=1e-6)
    assert not found[1].any()


def test_times_and_the_direction_of_the_query_do_not_count() -> None:
    model, task = model_of(), random_task()
    facts, queries = task.support.facts, task.queries
    found = scores(model, task)
    support = MetaSet(task.support.entity_of_fact, replace(facts, time=facts.time[::-1].copy()))
    assert np.array_equal(scores(model, Task(support, replace(queries, time=queries.time + 9))), found)
    turned = replace(queries, relation=RELATIONS.inverse(queries.relation))
    assert np.array_equal(scores(model, Task(task.support, turned)), found)


def test_unseen_candidates_tie_at_zero() -> None:
    found = scores(model_of(), random_task())
    assert not found[:, FIRST_UNSEEN:].any()
    assert found[:, :FIRST_UNSEEN].all()


def test_relation_rows_start_as_the_mean_of_both_directions() -> None:
    rows = random_embeddings().relation
    expected = (rows[: RELATIONS.count] + rows[RELATIONS.count :]) / 2
    assert np.allclose(model_of().module.relation_rows.detach().numpy(), expected)
    assert expected.shape == (RELATIONS.count, DIM)


def test_new_entities_change_no_score() -> None:
    model, task = model_of(), random_task()
    extended = model.with_capacity(context_of(random_concepts()).with_capacity(2))
    found = dense(extended.scorer().score(task, task.queries), ENTITIES + 2)
    assert np.array_equal(found[:, :ENTITIES], scores(model, task))
    assert not found[:, ENTITIES:].any()


@pytest.mark.parametrize(
    ("episode", "shots"), [(1, 10), (15, 9), (16, 8), (31, 8), (125, 5), (250, 4), (499, 4), (500, 3), (1000, 3)]
)
def test_number_of_support_facts_falls_to_the_shots(episode: int, shots: int) -> None:
    assert training_shots(episode, 1000, 3, 10) == shots
    assert training_shots(episode, 1000, 3, 0) == 3
    assert training_shots(episode, 1000, 12, 10) == 12


def test_queries_become_support_facts() -> None:
    task, config = random_task(queries=4), RankingTrainingConfig()
    batch = ranking_batch(task, np.arange(ENTITIES, dtype=np.int32), RELATIONS, config, np.random.default_rng(0))
    more = with_more_support(batch, 5)
    assert more.support.counts.tolist() == [5, 5, 5]
    assert np.bincount(more.row).tolist() == [2, 2, 2]
    assert np.array_equal(more.candidate[:, 0], more.queries.answer)
    assert len(with_more_support(batch, 100).queries) == len(batch.entity)
    assert with_more_support(batch, 2) is batch

    def facts(part: object) -> list[tuple[int, ...]]:
        assert isinstance(part, type(batch))
        owner = np.repeat(part.entity, part.support.counts)
        support = zip(owner, part.support.relation, part.support.entity, part.support.time, strict=True)
        q = part.queries
        return sorted(
            tuple(map(int, fact)) for fact in (*support, *zip(q.entity, q.relation, q.answer, q.time, strict=True))
        )

    assert facts(more) == facts(batch)


def test_training_starts_with_more_support_facts() -> None:
    task = random_task()
    losses = [
        float(model_of(training=TRAINING.model_copy(update=update)).training_step(Episode(task, 1)).loss.detach())
        for update in ({}, {"start_shots": 10}, {"start_shots": 10, "episodes": 1})
    ]
    assert losses[0] != losses[1]
    assert losses[0] == losses[2]
