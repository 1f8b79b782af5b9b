from __future__ import annotations

import numpy as np
import pytest
import torch

from fitcarl.config.schema import configure
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.action_features import ActionFeatures, action_features
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.policy import log_likelihood
from fitcarl.models.plus.scorer import Walks
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.tasks.task import Queries, Task, sampled_task


@pytest.fixture(scope="module")
def agent(context: GraphContext) -> PlusModel:
    torch.manual_seed(0)
    return PlusModel(configure("plus"), context)


def options_of(context: GraphContext, statistics: GraphStatistics, task: Task, queries: Queries) -> ActionFeatures:
    graph = context.graph.with_facts(task.support.facts)
    return action_features(graph, task.support, statistics, queries, 20, Shortlist(50))


def test_probabilities_of_all_walks_add_up_to_one(
    context: GraphContext, statistics: GraphStatistics, task: Task, agent: PlusModel
) -> None:
    options = options_of(context, statistics, task, task.queries)
    with torch.no_grad():
        walks = Walks.of(options, agent.module(options))
    total = np.bincount(walks.query, weights=np.exp(walks.score), minlength=len(task.queries))
    assert np.allclose(total, 1, atol=1e-4)


def test_likelihood_is_the_sum_over_walks_to_the_answer(
    context: GraphContext, statistics: GraphStatistics, task: Task, agent: PlusModel
) -> None:
    options = options_of(context, statistics, task, task.queries)
    with torch.no_grad():
        mass = agent.module(options)
        whole, walked = log_likelihood(mass, options, torch.from_numpy(task.queries.answer))
    walks = Walks.of(options, mass)
    right = walks.entity == task.queries.answer[walks.query]
    by_hand = np.bincount(walks.query[right], weights=np.exp(walks.score[right]), minlength=len(task.queries))
    assert np.allclose(whole.exp(), by_hand + 1e-6, atol=1e-6)
    on_foot = right & (walks.shot >= 0)
    alone = np.bincount(walks.query[on_foot], weights=np.exp(walks.score[on_foot]), minlength=len(task.queries))
    begun = mass.start[:, : options.shots].exp().sum(1).numpy()
    assert np.allclose(walked.exp(), alone / begun + 1e-6, atol=1e-5)


def test_walks_cannot_gain_by_never_being_taken(
    context: GraphContext, statistics: GraphStatistics, task: Task, agent: PlusModel
) -> None:
    options = options_of(context, statistics, task, task.queries)
    answer = torch.from_numpy(task.queries.answer)
    with torch.no_grad():
        before = log_likelihood(agent.module(options), options, answer)[1]
        agent.module.ask_crowd[-1].bias += 8
        after = log_likelihood(agent.module(options), options, answer)[1]
        agent.module.ask_crowd[-1].bias -= 8
    assert (before <= 0.01).all()
    assert torch.allclose(before, after, atol=1e-2)


def test_features_do_not_depend_on_the_answer(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    queries = task.queries
    blind = Queries(queries.entity, queries.relation, queries.time, np.full_like(queries.answer, -1))
    seen, unseen = (options_of(context, statistics, task, asked) for asked in (queries, blind))
    for name in ("first", "second", "query", "open"):
        assert np.array_equal(getattr(seen, name), getattr(unseen, name)), name
    assert np.array_equal(seen.crowd.entity, unseen.crowd.entity)
    assert np.array_equal(seen.crowd.features, unseen.crowd.features)


def test_statistics_know_nothing_of_the_unseen_entities(dataset: Dataset, statistics: GraphStatistics) -> None:
    unseen = np.concatenate([dataset.meta(split).entities for split in ("train", "valid", "test")])
    assert not statistics.degree[unseen].any()
    assert not np.isin(statistics.keys % statistics.entities, unseen).any()


def test_a_batch_changes_nothing(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    together = options_of(context, statistics, task, task.queries)
    alone = options_of(context, statistics, task, task.queries.take(slice(5, 6)))
    width = alone.space.width
    shots = alone.shots
    assert np.array_equal(together.first[5], alone.first[0])
    rows = slice(5 * shots, 6 * shots)
    assert np.array_equal(together.second[rows, :width][alone.open], alone.second[alone.open])
    crowd = slice(together.crowd.offsets[5], together.crowd.offsets[6])
    assert np.array_equal(together.crowd.entity[crowd], alone.crowd.entity)
    assert np.array_equal(together.crowd.features[crowd], alone.crowd.features)


@pytest.mark.parametrize("number", range(0, 20, 2))
def test_planting_the_fact_that_is_asked_for_changes_nothing(
    context: GraphContext, statistics: GraphStatistics, task: Task, number: int
) -> None:
    asked, relations = task.queries.take(slice(number, number + 1)), context.graph.relations
    own = Quadruples(asked.entity, asked.relation, asked.answer, asked.time)
    own = own if own.relation[0] < relations.count else own.inverted(relations)
    graph = context.graph.with_facts(task.support.facts)
    # Wide enough for every edge: among the nearest only, one more edge may push another one out.
    clean, planted = (
        action_features(seen, task.support, statistics, asked, 3000, Shortlist(500))
        for seen in (graph, graph.with_facts(own))
    )
    assert np.array_equal(clean.first, planted.first)
    assert np.array_equal(clean.query, planted.query)
    assert np.array_equal(clean.crowd.entity, planted.crowd.entity)
    assert np.array_equal(clean.crowd.features, planted.crowd.features)
    ours, theirs = (found.second[:, 1:][found.open[:, 1:]] for found in (clean, planted))
    assert np.array_equal(ours, theirs)


def test_no_walk_leads_back_to_the_asking_entity(
    context: GraphContext, statistics: GraphStatistics, task: Task, agent: PlusModel
) -> None:
    options = options_of(context, statistics, task, task.queries)
    with torch.no_grad():
        walks = Walks.of(options, agent.module(options))
    second = walks.column > 0
    assert second.any()
    assert not (walks.entity[second] == task.queries.entity[walks.query[second]]).any()


def test_explanations_are_facts_of_the_observed_graph(dataset: Dataset, task: Task, agent: PlusModel) -> None:
    names, relations, calendar = dataset.vocabulary.entities, dataset.vocabulary.relations, dataset.calendar
    observed = {
        (names[s], relations[r], names[o], calendar.label(t))
        for s, r, o, t in Quadruples.concat([dataset.background, task.support.facts])
    }
    scorer = agent.scorer()
    lengths = set()
    for number in range(0, len(task.queries), 7):
        asked = task.queries.take(slice(number, number + 1))
        answers = scorer.score(task, asked)
        best = answers.entity[np.argsort(-answers.score)[:3]]
        for entity in best.tolist():
            for path in scorer.explain(task, asked, entity, dataset.vocabulary, calendar):
                lengths.add(len(path.steps))
                assert path.end == names[entity]
                assert all((s.subject, s.relation, s.object, s.time) in observed for s in path.steps)
    assert lengths == {1, 2}


def test_learning_makes_answers_more_likely(dataset: Dataset, context: GraphContext) -> None:
    torch.manual_seed(0)
    agent = PlusModel(configure("plus"), context)
    relations = dataset.vocabulary.relation_ids
    fixed = sampled_task(dataset.train, 3, relations, np.random.default_rng(99), 4)
    before = agent.training_step(fixed, 0).loss.item()
    optimizer = torch.optim.Adam(agent.module.parameters(), lr=2e-3)
    for number in range(30):
        task = sampled_task(dataset.train, 3, relations, np.random.default_rng(number), 4)
        optimizer.zero_grad()
        agent.training_step(task, number).loss.backward()
        optimizer.step()
    assert agent.training_step(fixed, 0).loss.item() < before - 0.3
