"""Training batches and the margin ranking loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fitcarl.config.meta_learned import RankingTrainingConfig
from fitcarl.models.ranking import margin_ranking_loss, ranking_batch
from tests.models.random_task import ENTITIES, FIRST_UNSEEN, RELATIONS, random_task

ALL = np.arange(ENTITIES, dtype=np.int32)


def test_negatives_are_candidates_and_no_neighbours() -> None:
    task = random_task(queries=6)
    config = RankingTrainingConfig(negatives=40)
    batch = ranking_batch(task, ALL[:-1], RELATIONS, config, np.random.default_rng(0))
    assert batch.candidate.shape == (len(task.queries), 41)
    assert np.array_equal(batch.candidate[:, 0], batch.queries.answer)
    facts = task.support.facts
    for number, entity in enumerate(batch.queries.entity.tolist()):
        own = task.support.entity_of_fact == entity
        neighbours = {entity, *facts.subject[own].tolist(), *facts.object[own].tolist()}
        neighbours |= set(task.queries.answer[task.queries.entity == entity].tolist())
        others = set(range(ENTITIES - 1)) - neighbours
        assert set(batch.candidate[number, 1:].tolist()) <= others
        assert len(set(batch.candidate[number, 1:].tolist())) > 1


def test_batch_has_some_entities_with_all_their_facts() -> None:
    task, config = random_task(), RankingTrainingConfig(entities_per_task=2)
    chosen = set()
    for seed in range(8):
        batch = ranking_batch(task, ALL, RELATIONS, config, np.random.default_rng(seed))
        assert len(batch.entity) == 2
        assert len(batch.queries) == 8
        assert np.array_equal(batch.entity[batch.row], batch.queries.entity)
        assert batch.support.counts.tolist() == [3, 3]
        seen = task.support.facts.seen_from(task.support.entity_of_fact, RELATIONS)
        own = np.isin(task.support.entity_of_fact, batch.entity)
        assert np.array_equal(batch.support.entity, seen.object[own])
        chosen.add(tuple(batch.entity.tolist()))
    assert len(chosen) > 1


def test_queries_about_the_entity_itself_are_left_out() -> None:
    task = random_task()
    answer = task.queries.answer.copy()
    answer[:3] = FIRST_UNSEEN
    task = replace(task, queries=replace(task.queries, answer=answer))
    batch = ranking_batch(task, ALL, RELATIONS, RankingTrainingConfig(), np.random.default_rng(0))
    assert len(batch.queries) == len(task.queries) - 3
    weight = batch.query_weight
    assert weight.sum() == pytest.approx(1)
    assert weight[0] == pytest.approx(1 / 3)
    assert weight[1:].tolist() == pytest.approx([1 / 12] * 8)


def test_margin_ranking_loss_by_hand() -> None:
    scores = torch.tensor([[2.0, 0.5, 1.5], [0.0, -3.0, 1.0]])
    loss = margin_ranking_loss(scores, torch.tensor([0.25, 0.75]), 1.0)
    assert float(loss) == pytest.approx(0.25 * 0.5 / 2 + 0.75 * 2 / 2)
    both = torch.stack([scores, scores + 7], dim=1)
    assert float(margin_ranking_loss(both, torch.tensor([0.25, 0.75]), 1.0)) == pytest.approx(float(loss))
