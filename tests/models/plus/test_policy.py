"""The policy of model plus: probabilities of outcomes, and features that do not leak the answer."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fitcarl.config.settings import configure
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.base import Episode, GraphContext
from fitcarl.models.plus.action_features import ActionFeatures, action_features
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.outcomes import Outcomes
from fitcarl.models.plus.policy import log_likelihood
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.tasks.task import Queries, Task, sampled_task


@pytest.fixture(scope="module")
def model(context: GraphContext) -> PlusModel:
    torch.manual_seed(0)
    return PlusModel(configure("plus"), context)


def actions_of(context: GraphContext, statistics: GraphStatistics, task: Task, queries: Queries) -> ActionFeatures:
    graph = context.graph.with_facts(task.support.facts)
    return action_features(graph, task.support, statistics, queries, 20, Shortlist(50))


def test_probabilities_of_all_outcomes_sum_to_one(
    context: GraphContext, statistics: GraphStatistics, task: Task, model: PlusModel
) -> None:
    actions = actions_of(context, statistics, task, task.queries)
    with torch.no_grad():
        ends = Outcomes.from_policy(actions, model.module(actions))
    total = np.bincount(ends.query, weights=np.exp(ends.score), minlength=len(task.queries))
    assert np.allclose(total, 1, atol=1e-4)


def test_likelihood_is_the_sum_over_outcomes_at_the_answer(
    context: GraphContext, statistics: GraphStatistics, task: Task, model: PlusModel
) -> None:
    actions = actions_of(context, statistics, task, task.queries)
    with torch.no_grad():
        log_probs = model.module(actions)
        total, by_path = log_likelihood(log_probs, actions, task.queries.answer)
    ends = Outcomes.from_policy(actions, log_probs)
    at_answer = ends.entity == task.queries.answer[ends.query]
    by_hand = np.bincount(ends.query[at_answer], weights=np.exp(ends.score[at_answer]), minlength=len(task.queries))
    assert np.allclose(total.exp(), by_hand + 1e-6, atol=1e-6)
    at_answer_by_path = at_answer & (ends.shot >= 0)
    single = np.bincount(
        ends.query[at_answer_by_path], weights=np.exp(ends.score[at_answer_by_path]), minlength=len(task.queries)
    )
    any_path = log_probs.start[:, : actions.shots].exp().sum(1).numpy()
    assert np.allclose(by_path.exp(), single / any_path + 1e-6, atol=1e-5)


def test_path_likelihood_does_not_depend_on_the_gate(
    context: GraphContext, statistics: GraphStatistics, task: Task, model: PlusModel
) -> None:
    actions = actions_of(context, statistics, task, task.queries)
    answer = task.queries.answer
    with torch.no_grad():
        before = log_likelihood(model.module(actions), actions, answer)[1]
        model.module.gate[-1].bias += 8
        after = log_likelihood(model.module(actions), actions, answer)[1]
        model.module.gate[-1].bias -= 8
    assert (before <= 0.01).all()
    assert torch.allclose(before, after, atol=1e-2)


def test_features_do_not_depend_on_the_answer(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    queries = task.queries
    without_answer = Queries(queries.entity, queries.relation, queries.time, np.full_like(queries.answer, -1))
    known, hidden = (actions_of(context, statistics, task, query) for query in (queries, without_answer))
    for name in ("first_hop", "second_hop", "query", "allowed"):
        assert np.array_equal(getattr(known, name), getattr(hidden, name)), name
    assert np.array_equal(known.candidates.entity, hidden.candidates.entity)
    assert np.array_equal(known.candidates.features, hidden.candidates.features)


def test_statistics_contain_no_facts_of_unseen_entities(dataset: Dataset, statistics: GraphStatistics) -> None:
    unseen = np.concatenate([dataset.meta(split).entities for split in ("train", "valid", "test")])
    assert not statistics.degree[unseen].any()
    assert not np.isin(statistics.object_entity, unseen).any()


def test_features_do_not_depend_on_the_batch(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    batch = actions_of(context, statistics, task, task.queries)
    single = actions_of(context, statistics, task, task.queries.take(slice(5, 6)))
    width = single.space.width
    shots = single.shots
    assert np.array_equal(batch.first_hop[5], single.first_hop[0])
    rows = slice(5 * shots, 6 * shots)
    assert np.array_equal(batch.second_hop[rows, :width][single.allowed], single.second_hop[single.allowed])
    candidates = slice(batch.candidates.offsets[5], batch.candidates.offsets[6])
    assert np.array_equal(batch.candidates.entity[candidates], single.candidates.entity)
    assert np.array_equal(batch.candidates.features[candidates], single.candidates.features)


@pytest.mark.parametrize("number", range(0, 20, 2))
def test_fact_of_the_query_does_not_change_features(
    context: GraphContext, statistics: GraphStatistics, task: Task, number: int
) -> None:
    query, relations = task.queries.take(slice(number, number + 1)), context.graph.relations
    own = Quadruples(query.entity, query.relation, query.answer, query.time)
    own = own if own.relation[0] < relations.count else own.inverted(relations)
    graph = context.graph.with_facts(task.support.facts)
    # Wide enough for every edge: among the nearest only, one more edge may push another one out.
    clean, planted = (
        action_features(seen, task.support, statistics, query, 3000, Shortlist(500))
        for seen in (graph, graph.with_facts(own))
    )
    assert np.array_equal(clean.first_hop, planted.first_hop)
    assert np.array_equal(clean.query, planted.query)
    assert np.array_equal(clean.candidates.entity, planted.candidates.entity)
    assert np.array_equal(clean.candidates.features, planted.candidates.features)
    clean_features, planted_features = (found.second_hop[:, 1:][found.allowed[:, 1:]] for found in (clean, planted))
    assert np.array_equal(clean_features, planted_features)


def test_no_path_leads_back_to_the_query_entity(
    context: GraphContext, statistics: GraphStatistics, task: Task, model: PlusModel
) -> None:
    actions = actions_of(context, statistics, task, task.queries)
    with torch.no_grad():
        ends = Outcomes.from_policy(actions, model.module(actions))
    second = ends.column > 0
    assert second.any()
    assert not (ends.entity[second] == task.queries.entity[ends.query[second]]).any()


def test_explanations_are_facts_of_the_observed_graph(dataset: Dataset, task: Task, model: PlusModel) -> None:
    names, relations, calendar = dataset.vocabulary.entities, dataset.vocabulary.relations, dataset.calendar
    observed = {
        (names[s], relations[r], names[o], calendar.label(t))
        for s, r, o, t in Quadruples.concat([dataset.background, task.support.facts])
    }
    scorer = model.scorer()
    lengths = set()
    for number in range(0, len(task.queries), 7):
        query = task.queries.take(slice(number, number + 1))
        answers = scorer.score(task, query)
        best = answers.entity[np.argsort(-answers.score)[:3]]
        for entity in best.tolist():
            for path in scorer.explain(task, query, [entity], dataset.vocabulary, calendar)[0]:
                lengths.add(len(path.steps))
                assert path.end == names[entity]
                assert all((s.subject, s.relation, s.object, s.time) in observed for s in path.steps)
    assert lengths == {1, 2}


def test_training_raises_the_likelihood_of_answers(dataset: Dataset, context: GraphContext) -> None:
    torch.manual_seed(0)
    model = PlusModel(configure("plus"), context)
    relations = dataset.vocabulary.relation_ids
    fixed = sampled_task(dataset.train, 3, relations, np.random.default_rng(99), 4)
    before = model.training_step(Episode(fixed, 0)).loss.item()
    optimizer = torch.optim.Adam(model.module.parameters(), lr=2e-3)
    for number in range(30):
        task = sampled_task(dataset.train, 3, relations, np.random.default_rng(number), 4)
        optimizer.zero_grad()
        model.training_step(Episode(task, number)).loss.backward()
        optimizer.step()
    assert model.training_step(Episode(fixed, 0)).loss.item() < before - 0.3


def test_gradients_do_not_depend_on_which_thread_is_free(
    dataset: Dataset, context: GraphContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FITCARL_THREADS", "3")
    model = PlusModel(configure("plus"), context)
    task = sampled_task(dataset.train, 3, dataset.vocabulary.relation_ids, np.random.default_rng(99), 4)
    found = []
    for _ in range(8):
        model.module.zero_grad()
        model.training_step(Episode(task, 0)).loss.backward()
        found.append([parameter.grad for parameter in model.module.parameters()])
    for gradients in found[1:]:
        for first, again in zip(found[0], gradients, strict=True):
            assert (first is None) == (again is None)
            assert first is None or again is None or torch.equal(first, again)


def test_gradients_of_threads_are_those_of_one(
    dataset: Dataset, context: GraphContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = sampled_task(dataset.train, 3, dataset.vocabulary.relation_ids, np.random.default_rng(99), 4)
    torch.manual_seed(0)
    model = PlusModel(configure("plus", ["policy.train_candidates=10"]), context)  # most of them are sampled
    found = {}
    for threads in ("1", "3"):
        monkeypatch.setenv("FITCARL_THREADS", threads)
        model.module.zero_grad()
        result = model.training_step(Episode(task, 0))
        result.loss.backward()
        found[threads] = result, [parameter.grad for parameter in model.module.parameters()]
    (one, gradients), (other, others) = found["1"], found["3"]
    assert one.loss.item() == pytest.approx(other.loss.item(), rel=1e-5)
    assert one.metrics == pytest.approx(other.metrics, rel=1e-4)
    for first, second in zip(gradients, others, strict=True):
        assert first is not None
        assert second is not None
        torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-6)
