"""What every scorer must keep to. A trained model's tests can import ``check_scorer`` and pass it too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.evaluation.protocol import blinded
from fitcarl.models.heuristics import BASELINES
from fitcarl.scoring.scores import Answers, Scorer
from fitcarl.tasks.task import Queries, Task, official_task
from tests.evaluation.reference import meta_set, random_dataset

DATASET = random_dataset()
RELATIONS = DATASET.vocabulary.relation_ids
ENTITIES = len(DATASET.vocabulary.entities)

scorers = pytest.mark.parametrize("name", BASELINES)
shot_counts = pytest.mark.parametrize("shots", [1, 3])


def assert_same(one: Answers, other: Answers) -> None:
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(one.entity, other.entity)
    np.testing.assert_array_equal(one.score, other.score)


def check_scorer(scorer: Scorer, dataset: Dataset, shots: int) -> None:
    """Everything that can be asked of a scorer without knowing how it works."""
    task = official_task(dataset.test, shots, dataset.vocabulary.relation_ids)
    queries, entities = task.queries, len(dataset.vocabulary.entities)
    blind = Task(task.support, blinded(queries))

    answers = scorer.answer(blind, blind.queries)
    answers.check(len(queries), entities)  # one answer a query, distinct entities, ids in range
    assert answers.entity.dtype == np.int32
    assert answers.score.dtype == np.float64
    assert np.all(np.isfinite(answers.score))

    assert_same(scorer.answer(blind, blind.queries), answers)  # asked twice, the same is said
    assert_same(scorer.answer(task, queries), answers)  # knowing the answers changes nothing
    for size in (1, 7):
        parts = [scorer.answer(blind, blind.queries.take(slice(i, i + size))) for i in range(0, len(queries), size)]
        assert_same(Answers.concat(parts), answers)
    backwards = np.arange(len(queries))[::-1]
    turned = scorer.answer(blind, blind.queries.take(backwards))
    assert_same(Answers.concat([turned.take(slice(int(i), int(i) + 1)) for i in backwards]), answers)


@scorers
@shot_counts
def test_scorer_keeps_the_contract(name, shots):
    scorer = BASELINES[name](DATASET)
    assert scorer.name == name
    check_scorer(scorer, DATASET, shots)


@scorers
def test_hidden_facts_of_the_dataset_are_not_used(name):
    """Everything but the background is taken out of the dataset: not one score may move."""
    nothing = meta_set([])
    stripped = replace(DATASET, train=nothing, valid=nothing, test=nothing, dropped=Quadruples.empty())
    task = official_task(DATASET.test, 3, RELATIONS)
    assert_same(
        BASELINES[name](stripped).answer(task, task.queries), BASELINES[name](DATASET).answer(task, task.queries)
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
    moved = BASELINES[name](replace(DATASET, background=later(DATASET.background)))
    assert_same(moved.answer(shifted, shifted.queries), BASELINES[name](DATASET).answer(task, task.queries))


@scorers
def test_an_entity_or_relation_nobody_knows_is_no_error(name):
    """A fact-less relation and an entity without any support: little can be said, but nothing breaks."""
    task = official_task(DATASET.test, 3, RELATIONS)
    stranger = Queries(
        *(np.array([value], np.int32) for value in (0, 2 * len(DATASET.vocabulary.relations) - 1, 0, -1))
    )
    silent = replace(DATASET, background=DATASET.background.take(DATASET.background.relation != RELATIONS.count - 1))
    BASELINES[name](silent).answer(task, stranger).check(1, ENTITIES)


@scorers
def test_no_query_gets_no_answer(name):
    task = official_task(DATASET.test, 3, RELATIONS)
    assert len(BASELINES[name](DATASET).answer(task, task.queries.take(slice(0, 0)))) == 0
