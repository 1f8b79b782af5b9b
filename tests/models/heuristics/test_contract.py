"""Heuristic baselines keep the contract of scorers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.models.registry import HEURISTIC, heuristic
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task, official_task
from fitcarl.testing import check_scorer
from tests.evaluation.reference import meta_set, random_dataset

DATASET = random_dataset()
RELATIONS = DATASET.vocabulary.relation_ids
ENTITIES = len(DATASET.vocabulary.entities)

heuristics = pytest.mark.parametrize("name", HEURISTIC)


def assert_same(one: Scores, other: Scores) -> None:
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(one.entity, other.entity)
    np.testing.assert_array_equal(one.score, other.score)


@heuristics
@pytest.mark.parametrize("shots", [1, 3])
def test_heuristic_keeps_contract(name, shots):
    scorer = heuristic(name, DATASET)
    assert scorer.name == name
    check_scorer(scorer, DATASET, shots, make=partial(heuristic, name))


@heuristics
def test_only_background_of_dataset_is_used(name):
    no_facts = meta_set([])
    stripped = replace(DATASET, train=no_facts, valid=no_facts, test=no_facts, dropped=Quadruples.empty())
    task = official_task(DATASET.test, 3, RELATIONS)
    assert_same(heuristic(name, stripped).score(task, task.queries), heuristic(name, DATASET).score(task, task.queries))


@heuristics
def test_scores_are_invariant_to_shift_of_all_times(name):
    def later(facts: Quadruples) -> Quadruples:
        return Quadruples(facts.subject, facts.relation, facts.object, facts.time + np.int32(5000))

    task = official_task(DATASET.test, 3, RELATIONS)
    shifted = Task(
        replace(task.support, facts=later(task.support.facts)),
        Queries(task.queries.entity, task.queries.relation, task.queries.time + np.int32(5000), task.queries.answer),
    )
    moved = heuristic(name, replace(DATASET, background=later(DATASET.background)))
    assert_same(moved.score(shifted, shifted.queries), heuristic(name, DATASET).score(task, task.queries))


@heuristics
def test_entity_without_support_and_relation_without_facts_are_accepted(name):
    task = official_task(DATASET.test, 3, RELATIONS)
    query = Queries(*(np.array([value], np.int32) for value in (0, 2 * len(DATASET.vocabulary.relations) - 1, 0, -1)))
    background = DATASET.background.take(DATASET.background.relation != RELATIONS.count - 1)
    heuristic(name, replace(DATASET, background=background)).score(task, query).check(1, ENTITIES)
