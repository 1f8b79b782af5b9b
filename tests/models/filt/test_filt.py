"""FILT against a slow reference, and identities that follow from its equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fitcarl.config.filt import FiltConfig, FiltNetworkConfig, FiltTrainingConfig
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.base import Episode
from fitcarl.models.factorization.tero import conjugate
from fitcarl.models.filt import network
from fitcarl.models.filt.concepts import ConceptMembers, concept_embeddings, mix_concepts
from fitcarl.models.filt.time_weights import time_weights
from fitcarl.models.filt.trainable import FiltModel
from fitcarl.models.ranking import ranking_batch
from fitcarl.tasks.task import Queries, Task
from tests.models.filt.reference import SlowFilt, complex_score
from tests.models.random_task import (
    ENTITIES,
    FIRST_UNSEEN,
    RELATIONS,
    context_of,
    dense,
    random_concepts,
    random_embeddings,
    random_task,
)

CONCEPTS = random_concepts()
TRAINING = FiltTrainingConfig(dropout=0.0, negatives=3, entities_per_task=2)


def model_of(
    concepts: bool = True, days_per_tick: float = 1.0, training: FiltTrainingConfig = TRAINING, every: int = 1
) -> FiltModel:
    """A model in which every weight has an effect."""
    config = FiltConfig(network=FiltNetworkConfig(concepts=concepts, concepts_every=every), training=training)
    torch.manual_seed(3)
    model = FiltModel(config, context_of(CONCEPTS, days_per_tick), random_embeddings())
    with torch.no_grad():
        for name, parameter in model.module.named_parameters():
            if name not in ("entity_rows", "relation_rows") and parameter.requires_grad:
                parameter.copy_(torch.randn(parameter.shape) * 0.5)
    return model


def slow(model: FiltModel, concepts: Concepts | None, days_per_tick: float = 1.0) -> SlowFilt:
    weights = {name: value.detach().double().numpy() for name, value in model.module.named_parameters()}
    return SlowFilt(weights, concepts, RELATIONS, days_per_tick)


def scores(model: FiltModel, task: Task) -> np.ndarray:
    return dense(model.scorer().score(task, task.queries))


def at_times(task: Task, shift: int, sign: int = 1) -> Task:
    facts, queries = task.support.facts, task.queries
    support = MetaSet(task.support.entity_of_fact, replace(facts, time=sign * facts.time + shift))
    return Task(support, replace(queries, time=sign * queries.time + shift))


@pytest.mark.parametrize(("concepts", "days"), [(True, 1.0), (False, 1.0), (True, 30.0)])
def test_scores_equal_the_slow_reference(concepts: bool, days: float) -> None:
    model, task = model_of(concepts, days), random_task()
    reference = slow(model, CONCEPTS if concepts else None, days)
    q = task.queries
    expected = [
        [reference.score(task, *query, candidate) for candidate in range(ENTITIES)]
        for query in zip(q.entity.tolist(), q.relation.tolist(), q.time.tolist(), strict=True)
    ]
    found = scores(model, task)
    assert np.ptp(found) > 1
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-5)  # concept embeddings are computed in float32


def test_loss_equals_the_slow_reference() -> None:
    model, task = model_of(), random_task()
    reference = slow(model, CONCEPTS)
    candidates = np.arange(FIRST_UNSEEN, dtype=np.int32)
    batch = ranking_batch(task, candidates, RELATIONS, TRAINING, np.random.default_rng(7))
    by_entity: dict[int, list[float]] = {}
    q = batch.queries
    for number, query in enumerate(zip(q.entity.tolist(), q.relation.tolist(), q.time.tolist(), strict=True)):
        answer, *negatives = batch.candidate[number].tolist()
        for score in (reference.score, reference.inverse_score):
            for negative in negatives:
                hinge = max(0.0, 1 - score(task, *query, answer) + score(task, *query, negative))
                by_entity.setdefault(query[0], []).append(hinge)
    expected = np.mean([np.mean(values) for values in by_entity.values()])
    assert len(by_entity) == 2
    assert float(model.training_step(Episode(task, seed=7)).loss.detach()) == pytest.approx(expected, rel=1e-5)


def test_time_weights_of_a_fact_at_the_query_time_and_one_two_days_later() -> None:
    times, known = np.array([[10, 12]], dtype=np.int32), np.ones((1, 2), dtype=np.bool_)
    found = time_weights(times, known, np.array([10], dtype=np.int32), 1.0)
    assert np.allclose(found, [[0.98901, 0.01099]], atol=5e-6)
    hours = time_weights(times * 24, known, np.array([240], dtype=np.int32), 1 / 24)
    assert np.allclose(hours, found)


def test_cells_without_a_fact_have_no_weight() -> None:
    known = np.array([[True, False, True]])
    found = time_weights(np.array([[1, 5, 9]], dtype=np.int32), known, np.array([5], dtype=np.int32), 1.0)
    assert found.tolist() == [[0.5, 0.0, 0.5]]


def test_one_support_fact_makes_the_scores_independent_of_the_query_time() -> None:
    model = model_of()
    for shots, equal in ((1, True), (3, False)):
        task = random_task(shots=shots)
        later = replace(task.queries, time=task.queries.time + 17)
        found = scores(model, task), scores(model, Task(task.support, later))
        assert np.allclose(*found, rtol=1e-12) == equal


@pytest.mark.parametrize(("shift", "sign"), [(1000, 1), (50, -1)])
def test_only_time_differences_count_and_not_their_sign(shift: int, sign: int) -> None:
    model, task = model_of(), random_task()
    assert np.array_equal(scores(model, task), scores(model, at_times(task, shift, sign)))


def test_order_of_support_facts_does_not_count() -> None:
    model, task = model_of(), random_task()
    order = np.array([2, 0, 1, 5, 4, 3, 7, 8, 6])
    support = MetaSet(task.support.entity_of_fact[order], task.support.facts.take(order))
    assert np.allclose(scores(model, task), scores(model, Task(support, task.queries)), rtol=1e-12)


def test_without_gates_and_layer_the_concept_part_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    with_concepts, without, task = model_of(), model_of(concepts=False), random_task()
    without.module.load_state_dict(
        {name: value for name, value in with_concepts.module.state_dict().items() if "concept" not in name}
    )
    assert not np.allclose(scores(with_concepts, task), scores(without, task))
    encoder = with_concepts.module.concept_encoder
    assert encoder is not None
    with torch.no_grad():
        for gate in (encoder.input_weight, encoder.own_weight, encoder.output_layer.bias):
            gate.zero_()
        encoder.output_layer.weight.copy_(torch.eye(len(encoder.output_layer.weight)))
    monkeypatch.setattr(network, "leaky_relu", lambda values: values)
    assert np.allclose(scores(with_concepts, task), scores(without, task), rtol=1e-9)


def test_both_writings_of_a_fact_agree_if_inverse_relations_are_conjugate() -> None:
    module = model_of().module.double()
    with torch.no_grad():
        module.relation_rows[RELATIONS.count :] = conjugate(module.relation_rows[: RELATIONS.count])
    embedded, relation = torch.randn(6, 8, dtype=torch.float64), np.arange(6, dtype=np.int32)
    first, second = module.query_rows(embedded, relation), module.inverse_query_rows(embedded, relation)
    assert torch.allclose(first, second, rtol=1e-12)
    with torch.no_grad():
        module.relation_rows[0] += 1
    assert not torch.allclose(module.inverse_query_rows(embedded, relation), second)


def test_second_writing_is_the_score_of_the_inverse_fact() -> None:
    module = model_of().module.double()
    embedded, relation = torch.randn(2, 8, dtype=torch.float64), np.array([1, 4], dtype=np.int32)
    rows, x = module.inverse_query_rows(embedded, relation).detach().numpy(), module.entity_rows.detach().numpy()
    u = module.relation_rows.detach().numpy()
    for number, inverse in enumerate((4, 1)):
        expected = complex_score(x[2], u[inverse], embedded[number].numpy())
        assert rows[number] @ x[2] == pytest.approx(expected)


def test_zero_row_mixes_all_concepts_equally() -> None:
    concepts = torch.randn(5, 8)
    assert torch.allclose(mix_concepts(torch.zeros(1, 8), concepts), concepts.mean(dim=0), atol=1e-6)


def test_concepts_start_from_their_members_but_attend_to_all_entities() -> None:
    rows = torch.eye(3, 8, dtype=torch.float64)
    members = ConceptMembers.of(Concepts.from_pairs(3, [(0, "a"), (1, "b"), (2, "b")]))
    weight = torch.softmax(torch.tensor([[1.0, 0, 0], [0, 0.5, 0.5]], dtype=torch.float64), dim=1)
    assert torch.allclose(concept_embeddings(rows, members)[:, :3], weight)


def test_rows_of_entities_outside_of_training_stay_zero() -> None:
    model, whole, last = model_of(), random_task(), ENTITIES - 1
    model._entities_in_training = np.arange(last, dtype=np.int32)
    own = whole.support.entity_of_fact != last
    support = MetaSet(whole.support.entity_of_fact[own], whole.support.facts.take(own))
    task = Task(support, whole.queries.take(whole.queries.entity != last))
    before = model.module.entity_rows.detach().clone()
    optimizer = model.make_optimizer(0.1)
    for number in range(1, 4):
        optimizer.zero_grad()
        model.training_step(Episode(task, number, number)).loss.backward()
        optimizer.step()
    changed = (model.module.entity_rows.detach() != before).any(dim=1)
    assert changed[:last].all()
    assert not changed[last]


def test_concept_embeddings_are_constant_between_two_computations() -> None:
    model, task = model_of(every=3), random_task()
    encoder = model.module.concept_encoder
    assert encoder is not None
    kept = []
    for number in range(1, 5):
        model.training_step(Episode(task, number, number)).loss.backward()
        kept.append(encoder.embeddings.clone())
        with torch.no_grad():
            model.module.entity_rows[0] += 1
    assert torch.equal(kept[0], kept[1])
    assert torch.equal(kept[1], kept[2])
    assert not torch.equal(kept[2], kept[3])
    assert encoder.embeddings.grad is None
    assert model._training_concepts(6) is encoder.embeddings
    recomputed = model._training_concepts(7)
    assert recomputed is not None
    assert recomputed.requires_grad


def test_new_entities_score_zero_and_change_nothing_else() -> None:
    model, task = model_of(), random_task()
    extended = model.with_capacity(context_of(CONCEPTS).with_capacity(2))
    found = dense(extended.scorer().score(task, task.queries), ENTITIES + 2)
    assert np.array_equal(found[:, :ENTITIES], scores(model, task))
    assert not found[:, ENTITIES:].any()
    owner = np.full(1, ENTITIES, dtype=np.int32)
    query = Queries(owner, *(np.array([value], dtype=np.int32) for value in (1, 5, -1)))
    new = Task(MetaSet(owner, Quadruples.from_rows([(ENTITIES, 0, 1, 3)])), query)
    assert np.ptp(dense(extended.scorer().score(new, query), ENTITIES + 2)[0, :FIRST_UNSEEN]) > 0


def test_other_concepts_change_the_scores() -> None:
    model, task = model_of(), random_task()
    other = model.refit_statistics(context_of(CONCEPTS).graph, random_concepts(5))
    assert not np.allclose(scores(other, task), scores(model, task))
    assert model.refit_statistics(context_of(CONCEPTS).graph) is model
