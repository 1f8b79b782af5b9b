"""Training tasks without a meta-split: what the agent sees was counted without those who play newcomers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.schema import Config, configure
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.pseudo_unseen import hold_out_entities
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.models.base import GraphContext, TrainableModel
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.tasks.sampler import TaskSampler
from fitcarl.tasks.task import Task, sampled_task
from fitcarl.training.api import resume, train
from fitcarl.training.loop import TrainingInterrupted
from tests.small import SMALL
from tests.training.test_loop import assert_same_weights

EPISODES, FEW = range(1, 13), range(5, 8)


@pytest.fixture(scope="module")
def tiny(data: Path) -> Dataset:
    return load_dataset(data)


@pytest.fixture(scope="module")
def agent(tiny: Dataset) -> PlusModel:
    torch.manual_seed(0)
    return PlusModel(settings(), GraphContext.from_dataset(tiny))


def settings(*more: str, shots: int = 2) -> Config:
    return configure("plus", ["training.tasks=pseudo", "training.folds=3", *more], shots=shots, seed=5)


def lessons(tiny: Dataset, agent: PlusModel, config: Config) -> Iterator[tuple[PlusModel, Task]]:
    source = TaskSampler(tiny, config)
    for episode in EPISODES:
        player, task = source.sample(agent, episode)
        assert isinstance(player, PlusModel)
        yield player, task


def loss(agent: TrainableModel, task: Task) -> float:
    return float(agent.training_step(task, 0).loss.detach())


def same(one: object, other: object) -> bool:
    """Whether two values hold the same numbers, arrays within dataclasses included."""
    if dataclasses.is_dataclass(one):
        return all(
            same(getattr(one, field.name), getattr(other, field.name))
            for field in dataclasses.fields(one)
            if field.name[0] != "_"
        )
    if isinstance(one, np.ndarray):
        return np.array_equal(one, np.asarray(other))
    return bool(one == other)


def test_no_fact_of_a_newcomer_is_in_the_graph_it_is_asked_about_in(tiny: Dataset, agent: PlusModel) -> None:
    for player, task in lessons(tiny, agent, settings()):
        assert (player._background.degree(task.entities) == 0).all()
        ends = np.unique(np.concatenate([tiny.background.subject, tiny.background.object]))
        assert np.isin(task.entities, ends).all()


def test_everything_is_counted_anew_without_them(tiny: Dataset, agent: PlusModel) -> None:
    config = settings()
    source = TaskSampler(tiny, config)
    assert source.pseudo_unseen is not None
    unequal = 0
    for episode in FEW:
        player, task = source.sample(agent, episode)
        assert isinstance(player, PlusModel)
        group = next(group for group in source.pseudo_unseen.groups if np.isin(task.entities, group).all())
        left = hold_out_entities(
            tiny.background, group, len(tiny.vocabulary.entities), np.random.default_rng(0)
        ).background
        alone = PlusModel(config, GraphContext.from_dataset(dataclasses.replace(tiny, background=left)))
        assert same(player.statistics, alone.statistics)
        unequal += not same(player.statistics, agent.statistics)
    assert unequal == len(FEW)


def test_what_happened_to_a_newcomer_changes_nothing_that_is_seen_of_it(tiny: Dataset, agent: PlusModel) -> None:
    """The fact that answers a question is planted among the hidden ones once more, at another time and as it is."""
    source = TaskSampler(tiny, settings())
    assert source.pseudo_unseen is not None
    player, task = source.sample(agent, 1)
    group = next(group for group in source.pseudo_unseen.groups if np.isin(task.entities, group).all())
    asked = task.queries.take(task.queries.relation < len(tiny.vocabulary.relations))
    planted = Quadruples(asked.entity, asked.relation, asked.answer, (asked.time + 1) % tiny.calendar.span)
    more = Quadruples.concat([tiny.background, planted]).distinct()
    assert len(more) > len(tiny.background)
    left = hold_out_entities(more, group, len(tiny.vocabulary.entities), np.random.default_rng(0)).background
    graph = GraphContext.from_dataset(dataclasses.replace(tiny, background=left)).graph
    assert loss(player, task) == loss(agent.refit_statistics(graph), task)


def test_a_newcomers_own_facts_would_have_been_seen_without_that(tiny: Dataset, agent: PlusModel) -> None:
    player, task = TaskSampler(tiny, settings()).sample(agent, 1)
    assert loss(agent, task) < loss(player, task)


def test_all_players_share_the_weights(tiny: Dataset, agent: PlusModel) -> None:
    assert all(player.module is agent.module for player, _ in lessons(tiny, agent, settings()))


def test_an_episode_has_the_same_task_whatever_was_drawn_before(tiny: Dataset, agent: PlusModel) -> None:
    config = settings("training.tasks=both", "training.folds=6")
    in_order = [task for _, task in lessons(tiny, agent, config)]
    for episode in reversed(FEW):
        _, task = TaskSampler(tiny, config).sample(agent, episode)
        assert task.support == in_order[episode - 1].support
        assert same(task.queries, in_order[episode - 1].queries)


def test_both_sources_take_turns(tiny: Dataset, agent: PlusModel) -> None:
    official = [
        bool(np.isin(task.entities, tiny.train.entities).all())
        for _, task in lessons(tiny, agent, settings("training.tasks=both"))
    ]
    assert 3 <= sum(official) <= 9
    assert not any(np.isin(task.entities, tiny.train.entities).any() for _, task in lessons(tiny, agent, settings()))


def test_official_tasks_are_what_they_were_before_there_were_others(tiny: Dataset, agent: PlusModel) -> None:
    config = settings("training.tasks=meta")
    for episode, (player, task) in zip(EPISODES, lessons(tiny, agent, config), strict=True):
        rng = np.random.default_rng([5, episode])
        expected = sampled_task(tiny.train, 2, tiny.vocabulary.relation_ids, rng, config.training.queries_per_entity)
        assert player is agent
        assert same(task.queries, expected.queries)


def test_no_more_than_a_few_groups_are_kept(tiny: Dataset, agent: PlusModel) -> None:
    source = TaskSampler(tiny, settings("training.folds=8"))
    for episode in EPISODES:
        source.sample(agent, episode)
        assert len(source._kept) <= 4


def test_preset_paper_is_refused_because_its_embeddings_know_the_background() -> None:
    with pytest.raises(InputError, match="embeddings know the background"):
        configure("paper", ["training.tasks=both"])


def test_training_on_both_is_resumed_bit_for_bit(data: Path, tmp_path: Path) -> None:
    ways = {"shots": 2, "episodes": 4, "settings": (*SMALL, "training.tasks=both"), "seed": 3}
    undisturbed = train(data, out=tmp_path / "whole", **ways)
    seen: list[int] = []
    with pytest.raises(TrainingInterrupted):
        train(
            data,
            out=tmp_path / "run",
            **ways,
            watch=lambda now: seen.append(now.line.episode),
            stop=lambda: len(seen) == 2,
        )
    resume(tmp_path / "run")
    assert_same_weights(undisturbed.folder.path, tmp_path / "run")
