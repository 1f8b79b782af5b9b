"""Collection of candidates: which entities are listed, in which order, and how a sample represents the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fitcarl.data.dataset import Dataset
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.candidates import Candidates, Shortlist, collect_candidates
from fitcarl.models.plus.features.collect import best_first
from fitcarl.models.plus.features.table import FEATURES, columns_of
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.spectral import entity_embedding
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.tasks.task import Task


def candidates_of(context: GraphContext, statistics: GraphStatistics, task: Task, shortlist: Shortlist) -> Candidates:
    graph = context.graph.with_facts(task.support.facts)
    return collect_candidates(graph, task.support, statistics, task.queries, shortlist)


def test_query_about_an_entity_without_support_is_rejected(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    other = int(np.setdiff1d(context.facts.subject, task.support.entities)[0])
    queries = replace(task.queries, entity=np.full_like(task.queries.entity, other))
    with pytest.raises(ValueError, match="not in the support"):
        candidates_of(context, statistics, replace(task, queries=queries), Shortlist(10))


def test_candidates_are_unique_and_exclude_the_query_entity(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    found = candidates_of(context, statistics, task, Shortlist(2000))
    query = np.repeat(np.arange(len(task.queries)), np.diff(found.offsets))
    assert len(np.unique(query * context.graph.entities + found.entity)) == len(found.entity)
    assert not (found.entity == task.queries.entity[query]).any()
    assert np.isfinite(found.features).all()
    assert found.features.shape == (len(found.entity), len(FEATURES))


def test_sample_keeps_the_answer_and_represents_all_candidates(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    complete = candidates_of(context, statistics, task, Shortlist(2000))
    sample = candidates_of(context, statistics, task, Shortlist(10, 5, seed=3))
    again = candidates_of(context, statistics, task, Shortlist(10, 5, seed=3))
    assert np.array_equal(sample.entity, again.entity)
    checked = 0
    for q, answer in enumerate(task.queries.answer.tolist()):
        every = complete.entity[complete.offsets[q] : complete.offsets[q + 1]].tolist()
        rows = slice(sample.offsets[q], sample.offsets[q + 1])
        some = sample.entity[rows].tolist()
        assert set(some) <= set(every)
        assert (answer in some) == (answer in every)
        represented = np.exp(sample.weight[rows]).sum()
        if len(every) > 15:
            checked += 1
            tail = len(every) - 10
            in_tail = answer in some[10:]  # a sampled answer represents only itself
            assert represented == pytest.approx(10 + tail - in_tail * (tail / 5 - 1), rel=1e-3)
    assert checked > 10


def test_statistics_can_be_stored_and_read(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    again = GraphStatistics.from_arrays(
        statistics.arrays(), context.concepts, statistics.names, statistics.units_per_tick
    )
    assert again.matches(context.graph)
    one, two = (candidates_of(context, which, task, Shortlist(100)) for which in (statistics, again))
    assert np.array_equal(one.entity, two.entity)
    assert np.array_equal(one.features, two.features)


def test_capacity_for_more_entities_does_not_change_candidates(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    one = candidates_of(context, statistics, task, Shortlist(100))
    two = candidates_of(context.with_capacity(7), statistics.with_capacity(7), task, Shortlist(100))
    assert np.array_equal(one.entity, two.entity)
    assert np.array_equal(one.features, two.features)


def test_spectral_embeddings_have_length_one_or_zero(context: GraphContext) -> None:
    rows = entity_embedding(context.graph)
    length = np.linalg.norm(rows, axis=1)
    isolated = context.graph.degree(np.arange(context.graph.entities, dtype=np.int32)) == 0
    assert np.allclose(length[~isolated], 1, atol=1e-3)
    assert not rows[isolated].any()


def test_names_are_used_only_if_switched_on(
    dataset: Dataset, context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    columns = columns_of("names")
    assert not candidates_of(context, statistics, task, Shortlist(100)).features[:, columns].any()
    names = Names.from_texts(dataset.vocabulary.entities, context.graph)
    with_names = compute_statistics(context.facts, context.graph, context.concepts, names=names)
    assert candidates_of(context, with_names, task, Shortlist(100)).features[:, columns].any()


def in_order(score: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    order = np.empty(len(score), dtype=np.int64)
    return order[: best_first(score, len(score), size, np.empty(len(score)), order)]


def test_shortlist_has_the_highest_scores() -> None:
    score = np.random.default_rng(0).permutation(5000).astype(np.float64)
    score[7] = -np.inf
    for size in (1, 120, 4998, 6000):
        order = in_order(score, size)
        assert order[:size].tolist() == np.argsort(-score)[: min(size, 4999)].tolist()
        assert sorted(order.tolist()) == [i for i in range(5000) if i != 7]


def test_ties_keep_the_order_of_candidates() -> None:
    assert in_order(np.array([0.1, 5, 1, 1, 1]), 3).tolist() == [1, 2, 3, 0, 4]
