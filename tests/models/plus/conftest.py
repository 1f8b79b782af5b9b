"""A tiny split world and its statistics."""

from __future__ import annotations

import pytest

from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.dataset import Dataset
from fitcarl.data.split import split_facts
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.synthetic import generate_world
from fitcarl.tasks.task import Task, official_task


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    return split_facts(generate_world("tiny").facts, name="tiny", bounds=BENCHMARK_BOUNDS)


@pytest.fixture(scope="session")
def context(dataset: Dataset) -> GraphContext:
    return GraphContext.from_dataset(dataset)


@pytest.fixture(scope="session")
def statistics(context: GraphContext) -> GraphStatistics:
    return compute_statistics(context.facts, context.graph, context.concepts)


@pytest.fixture(scope="session")
def task(dataset: Dataset) -> Task:
    return official_task(dataset.valid, 3, dataset.vocabulary.relation_ids)
