"""Training tasks from pseudo-unseen entities: the model gets no facts of the held-out entities."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.schema import Config
from fitcarl.config.settings import configure
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.pseudo_unseen import hold_out_entities
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.models.base import Episode, GraphContext, TrainableModel
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.tasks.sampler import TaskSampler
from fitcarl.tasks.task import Task, sampled_task
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.folds import FoldModels
from tests.small import SMALL
from tests.training.test_loop import assert_same_weights

EPISODES, FEW = range(1, 13), range(5, 8)


@pytest.fixture(scope="module")
def tiny(data: Path) -> Dataset:
    return load_dataset(data)


@pytest.fixture(scope="module")
def model(tiny: Dataset) -> PlusModel:
    torch.manual_seed(0)
    return PlusModel(settings(), GraphContext.from_dataset(tiny))


def settings(*more: str, shots: int = 2) -> Config:
    return configure("plus", ["training.tasks=pseudo", "training.folds=3", *more], shots=shots, seed=5)


def sampled(tiny: Dataset, model: PlusModel, config: Config) -> Iterator[tuple[PlusModel, Task]]:
    """The tasks of some episodes, each with the model of its fold."""
    sampler = TaskSampler(tiny, config)
    models = FoldModels(model, sampler)
    for episode in EPISODES:
        found = sampler.sample(episode)
        yield models.model_for(found.fold), found.task


def test_always_visible_facts_contain_no_pseudo_unseen_entity(tiny: Dataset) -> None:
    sampler = TaskSampler(tiny, settings())
    assert sampler.pseudo_unseen is not None
    held_out = set(np.concatenate(sampler.pseudo_unseen.groups).tolist())
    visible = sampler.always_visible_facts
    assert 0 < len(visible) < len(tiny.background)
    assert not held_out & {*visible.subject.tolist(), *visible.object.tolist()}
    meta_only = TaskSampler(tiny, configure("plus", shots=2, seed=5)).always_visible_facts
    assert np.array_equal(meta_only.rows(), tiny.background.rows())


def first(tiny: Dataset, model: PlusModel, config: Config) -> tuple[PlusModel, Task]:
    return next(sampled(tiny, model, config))


def loss(model: TrainableModel, task: Task) -> float:
    return float(model.training_step(Episode(task, 0)).loss.detach())


def same(one: object, other: object) -> bool:
    """Whether two values hold the same numbers, including arrays within dataclasses."""
    if dataclasses.is_dataclass(one):
        return all(
            same(getattr(one, field.name), getattr(other, field.name))
            for field in dataclasses.fields(one)
            if field.name[0] != "_"
        )
    if isinstance(one, np.ndarray):
        return np.array_equal(one, np.asarray(other))
    return bool(one == other)


def test_background_has_no_fact_of_a_pseudo_unseen_entity(tiny: Dataset, model: PlusModel) -> None:
    for refitted, task in sampled(tiny, model, settings()):
        assert (refitted._background.degree(task.entities) == 0).all()
        ends = np.unique(np.concatenate([tiny.background.subject, tiny.background.object]))
        assert np.isin(task.entities, ends).all()


def test_statistics_are_computed_without_the_held_out_entities(tiny: Dataset, model: PlusModel) -> None:
    config = settings()
    sampler = TaskSampler(tiny, config)
    models = FoldModels(model, sampler)
    assert sampler.pseudo_unseen is not None
    for episode in FEW:
        found = sampler.sample(episode)
        assert found.fold is not None
        group, entities = sampler.pseudo_unseen.groups[found.fold], len(tiny.vocabulary.entities)
        left = hold_out_entities(tiny.background, group, entities, np.random.default_rng(0)).background
        expected = PlusModel(config, GraphContext.from_dataset(dataclasses.replace(tiny, background=left)))
        refitted = models.model_for(found.fold)
        assert isinstance(refitted, PlusModel)
        # Features are scaled once per run, so that the scaling is that of the model.
        assert same(refitted.statistics, expected.statistics.with_parts(scaling=model.statistics.scaling))
        assert not same(refitted.statistics, model.statistics)


def test_facts_of_held_out_entities_do_not_change_the_loss(tiny: Dataset, model: PlusModel) -> None:
    """The answers are added to the background once more, at another time and between the same entities."""
    sampler = TaskSampler(tiny, settings())
    assert sampler.pseudo_unseen is not None
    refitted, task = first(tiny, model, settings())
    group = next(group for group in sampler.pseudo_unseen.groups if np.isin(task.entities, group).all())
    queries = task.queries.take(task.queries.relation < len(tiny.vocabulary.relations))
    added = Quadruples(queries.entity, queries.relation, queries.answer, (queries.time + 1) % tiny.calendar.span)
    more = Quadruples.concat([tiny.background, added]).distinct()
    assert len(more) > len(tiny.background)
    left = hold_out_entities(more, group, len(tiny.vocabulary.entities), np.random.default_rng(0)).background
    graph = GraphContext.from_dataset(dataclasses.replace(tiny, background=left)).graph
    assert loss(refitted, task) == loss(model.refit_statistics(graph), task)


def test_without_holding_out_the_answers_would_be_visible(tiny: Dataset, model: PlusModel) -> None:
    refitted, task = first(tiny, model, settings())
    assert loss(model, task) < loss(refitted, task)


def test_refitted_models_share_the_weights(tiny: Dataset, model: PlusModel) -> None:
    assert all(refitted.module is model.module for refitted, _ in sampled(tiny, model, settings()))


def test_task_of_an_episode_does_not_depend_on_earlier_samples(tiny: Dataset, model: PlusModel) -> None:
    config = settings("training.tasks=both", "training.folds=6")
    in_order = [task for _, task in sampled(tiny, model, config)]
    for episode in reversed(FEW):
        task = TaskSampler(tiny, config).sample(episode).task
        assert task.support == in_order[episode - 1].support
        assert same(task.queries, in_order[episode - 1].queries)


def test_both_sources_are_sampled(tiny: Dataset, model: PlusModel) -> None:
    def official(config: Config) -> list[bool]:
        return [bool(np.isin(task.entities, tiny.train.entities).any()) for _, task in sampled(tiny, model, config)]

    assert 3 <= sum(official(settings("training.tasks=both"))) <= 9
    assert not any(official(settings()))


def test_meta_train_tasks_use_the_full_background(tiny: Dataset, model: PlusModel) -> None:
    config = settings("training.tasks=meta")
    for episode, (played_on, task) in zip(EPISODES, sampled(tiny, model, config), strict=True):
        rng = np.random.default_rng([5, episode])
        expected = sampled_task(tiny.train, 2, tiny.vocabulary.relation_ids, rng, config.training.queries_per_entity)
        assert played_on is model
        assert same(task.queries, expected.queries)


def test_few_refitted_models_are_kept(tiny: Dataset, model: PlusModel) -> None:
    sampler = TaskSampler(tiny, settings("training.folds=8"))
    models = FoldModels(model, sampler)
    for episode in EPISODES:
        models.model_for(sampler.sample(episode).fold)
    assert models._refit.cache_info().currsize <= 4
    assert sampler._hidden.cache_info().currsize <= 4


def test_model_fitcarl_has_no_setting_for_pseudo_unseen_entities() -> None:
    """Its embeddings are pre-trained on all background entities."""
    with pytest.raises(InputError, match="not a setting of model fitcarl"):
        configure("paper", ["training.tasks=both"])


def test_training_on_both_sources_resumes_bit_for_bit(data: Path, tmp_path: Path) -> None:
    ways = {"shots": 2, "episodes": 4, "settings": (*SMALL, "training.tasks=both"), "seed": 3}
    undisturbed = train(data, out=tmp_path / "undisturbed", **ways)
    seen: list[int] = []
    with pytest.raises(TrainingInterrupted):
        train(
            data,
            out=tmp_path / "run",
            **ways,
            on_progress=lambda now: seen.append(now.done) if now.stage == "training" else None,
            should_stop=lambda: len(seen) == 2,
        )
    resume(tmp_path / "run")
    assert_same_weights(undisturbed.folder.path, tmp_path / "run")


def test_share_of_the_tasks_for_forecasts_is_of_the_setting_completion(tiny: Dataset) -> None:
    def limited(*more: str, setting: str = "forecast") -> list[bool]:
        config = configure("plus", more, shots=2, seed=5, setting=setting)
        sampler = TaskSampler(tiny, config)
        return [sampler.sample(episode).task.queries.limited for episode in range(1, 61)]

    by_default = limited()
    assert 15 < sum(by_default) < 45
    assert limited() == by_default
    assert all(limited("training.completion_share=0"))
    assert not any(limited("training.completion_share=1"))
    assert not any(limited(setting="completion"))


def test_tasks_for_completion_do_not_depend_on_the_share(tiny: Dataset) -> None:
    one, other = (
        TaskSampler(tiny, configure("plus", [f"training.completion_share={share}"], shots=2, seed=5)).sample(3).task
        for share in (0, 0.5)
    )
    assert one.queries.asks_the_same(other.queries)
    assert np.array_equal(one.support.facts.time, other.support.facts.time)
