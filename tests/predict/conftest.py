"""Small trained runs of both presets, and unseen entities with a few facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset
from fitcarl.predict import Fact, Predictor, Query
from fitcarl.runs.run import Run
from fitcarl.tasks.task import Task, official_task
from fitcarl.training.api import train
from tests.small import small, write_tiny

SHOTS = 3


@dataclass(frozen=True)
class UnseenEntity:
    """An unseen entity of the test split with its support facts and a query about it."""

    dataset: Dataset
    task: Task
    number: int
    """Index of the query in the task."""
    facts: list[Fact]
    query: Query

    def renamed(self, name: str) -> tuple[list[Fact], Query]:
        """The same facts and query under another name."""
        old, query = self.query.entity, self.query
        facts = [Fact(*(name if part == old else part for part in fact)) for fact in self.facts]
        subject, object = (name, None) if query.object is None else (None, name)
        return facts, Query(subject, object, query.relation, query.at, query.top, query.paths)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("world") / "tiny")


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache directory for the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session", params=["plus", "paper"])
def run(request: pytest.FixtureRequest, world: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / request.param
    return train(world, out=out, shots=SHOTS, preset=request.param, episodes=2, settings=small(request.param))


@pytest.fixture
def predictor(run: Run) -> Predictor:
    return Predictor(run)


@pytest.fixture(scope="session")
def unseen_entities(world: Path) -> list[UnseenEntity]:
    """One query about each unseen entity of the test split."""
    dataset = load_dataset(str(world))
    names, relations, label = dataset.vocabulary, dataset.vocabulary.relation_ids, dataset.calendar.label
    task = official_task(dataset.test, SHOTS, relations, "forecast")
    found: dict[int, UnseenEntity] = {}
    for number, entity in enumerate(task.queries.entity.tolist()):
        known = task.support.facts.take(task.support.entity_of_fact == entity)
        facts = [Fact(names.entities[s], names.relations[r], names.entities[o], label(t)) for s, r, o, t in known]
        relation, name = int(task.queries.relation[number]), names.entities[entity]
        subject, object = (None, name) if relations.is_inverse(relation) else (name, None)
        asked = names.relations[relations.base(relation)]
        query = Query(subject, object, asked, label(int(task.queries.time[number])), 5, 2)
        found.setdefault(entity, UnseenEntity(dataset, task, number, facts, query))
    return list(found.values())


@pytest.fixture(scope="session")
def unseen(unseen_entities: list[UnseenEntity]) -> UnseenEntity:
    return unseen_entities[0]
