"""T-GEN: unseen entities of a task that see each other."""

from __future__ import annotations

import numpy as np
import torch

from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.base import Episode
from fitcarl.models.gen.task_graph import row_positions, with_facts_between
from fitcarl.models.support import SupportFacts
from fitcarl.tasks.task import Task
from tests.models.gen.test_gen import model_of, scores
from tests.models.random_task import ENTITIES, FIRST_UNSEEN, RELATIONS, random_task

UNSEEN = np.arange(FIRST_UNSEEN, ENTITIES, dtype=np.int32)


def support_of(*facts: tuple[int, tuple[int, int, int, int]]) -> MetaSet:
    owner = np.array([owner for owner, _ in facts], dtype=np.int32)
    return MetaSet(owner, Quadruples.from_rows([fact for _, fact in facts]))


BETWEEN = support_of((9, (9, 0, 4, 1)), (9, (10, 1, 9, 2)), (10, (5, 2, 10, 3)), (11, (11, 0, 6, 4)))
"""The second fact is between two unseen entities and is listed under one of them."""


def test_without_own_term_and_facts_between_unseen_entities_the_mean_is_the_inductive_layer() -> None:
    model, task = model_of(transductive=True), random_task()
    module = model.module
    assert module.transductive is not None
    support = SupportFacts.of_entities(task.support, RELATIONS)
    with torch.no_grad():
        mean = module.transductive.mean
        assert mean.root is not None
        mean.coefficients.copy_(module.inductive.coefficients)
        mean.bases.copy_(module.inductive.bases)
        with_own_term = module(task.entities, support)
        mean.root.zero_()
        found = module(task.entities, support)
        module.transductive = None
        inductive = module(task.entities, support)
    assert torch.allclose(found, inductive, atol=1e-6)
    assert not torch.allclose(with_own_term, inductive, atol=1e-2)


def test_fact_between_unseen_entities_is_an_edge_of_both() -> None:
    support = SupportFacts.of_entities(BETWEEN, RELATIONS)
    found = with_facts_between(UNSEEN, support, RELATIONS)
    assert found.counts.tolist() == [2, 2, 1]
    assert found.entity.tolist() == [4, 10, 5, 9, 6]
    inverse = RELATIONS.inverse
    assert found.relation.tolist() == [0, inverse(1), inverse(2), 1, 0]
    assert found.time.tolist() == [1, 2, 3, 2, 4]
    again = with_facts_between(UNSEEN, found, RELATIONS)
    assert again.entity.tolist() == found.entity.tolist()


def test_unseen_entities_have_the_rows_after_all_others() -> None:
    found = row_positions(np.array([[0, 9], [11, 3]], dtype=np.int32), UNSEEN, ENTITIES)
    assert found.tolist() == [[0, ENTITIES], [ENTITIES + 2, 3]]


def test_unseen_neighbour_counts_by_its_own_support() -> None:
    changed = support_of((9, (9, 0, 4, 1)), (9, (10, 1, 9, 2)), (10, (7, 2, 10, 3)), (11, (11, 0, 6, 4)))
    queries = random_task().queries
    for transductive in (True, False):
        model = model_of(transductive=transductive)
        before, after = (scores(model, Task(support, queries)) for support in (BETWEEN, changed))
        same = [np.array_equal(before[queries.entity == e], after[queries.entity == e]) for e in (9, 11)]
        neighbour_rows_count = before[queries.entity == 11][:, 10] != after[queries.entity == 11][:, 10]
        assert same == ([False, False] if transductive else [True, True])
        assert neighbour_rows_count.all() == transductive


def test_unseen_candidates_score_by_their_embedding() -> None:
    found = scores(model_of(transductive=True), random_task())
    assert found.all()


def test_training_samples_from_the_variance_and_scoring_does_not() -> None:
    model, task = model_of(transductive=True), random_task()
    losses = {float(model.training_step(Episode(task, seed)).loss.detach()) for seed in (1, 1, 2)}
    assert len(losses) == 2
    model.training_step(Episode(task, 1)).loss.backward()
    assert all(parameter.grad is not None for parameter in model.module.parameters())
    assert np.array_equal(scores(model, task), scores(model, task))
