"""The queries of an evaluation, explained as a predictor explains them."""

from __future__ import annotations

from dataclasses import dataclass

from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import named_facts
from fitcarl.errors import InputError
from fitcarl.predict.explainer import AnswerContext
from fitcarl.predict.explanation import Explanation
from fitcarl.predict.fact import CheckedFact
from fitcarl.predict.planner import QueryPlanner
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.query import Query
from fitcarl.runs.run import Run
from fitcarl.tasks.task import Task, official_task

TOP = 10
"""Answers per query."""


@dataclass(frozen=True, eq=False)
class ExplainedQueries:
    """A run with the queries of an official task: all support facts are given, as in an evaluation."""

    run: Run
    dataset: Dataset
    split: str
    """``test``, or ``valid`` if the dataset has no test entities, as of a run that was trained on a file of facts."""
    task: Task
    predictor: Predictor
    facts: tuple[CheckedFact, ...]
    """The support facts of all entities."""
    planner: QueryPlanner

    @classmethod
    def of(cls, run: Run) -> ExplainedQueries:
        """The queries of a run's dataset.

        Raises:
            InputError: If there are none.
        """
        dataset, predictor = run.dataset(), Predictor(run)
        split, task = _official_task(run, dataset)
        named = named_facts(task.support.facts, dataset.vocabulary, dataset.calendar)
        facts = tuple(dict.fromkeys(predictor.check(fact) for fact in named))
        return cls(run, dataset, split, task, predictor, facts, predictor.planner(facts))

    def query(self, number: int) -> Query:
        """A test query by name."""
        queries, names = self.task.queries, self.dataset.vocabulary
        relation, entity = int(queries.relation[number]), names.entities[int(queries.entity[number])]
        inverse = names.relation_ids.is_inverse(relation)
        subject, object = (None, entity) if inverse else (entity, None)
        asked = names.relations[names.relation_ids.base(relation)]
        at = self.dataset.calendar.label(int(queries.time[number]))
        return Query(subject, object, asked, at, TOP, 3, hindsight=self.run.config.setting == "completion")

    def explain(self, query: Query, entity: str) -> tuple[AnswerContext, Explanation]:
        """The explanation of an answer, as a predictor gives it, and its context."""
        return self.predictor.explain_with(self.planner, query, entity)


def _official_task(run: Run, dataset: Dataset) -> tuple[str, Task]:
    """The official test task; that of meta-validation if the dataset has no test entities, as of a file of facts."""
    arguments = run.config.shots, dataset.vocabulary.relation_ids, run.config.setting
    for split, meta in (("test", dataset.test), ("valid", dataset.valid)):
        if len(meta):
            task = official_task(meta, *arguments)
            if len(task.queries):
                return split, task
    raise InputError("has no queries to explain", file=run.folder.path, expected="a dataset with evaluation entities")
