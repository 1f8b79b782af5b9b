"""TITer on the tiny world: training, resuming, loading, blindness to hidden facts, prediction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.settings import configure
from fitcarl.core.storage import Artifacts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.models.base import Episode, GraphContext, Preparation
from fitcarl.models.titer.trainable import TiterModel
from fitcarl.predict.predictor import Predictor
from fitcarl.runs.run import Run
from fitcarl.tasks.task import Task, official_task
from fitcarl.training import trace
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.setup import ignore_progress, never_stop
from tests.small import data, home

__all__ = ["data", "home"]

SETTINGS = (
    *("network.action_space=20", "search.beam=20", "training.batch_size=256", "training.learning_rate=0.01"),
    *("training.validate_every=20", "training.patience=0"),
)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("titer") / "run"
    return train(data, out=out, shots=3, model="titer", episodes=60, settings=SETTINGS)


def prepared(dataset: Dataset, folder: Path, *settings: str) -> TiterModel:
    config, context = configure(model="titer", settings=[*SETTINGS, *settings]), GraphContext.from_dataset(dataset)
    facts, artifacts = dataset.background, Artifacts(folder)
    return TiterModel.prepare(Preparation(dataset, config, context, facts, artifacts, ignore_progress, never_stop))


def test_training_reaches_more_answers(run: Run) -> None:
    hits = [entry.metrics["hit_rate"] for entry in trace.read(run.folder.trace)]
    assert np.mean(hits[-20:]) > 1.15 * np.mean(hits[:5])


def test_resumed_training_equals_an_uninterrupted_one(run: Run, data: Path, tmp_path: Path) -> None:
    calls = iter([False] * 24 + [True])
    with pytest.raises(TrainingInterrupted):
        train(
            data,
            out=tmp_path / "run",
            model="titer",
            episodes=60,
            settings=SETTINGS,
            should_stop=lambda: next(calls),
        )
    resumed = resume(tmp_path / "run")
    expected = run.model.module.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in resumed.model.module.state_dict().items())


def test_loaded_run_scores_the_same(run: Run, data: Path) -> None:
    dataset = read_dataset(data)
    loaded = Run.load(run.folder.path)
    assert loaded.parameters == run.parameters
    with pytest.raises(ValueError, match="no training facts"):
        loaded.model.training_step(Episode(Task.empty(), seed=1))
    task = official_task(dataset.test, 3, dataset.vocabulary.relation_ids)
    first, second = (found.scorer_for(dataset).score(task, task.queries) for found in (run, loaded))
    assert np.array_equal(first.entity, second.entity)
    assert np.array_equal(first.score, second.score)


def test_hidden_facts_do_not_reach_training(data: Path, tmp_path: Path) -> None:
    dataset = read_dataset(data)
    nothing = MetaSet(dataset.test.entity_of_fact[:0], dataset.test.facts.take(slice(0, 0)))
    poisoned = replace(dataset, test=nothing, valid=nothing)
    losses = []
    for number, given in enumerate((dataset, poisoned)):
        (tmp_path / str(number)).mkdir()
        model = prepared(given, tmp_path / str(number))
        results = [model.training_step(Episode(Task.empty(), seed=n, number=n)) for n in (1, 2)]
        losses.append([float(result.loss.detach()) for result in results])
    assert losses[0] == losses[1]


def test_training_facts_are_those_of_background_and_meta_train(data: Path, tmp_path: Path) -> None:
    dataset = read_dataset(data)
    assert len(dataset.train)
    training = prepared(dataset, tmp_path)._training
    assert training is not None
    assert training[0].contains(dataset.train.facts).all()
    assert training[0].edges == 2 * (len(dataset.background) + len(dataset.train))


def test_reward_is_shaped_by_the_lag(data: Path, tmp_path: Path) -> None:
    dataset, reward = read_dataset(data), {}
    for shaping in ("off", "mean", "sample"):
        model = prepared(dataset, tmp_path, f"training.shaping={shaping}")
        metrics = model.training_step(Episode(Task.empty(), seed=1)).metrics
        reward[shaping] = metrics["reward"] / metrics["hit_rate"]
    assert reward["off"] == pytest.approx(1)
    assert 1 < reward["mean"] < 2
    assert 1 < reward["sample"] < 2
    assert reward["sample"] != reward["mean"]


def test_prediction_explains_answers_by_earlier_facts(run: Run) -> None:
    predictor = Predictor.load(run)
    graph = run.context.graph
    facts, last = graph.background_facts(), run.calendar.labels[-1]
    names, relations = run.vocabulary.entities, run.vocabulary.relations
    position = int(np.argmin(facts.time))
    neighbour, relation = names[facts.subject[position]], relations[facts.relation[position]]
    time = run.calendar.label(int(facts.time[position]) + 1)
    predictor.observe([("the new entity", relation, neighbour, time)])
    prediction = predictor.ask("the new entity", relation, last, top=5)
    assert prediction.answers
    best = prediction.answers[0]
    assert best.paths
    first = best.paths[0].steps[0]
    assert (first.subject, first.relation, first.object, first.time) == ("the new entity", relation, neighbour, time)
    assert all(step.time <= time for path in best.paths for step in path.steps)
    assert all(0 < step.probability <= 1 for path in best.paths for step in path.steps)
