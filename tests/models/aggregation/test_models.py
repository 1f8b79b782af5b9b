"""MEAN and LAN on a tiny world: training, scores, new entities, other graphs, and what they must not see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.schema import LanConfig, MeanConfig
from fitcarl.config.settings import configure
from fitcarl.core.storage import Artifacts
from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.io.dataset_folder import write_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.split import split_facts
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.aggregation.decoder import translation_distance
from fitcarl.models.aggregation.neighbourhoods import Neighbourhoods
from fitcarl.models.aggregation.network import NeighbourTensors
from fitcarl.models.aggregation.trainable import AggregationModel
from fitcarl.models.base import Episode, GraphContext, Preparation
from fitcarl.models.registry import trainable_class
from fitcarl.predict.predictor import Predictor
from fitcarl.synthetic import generate_world
from fitcarl.tasks.task import Queries, Task, official_task
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.setup import ignore_progress, never_stop
from fitcarl.training.validation import Validation
from tests.small import SMALL_MODELS

MODELS = ("mean", "lan")
VARIANTS = (*MODELS, "mean-input", "lan-input")
"""The models as published, and their presets with input vectors as candidates."""
SHOTS = 2


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return split_facts(generate_world("tiny", seed=7).facts, name="tiny", bounds=BENCHMARK_BOUNDS)


def prepared(name: str, dataset: Dataset, *settings: str) -> AggregationModel:
    model_name = name.removesuffix("-input")
    chosen = {"model": name} if name in MODELS else {"preset": name}
    config = configure(settings=(*SMALL_MODELS[model_name], *settings), shots=SHOTS, **chosen)
    context = GraphContext.from_dataset(dataset)
    preparation = Preparation(
        dataset, config, context, dataset.background, Artifacts(Path("unused")), ignore_progress, never_stop
    )
    model = trainable_class(model_name).prepare(preparation)
    assert isinstance(model, AggregationModel)
    return model


def train_steps(model: AggregationModel, steps: int) -> list[float]:
    optimizer, losses = model.make_optimizer(0.01), []
    for number in range(1, steps + 1):
        loss = model.training_step(Episode(Task.empty(), number, number)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def dense(model: AggregationModel, task: Task, queries: Queries) -> np.ndarray:
    """float64 [queries, entities], nan where an entity is not listed."""
    scores = model.scorer().score(task, queries)
    table = np.full((len(queries), model._graph.entities), np.nan)
    table[scores.query, scores.entity] = scores.score
    return table


@pytest.fixture(scope="module", params=VARIANTS)
def model(request: pytest.FixtureRequest, dataset: Dataset) -> AggregationModel:
    """A model after a few steps, for both kinds of candidates."""
    made = prepared(request.param, dataset)
    train_steps(made, 5)
    return made


@pytest.fixture
def task(dataset: Dataset) -> Task:
    return official_task(dataset.test, SHOTS, dataset.vocabulary.relation_ids)


@pytest.mark.parametrize("name", VARIANTS)
def test_training_lowers_the_loss_and_raises_the_mrr(name: str, dataset: Dataset) -> None:
    made, validation = prepared(name, dataset), Validation.of(dataset, SHOTS)
    before = validation.mrr(made.scorer())
    losses = train_steps(made, 100)
    assert np.mean(losses[-10:]) < 0.9 * np.mean(losses[:3])
    assert validation.mrr(made.scorer()) > 1.1 * before


def test_scores_are_minus_distances_of_outputs_in_both_directions(model: AggregationModel, task: Task) -> None:
    network, relations = model.module, model._graph.relations
    sends = network.entity.detach().ne(0).any(1).numpy()
    every = Neighbourhoods.of_graph(model._graph, sends)
    rows = NeighbourTensors.of(every, np.arange(len(every)))
    inverse = relations.is_inverse(task.queries.relation)
    for index in (int(np.flatnonzero(inverse)[0]), int(np.flatnonzero(~inverse)[0])):
        query = task.queries.take(slice(index, index + 1))
        [entity], [asked] = query.entity.tolist(), query.relation.tolist()
        facts = task.support.facts.take(task.support.entity_of_fact == entity)
        seen = facts.seen_from(np.full(len(facts), entity, np.int32), relations)
        own = Neighbourhoods.from_edges(np.zeros(len(seen), int), seen.relation, seen.object, 1)
        with torch.no_grad():
            vector = network(NeighbourTensors.of(own, np.array([entity])), torch.tensor(asked))[0]
            others = network(rows, torch.tensor(relations.inverse(asked)))
            if model._config.candidates.vectors == "input":
                others = network.entity
            translation = network.translation[relations.base(asked)]
            ends = (others, vector) if relations.is_inverse(asked) else (vector, others)
            expected = -translation_distance(ends[0], translation, ends[1]).numpy()
        known = (every.counts > 0) & sends
        assert known.sum() > 20
        np.testing.assert_allclose(dense(model, task, query)[0][known], expected[known], rtol=1e-5)


def test_scores_do_not_depend_on_times(model: AggregationModel, task: Task) -> None:
    queries = task.queries
    later = Queries(queries.entity, queries.relation, queries.time + 17, queries.answer)
    facts = task.support.facts
    moved = replace(facts, time=facts.time[::-1].copy())
    expected = dense(model, task, queries)
    np.testing.assert_array_equal(dense(model, task, later), expected)
    np.testing.assert_array_equal(dense(model, Task(replace(task.support, facts=moved), queries), queries), expected)


def test_support_of_new_entities_leaves_other_candidates_unchanged(model: AggregationModel, task: Task) -> None:
    graph = model._graph.with_facts(task.support.facts)
    expected = dense(model, task, task.queries)
    found = dense(model.with_graph(graph), task, task.queries)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_unseen_entities_are_candidates_by_their_support_only(model: AggregationModel, task: Task) -> None:
    scores = dense(model, task, task.queries)
    own = task.queries.entity[:, None] == np.arange(scores.shape[1])
    assert np.isnan(scores[own]).all() != model._config.candidates.query_entity
    listed = ~np.isnan(np.where(own, 0, scores)).any(axis=0)
    assert listed[task.entities].all()
    one = task.support.entity_of_fact == task.entities[0]
    first = MetaSet(task.support.entity_of_fact[one], task.support.facts.take(one))
    queries = task.queries.take(task.queries.entity == task.entities[0])
    alone = ~np.isnan(dense(model, Task(first, queries), queries)).any(axis=0)
    assert not alone[task.entities[1:]].any()
    assert np.array_equal(np.delete(alone, task.entities), np.delete(listed, task.entities))


@pytest.mark.parametrize("name", MODELS)
def test_query_entity_is_not_listed_on_request(name: str, dataset: Dataset, task: Task) -> None:
    for listed in ("on", "off"):
        scores = dense(prepared(name, dataset, f"candidates.query_entity={listed}"), task, task.queries)
        own = scores[np.arange(len(scores)), task.queries.entity]
        assert np.isfinite(own).all() if listed == "on" else np.isnan(own).all()


@pytest.mark.parametrize("name", MODELS)
def test_defaults_are_published_and_the_preset_names_what_differs(name: str) -> None:
    published, improved = configure(model=name), configure(preset=f"{name}-input")
    assert isinstance(published, MeanConfig | LanConfig)
    assert isinstance(improved, MeanConfig | LanConfig)
    found = [
        (config.candidates.vectors, config.candidates.query_entity, config.training.leave_target_out)
        for config in (published, improved)
    ]
    assert found == [("output", True, False), ("input", False, True)]
    assert (published.training.margin, published.training.input_loss_weight) == (1, 1)
    assert published.network == improved.network


def test_rows_outside_the_training_facts_are_zero_and_stay_zero(model: AggregationModel, dataset: Dataset) -> None:
    facts = Quadruples.concat([dataset.background, dataset.train.facts])
    trained = np.isin(np.arange(len(model.module.entity)), np.concatenate([facts.subject, facts.object]))
    assert np.array_equal(model.module.entity.detach().ne(0).any(1).numpy(), trained)
    assert not trained.all()


def test_model_with_capacity_scores_new_ids_and_lists_no_empty_ones(
    model: AggregationModel, dataset: Dataset, task: Task
) -> None:
    entities = model._graph.entities
    larger = model.with_capacity(GraphContext.from_dataset(dataset).with_capacity(3))
    assert (len(larger.module.entity), len(model.module.entity)) == (entities + 3, entities)
    expected = dense(model, task, task.queries)
    found = dense(larger, task, task.queries)
    np.testing.assert_allclose(found[:, :entities], expected, rtol=1e-6)
    assert np.isnan(found[:, entities:]).all()

    # The first unseen entity under a new id has the same scores.
    unseen, new = int(task.entities[0]), entities + 1
    facts = task.support.facts.take(task.support.entity_of_fact == unseen)
    columns = (np.where(ids == unseen, new, ids).astype(np.int32) for ids in (facts.subject, facts.object))
    renamed = Quadruples(*(next(columns), facts.relation, next(columns), facts.time))
    own = task.queries.entity == unseen
    queries = replace(task.queries.take(own), entity=np.full(own.sum(), new, dtype=np.int32))
    support = MetaSet(np.full(len(facts), new, dtype=np.int32), renamed)
    others = np.setdiff1d(np.arange(entities), task.entities)
    np.testing.assert_allclose(dense(larger, Task(support, queries), queries)[:, others], expected[own][:, others])


def test_graph_given_is_the_only_source_of_neighbourhoods(model: AggregationModel, task: Task) -> None:
    empty = TemporalGraph.from_facts(Quadruples.empty(), model._graph.entities, model._graph.relations)
    scores = dense(model.with_graph(empty), task, task.queries)
    assert np.isfinite(scores[:, 0]).all()  # by its input row
    same = np.allclose(scores, dense(model, task, task.queries), equal_nan=True)
    assert same == (model._config.candidates.vectors == "input")


@pytest.mark.parametrize("name", MODELS)
def test_facts_of_meta_validation_and_meta_test_do_not_change_the_training(name: str, dataset: Dataset) -> None:
    def poisoned(meta: MetaSet) -> MetaSet:
        facts = meta.facts
        return MetaSet(meta.entity_of_fact, replace(facts, relation=(facts.relation + 1) % 3))

    other = replace(dataset, valid=poisoned(dataset.valid), test=poisoned(dataset.test), dropped=Quadruples.empty())
    models = [prepared(name, data) for data in (dataset, other)]
    for made in models:
        train_steps(made, 4)
    one, two = (made.module.state_dict() for made in models)
    assert all(torch.equal(one[key], two[key]) for key in one)


@pytest.mark.parametrize("name", MODELS)
def test_resumed_training_predicts_like_an_uninterrupted_one(name: str, dataset: Dataset, tmp_path: Path) -> None:
    arguments = {"shots": SHOTS, "model": name, "settings": (*SMALL_MODELS[name], "training.validate_every=2")}
    whole = train(dataset, out=tmp_path / "whole", episodes=6, **arguments)
    calls = iter([False] * 3 + [True] * 9)
    folder = tmp_path / "data"
    write_dataset(dataset, folder)
    with pytest.raises(TrainingInterrupted):
        train(folder, out=tmp_path / "parts", episodes=6, should_stop=lambda: next(calls), **arguments)
    parts = resume(tmp_path / "parts")
    state = whole.model.module.state_dict()
    assert all(torch.equal(value, state[key]) for key, value in parts.model.module.state_dict().items())
    predictor = Predictor(parts)
    example = predictor.example()
    assert example is not None
    [prediction] = predictor.answer([example.query], example.facts)
    assert len(prediction)
    assert not prediction[0].paths
