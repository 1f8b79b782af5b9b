"""What every scorer must keep to. A trained model's tests can import ``check_scorer`` and pass it too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.models.heuristics import HEURISTICS
from fitcarl.scoring.scorer import Scorer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task, official_task
from tests.evaluation.reference import meta_set, random_dataset

DATASET = random_dataset()
RELATIONS = DATASET.vocabulary.relation_ids
ENTITIES = len(DATASET.vocabulary.entities)

scorers = pytest.mark.parametrize("name", HEURISTICS)
shot_counts = pytest.mark.parametrize("shots", [1, 3])


def assert_same(one: Scores, other: Scores) -> None:
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(one.entity, other.entity)
    np.testing.assert_array_equal(one.score, other.score)


def check_scorer(scorer: Scorer, dataset: Dataset, shots: int) -> None:
    """Everything that can be asked of a scorer without knowing how it works."""
    task = official_task(dataset.test, shots, dataset.vocabulary.relation_ids)
    queries, entities = task.queries, len(dataset.vocabulary.entities)
    blind = Task(task.support, hide_answers(queries))

    answers = scorer.score(blind, blind.queries)
    answers.check(len(queries), entities)  # one answer a query, distinct entities, ids in range
    assert answers.entity.dtype == np.int32
    assert answers.score.dtype == np.float64
    assert np.all(np.isfinite(answers.score))

    assert_same(scorer.score(blind, blind.queries), answers)  # asked twice, the same is said
    assert_same(scorer.score(task, queries), answers)  # knowing the answers changes nothing
    for size in (1, 7):
        parts = [scorer.score(blind, blind.queries.take(slice(i, i + size))) for i in range(0, len(queries), size)]
        assert_same(Scores.concat(parts), answers)
    backwards = np.arange(len(queries))[::-1]
    turned = scorer.score(blind, blind.queries.take(backwards))
    assert_same(Scores.concat([turned.take(slice(int(i), int(i) + 1)) for i in backwards]), answers)


@scorers
@shot_counts
def test_scorer_keeps_the_contract(name, shots):
    scorer = HEURISTICS[name](DATASET)
    assert scorer.name == name
    check_scorer(scorer, DATASET, shots)


@scorers
def test_hidden_facts_of_the_dataset_are_not_used(name):
    """Everything but the background is taken out of the dataset: not one score may move."""
    nothing = meta_set([])
    stripped = replace(DATASET, train=nothing, valid=nothing, test=nothing, dropped=Quadruples.empty())
    task = official_task(DATASET.test, 3, RELATIONS)
    assert_same(
        HEURISTICS[name](stripped).score(task, task.queries), HEURISTICS[name](DATASET).score(task, task.queries)
    )


@scorers
def test_times_may_be_shifted(name):
    """Only differences of times count, so another year gives the same answers."""

    def later(facts: Quadruples) -> Quadruples:
        return Quadruples(facts.subject, facts.relation, facts.object, facts.time + np.int32(5000))

    task = official_task(DATASET.test, 3, RELATIONS)
    shifted = Task(
        replace(task.support, facts=later(task.support.facts)),
        Queries(task.queries.entity, task.queries.relation, task.queries.time + np.int32(5000), task.queries.answer),
    )
    moved = HEURISTICS[name](replace(DATASET, background=later(DATASET.background)))
    assert_same(moved.score(shifted, shifted.queries), HEURISTICS[name](DATASET).score(task, task.queries))


@scorers
def test_an_entity_or_relation_nobody_knows_is_no_error(name):
    """A fact-less relation and an entity without any support: little can be said, but nothing breaks."""
    task = official_task(DATASET.test, 3, RELATIONS)
    stranger = Queries(
        *(np.array([value], np.int32) for value in (0, 2 * len(DATASET.vocabulary.relations) - 1, 0, -1))
    )
    silent = replace(DATASET, background=DATASET.background.take(DATASET.background.relation != RELATIONS.count - 1))
    HEURISTICS[name](silent).score(task, stranger).check(1, ENTITIES)


@scorers
def test_no_query_gets_no_answer(name):
    task = official_task(DATASET.test, 3, RELATIONS)
    assert len(HEURISTICS[name](DATASET).score(task, task.queries.take(slice(0, 0)))) == 0
