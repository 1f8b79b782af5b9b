"""``check_scorer`` accepts correct scorers and rejects every kind of violation."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics import CopySupport, RelationWindow
from fitcarl.models.registry import HEURISTIC, heuristic
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task
from fitcarl.testing import ContractError, check_scorer
from tests.evaluation.reference import random_dataset

DATASET = random_dataset()


class Correct:
    """Scores all entities by a fixed function of query and entity."""

    name = "correct"

    def __init__(self, dataset: Dataset) -> None:
        self.entities = len(dataset.vocabulary.entities)

    def score(self, task: Task, queries: Queries) -> Scores:  # noqa: ARG002
        return Scores.from_dense(self.table(queries))

    def table(self, queries: Queries) -> np.ndarray:
        return np.sin(queries.relation[:, None] + np.arange(self.entities) * (1 + queries.time[:, None] % 7))


class WithoutName(Correct):
    name = ""


class ReturnsMatrix(Correct):
    def score(self, task, queries):  # noqa: ARG002
        return self.table(queries)


class MissesQuery(Correct):
    def score(self, task, queries):  # noqa: ARG002
        return Scores.from_dense(self.table(queries)[1:])


class UnknownEntity(Correct):
    def score(self, task, queries):  # noqa: ARG002
        n = len(queries)
        return Scores(np.arange(n + 1), np.full(n, self.entities, np.int32), np.zeros(n))


class DuplicateEntity(Correct):
    def score(self, task, queries):  # noqa: ARG002
        n = len(queries)
        return Scores(np.arange(0, 2 * n + 1, 2), np.zeros(2 * n, np.int32), np.zeros(2 * n))


class WrongType(Correct):
    def score(self, task, queries):  # noqa: ARG002
        scores = Scores.from_dense(self.table(queries))
        return Scores(scores.offsets, scores.entity, scores.score.astype(np.float32))


class ModifiesArguments(Correct):
    def score(self, task, queries):
        task.support.facts.time[:] += 1
        return super().score(task, queries)


class FillsEmptyBatch(Correct):
    def score(self, task, queries):
        return super().score(task, task.queries if not len(queries) else queries)


class Random(Correct):
    def __init__(self, dataset):
        super().__init__(dataset)
        self.rng = np.random.default_rng(0)

    def score(self, task, queries):  # noqa: ARG002
        return Scores.from_dense(self.table(queries) + self.rng.random((len(queries), 1)))


class KeepsState(Correct):
    """Uses the support of the first task for all later ones."""

    support = None

    def score(self, task, queries):
        table = self.table(queries)
        if self.support is None:
            self.support = task.support
            return Scores.from_dense(table)
        return Scores.from_dense(table + (task.support == self.support))


class UsesAnswers(Correct):
    def score(self, task, queries):  # noqa: ARG002
        table = self.table(queries)
        rows = np.flatnonzero(queries.answer >= 0)
        table[rows, queries.answer[rows]] += 1
        return Scores.from_dense(table)


class UsesBatch(Correct):
    def score(self, task, queries):  # noqa: ARG002
        table = self.table(queries)
        return Scores.from_dense(table - table[:1])


class UsesQueryOrder(Correct):
    def score(self, task, queries):
        bonus = (np.arange(len(queries)) % len(task.queries))[:, None] * np.arange(self.entities)
        whole = len(queries) == len(task.queries) and queries.time[0] != task.queries.time[0]
        return Scores.from_dense(self.table(queries) + bonus * whole)


class UsesSupportOrder(Correct):
    def score(self, task, queries):
        table = self.table(queries)
        first = {int(e): int(task.support.facts.time[i]) for e, i in zip(*self.starts(task), strict=True)}
        return Scores.from_dense(table + np.array([first[int(entity)] for entity in queries.entity])[:, None])

    def starts(self, task):
        return task.support.entities, task.support.offsets[:-1]


class UsesHiddenFacts(Correct):
    def __init__(self, dataset):
        super().__init__(dataset)
        self.counts = np.bincount(dataset.test.facts.object, minlength=self.entities)

    def table(self, queries):
        return super().table(queries) + self.counts


class UsesFuture(Correct):
    def __init__(self, dataset):
        super().__init__(dataset)
        self.counts = np.bincount(dataset.background.object, minlength=self.entities)

    def table(self, queries):
        return super().table(queries) + self.counts


class UsesLaterSupport(Correct):
    def score(self, task, queries):
        return Scores.from_dense(self.table(queries) + sum(hash(fact) % 997 for fact in task.support.facts))


@pytest.mark.parametrize("name", HEURISTIC)
def test_heuristics_use_no_fact_at_or_after_the_query(name):
    check_scorer(heuristic(name, DATASET), DATASET, setting="forecast", make=lambda dataset: heuristic(name, dataset))


def test_correct_scorer_is_accepted_in_the_setting_forecast():
    check_scorer(Correct(DATASET), DATASET, setting="forecast", make=Correct)


@pytest.mark.parametrize(
    ("make", "message"), [(UsesFuture, "facts that are not before the query"), (UsesLaterSupport, "support facts of")]
)
def test_scorers_that_use_the_future_are_rejected(make, message):
    check_scorer(make(DATASET), DATASET, make=make)
    with pytest.raises(ContractError, match=message):
        check_scorer(make(DATASET), DATASET, setting="forecast", make=make)


@pytest.mark.parametrize("make", [Correct, CopySupport, RelationWindow])
@pytest.mark.parametrize("shots", [1, 3])
def test_correct_scorers_are_accepted(make, shots):
    check_scorer(make(DATASET), DATASET, shots, make=make)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (WithoutName, "name"),
        (ReturnsMatrix, "instead of Scores"),
        (MissesQuery, "queries instead of"),
        (UnknownEntity, "not in"),
        (DuplicateEntity, "listed twice"),
        (WrongType, "float64"),
        (ModifiesArguments, "modifies its arguments"),
        (FillsEmptyBatch, "empty"),
        (Random, "not deterministic"),
        (KeepsState, "state between tasks"),
        (UsesAnswers, "uses the answers"),
        (UsesBatch, "depend on the batch"),
        (UsesQueryOrder, "order of the queries"),
        (UsesSupportOrder, "order of the support facts"),
        (UsesHiddenFacts, "hidden facts"),
    ],
)
def test_violations_are_rejected(make, message):
    dataset = random_dataset()  # one scorer modifies it
    with pytest.raises(ContractError, match=message):
        check_scorer(make(dataset), dataset, make=make)


def test_message_names_query_and_entity():
    with pytest.raises(ContractError, match=r"in query \d+ \(entity \d+, relation \d+, time \d+\), entity \d+ scores"):
        check_scorer(UsesHiddenFacts(DATASET), DATASET, make=UsesHiddenFacts)


def test_tolerance_ignores_small_differences():
    class Rounded(Correct):
        def score(self, task, queries):  # noqa: ARG002
            return Scores.from_dense(self.table(queries) + 1e-8 * len(queries))

    with pytest.raises(ContractError, match="batch"):
        check_scorer(Rounded(DATASET), DATASET)
    check_scorer(Rounded(DATASET), DATASET, tolerance=1e-5)


def test_dataset_without_queries_is_an_error():
    with pytest.raises(ValueError, match="no query"):
        check_scorer(Correct(DATASET), DATASET, shots=100)
