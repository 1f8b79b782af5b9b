"""A tiny world, split, and what is counted on it."""

from __future__ import annotations

import pytest

from fitcarl.data.dataset import Dataset
from fitcarl.data.split import split_facts
from fitcarl.models.base import Surroundings
from fitcarl.models.plus.statistics import Statistics, count
from fitcarl.synthetic import generate_world
from fitcarl.tasks.task import Task, official_task


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    return split_facts(generate_world("tiny").facts, name="tiny")


@pytest.fixture(scope="session")
def surroundings(dataset: Dataset) -> Surroundings:
    return Surroundings.of(dataset)


@pytest.fixture(scope="session")
def statistics(surroundings: Surroundings) -> Statistics:
    return count(surroundings.facts, surroundings.graph, surroundings.concepts)


@pytest.fixture(scope="session")
def task(dataset: Dataset) -> Task:
    return official_task(dataset.valid, 3, dataset.vocabulary.relation_ids)
