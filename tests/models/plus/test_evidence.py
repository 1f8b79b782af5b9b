"""Evidence: facts behind features, additive contributions, and answers without facts in one batch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fitcarl.config.settings import configure
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.candidates import Shortlist, feature_inputs
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.evidence import trace as traces
from fitcarl.models.plus.evidence.sources import group_paths
from fitcarl.models.plus.evidence.trace import Trace
from fitcarl.models.plus.features.accumulate import Accumulator
from fitcarl.models.plus.features.sources import candidate_activity
from fitcarl.models.plus.reach.network import ReachNetwork
from fitcarl.models.plus.scorer import PlusScorer
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.models.support import SupportFacts
from fitcarl.scoring.counterfactual import Counterfactual
from fitcarl.scoring.evidence import Chain
from fitcarl.tasks.task import Queries, Task, official_task


@pytest.fixture(scope="module")
def model(context: GraphContext) -> PlusModel:
    """A model for forecasts with random weights, an encoder and a reach network."""
    torch.manual_seed(0)
    entities, relations = context.graph.entities, context.graph.relations.directed
    reach = ReachNetwork(4, entities, relations)
    reach.freeze(np.ones(entities, dtype=np.bool_))
    config = configure("plus", ["encoder.dim=8"], setting="forecast")
    encoder = SupportEncoder(config.encoder, entities, relations)  # type: ignore[union-attr]
    encoder.freeze(np.diff(context.graph.base.offsets) > 0)
    return PlusModel(config, context, encoder=encoder, reach=reach)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=["completion", "forecast"])
def asked(request: pytest.FixtureRequest, dataset: Dataset) -> Task:
    task = official_task(dataset.valid, 3, dataset.vocabulary.relation_ids, request.param)
    return Task(task.support, hide_answers(task.queries))


def one(task: Task, number: int) -> Queries:
    return task.queries.take(slice(number, number + 1))


def own_support(task: Task, query: Queries) -> Quadruples:
    return task.support.facts.take(task.support.entity_of_fact == query.entity[0])


def physically_without(
    model: PlusModel, context: GraphContext, task: Task, query: Queries, variant: Counterfactual
) -> dict[int, float]:
    """Scores by a model on a graph that does not have the hidden facts."""
    hidden = set(variant.hidden)
    facts = Quadruples.from_rows([row for row in context.graph.background_facts() if row not in hidden])
    graph = type(context.graph).from_facts(facts, context.graph.entities, context.graph.relations)
    others = task.support.entity_of_fact != query.entity[0]
    owner = np.concatenate(
        [task.support.entity_of_fact[others], np.repeat(query.entity, len(variant.support)).astype(np.int32)]
    )
    support = MetaSet(owner, Quadruples.concat([task.support.facts.take(others), variant.support]))
    scores = model.with_graph(graph).scorer().score(Task(support, query), query)
    return dict(zip(scores.entity.tolist(), scores.score.tolist(), strict=True))


def test_counterfactuals_equal_answers_on_a_graph_without_the_facts(
    context: GraphContext, model: PlusModel, asked: Task
) -> None:
    scorer, rng = model.scorer(), np.random.default_rng(1)
    for number in range(0, len(asked.queries), max(1, len(asked.queries) // 6)):
        query = one(asked, number)
        support = own_support(asked, query)
        middle = support.seen_from(np.repeat(query.entity, len(support)), context.graph.relations).object
        edges = np.flatnonzero(np.isin(context.facts.subject, middle) | np.isin(context.facts.object, middle))
        near = np.flatnonzero(np.abs(context.facts.time - query.time[0]) <= 2)
        variants = [
            Counterfactual(context.facts.take(rng.choice(part, min(size, len(part)), replace=False)), support)
            for part in (edges, near)
            for size in (1, 3, 20)
            if len(part)
        ]
        variants += [
            Counterfactual(support.take(slice(0, 1)), support.take(slice(1, None))),
            Counterfactual(Quadruples.empty(), support),
        ]
        scores = scorer.score_counterfactuals(asked, query, variants)
        for row, variant in enumerate(variants):
            part = scores.take(slice(row, row + 1))
            found = dict(zip(part.entity.tolist(), part.score.tolist(), strict=True))
            expected = physically_without(model, context, asked, query, variant)
            assert found.keys() == expected.keys()
            assert [found[x] for x in expected] == pytest.approx(list(expected.values()), abs=2e-4)


def test_entity_without_any_fact_left_is_treated_as_absent(
    context: GraphContext, model: PlusModel, asked: Task
) -> None:
    degree = np.diff(context.graph.base.offsets)
    rare = int(np.flatnonzero(degree == degree[degree > 0].min())[0])
    query = one(asked, 0)
    hidden = context.facts.take((context.facts.subject == rare) | (context.facts.object == rare))
    variant = Counterfactual(hidden, own_support(asked, query))
    scores = model.scorer().score_counterfactuals(asked, query, [variant])
    expected = physically_without(model, context, asked, query, variant)
    found = dict(zip(scores.entity.tolist(), scores.score.tolist(), strict=True))
    assert found.keys() == expected.keys()
    assert [found[x] for x in expected] == pytest.approx(list(expected.values()), abs=2e-4)


def test_no_support_left_gives_an_empty_row(model: PlusModel, asked: Task) -> None:
    query = one(asked, 0)
    support = own_support(asked, query)
    variants = [Counterfactual(support, Quadruples.empty()), Counterfactual(Quadruples.empty(), support)]
    scores = model.scorer().score_counterfactuals(asked, query, variants)
    assert np.diff(scores.offsets).tolist()[0] == 0 < np.diff(scores.offsets)[1]


def test_contributions_add_up_to_the_score(model: PlusModel, asked: Task) -> None:
    scorer = model.scorer()
    for number in range(0, len(asked.queries), 5):
        query = one(asked, number)
        scores = scorer.score(asked, query)
        for place in np.argsort(-scores.score)[[0, 3, -1]]:
            sources = scorer.evidence(asked, query, int(scores.entity[place]))
            total = sum(source.contribution for source in sources)
            assert total == pytest.approx(float(scores.score[place]), abs=1e-6)
            assert sources[-1].source == "base"
            for source in sources:
                for chain in source.chains:
                    assert chain.edges[-1][2] == scores.entity[place] or source.source in ("similarity", "encoder")
                    assert all(edge[3] < query.visible_before[0] for edge in chain.edges)


def test_contributions_to_an_entity_that_only_paths_lead_to_add_up(model: PlusModel, asked: Task) -> None:
    parts = model.module, model._background, model.timeline, 20, 5  # a shortlist of five candidates
    scorer = PlusScorer(*parts, reach=model.reach)
    found = 0
    for number in range(0, len(asked.queries), 3):
        query = one(asked, number)
        actions = scorer._evaluate(asked.support, query).actions
        scores = scorer.score(asked, query)
        for place in np.flatnonzero(~np.isin(scores.entity, actions.candidates.entity))[:5]:
            sources = scorer.evidence(asked, query, int(scores.entity[place]))
            total = sum(source.contribution for source in sources)
            assert total == pytest.approx(float(scores.score[place]), abs=1e-6)
            assert {source.source for source in sources} <= {"path", "other_paths", "base"}
            found += 1
    assert found


def test_contribution_of_a_typical_family_is_zero_and_base_is_a_typical_candidate(
    model: PlusModel, asked: Task
) -> None:
    """Shapley values against the definition on the smallest coalitions: the base needs no family at all."""
    scorer, query = model.scorer(), one(asked, 1)
    scores = scorer.score(asked, query)
    best = int(scores.entity[np.argmax(scores.score)])
    evaluated = scorer._evaluate(asked.support, query)
    actions, log_probs = evaluated.actions, evaluated.log_probs
    typical = torch.from_numpy(actions.candidates.features).mean(0, keepdim=True)
    listed = int(np.flatnonzero(actions.candidates.entity == best)[0])
    with torch.no_grad():
        own = model.module.candidate_scores(torch.from_numpy(actions.candidates.features[listed : listed + 1]))
        level = log_probs.candidates[listed] - own[0]
        expected = float(model.module.candidate_scores(typical)[0] + level)
    base = scorer.evidence(asked, query, best)[-1]
    assert base.contribution == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("find", "accumulator"),
    [
        (traces.support_chains, Accumulator.COOCCURRENCE),
        (traces.neighbour_chains, Accumulator.RULE_NEAR),
        (traces.peer_chains, Accumulator.SIMILAR_SAME_RELATION),
        (traces.same_day_chains, Accumulator.SAME_DAY),
    ],
)
def test_weights_of_chains_add_up_to_the_feature(
    find: object,
    accumulator: Accumulator,
    context: GraphContext,
    statistics: GraphStatistics,
    asked: Task,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traces, "_MAX_CHAINS", 10**9)
    graph = context.graph.with_facts(asked.support.facts)
    inputs, _ = feature_inputs(graph, asked.support, statistics, asked.queries, Shortlist(2000))
    nonzero = 0
    for number in range(0, len(asked.queries), 5):
        query = one(asked, number)
        support = SupportFacts.of_queries(asked.support, query, graph.relations)
        for place in range(inputs.offsets[number], inputs.offsets[number + 1]):
            trace = Trace.of(graph, statistics, support, query, int(inputs.entity[place]))
            chains: list[Chain] = find(trace)  # type: ignore[operator]
            value = float(inputs.accumulators[place, accumulator])
            assert sum(chain.weight for chain in chains) == pytest.approx(value, rel=1e-4, abs=1e-6)
            nonzero += value > 0
    assert nonzero > 5


def test_weights_of_excitation_add_up_to_the_feature(
    context: GraphContext, statistics: GraphStatistics, asked: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "_MAX_CHAINS", 10**9)
    graph = context.graph.with_facts(asked.support.facts)
    query = one(asked, 2)
    inputs, _ = feature_inputs(graph, asked.support, statistics, query, Shortlist(2000))
    values = candidate_activity(inputs, 0, 1)["excitation"]
    support = SupportFacts.of_queries(asked.support, query, graph.relations)
    for place in range(0, len(values), 5):
        trace = Trace.of(graph, statistics, support, query, int(inputs.entity[place]))
        total = sum(chain.weight for chain in traces.excitation_chains(trace))
        assert total == pytest.approx(float(values[place]), rel=1e-4, abs=1e-7)


def test_chains_are_paths_of_visible_facts(context: GraphContext, model: PlusModel, asked: Task) -> None:
    """Peers and learned paths begin at the query entity, and all their edges exist."""
    graph = context.graph.with_facts(asked.support.facts)
    found = 0
    for number in range(0, len(asked.queries), 4):
        query = one(asked, number)
        support = SupportFacts.of_queries(asked.support, query, graph.relations)
        for candidate in range(0, graph.entities, 17):
            trace = Trace.of(graph, model.statistics, support, query, candidate)
            for chain in [*traces.peer_chains(trace), *traces.reach_chains(trace)]:
                assert chain.edges[0][0] == query.entity[0]
                assert chain.edges[-1][2] == candidate
                for before, after in zip(chain.edges, chain.edges[1:], strict=False):
                    assert before[2] == after[0]
                assert graph.contains(Quadruples.from_rows(list(chain.edges))).all()
                found += 1
    assert found > 20


def test_paths_that_differ_in_their_times_are_one_group() -> None:
    chains = [
        Chain(((0, 1, 2, 5), (2, 3, 4, 6)), 0.1),
        Chain(((0, 1, 2, 5), (2, 3, 4, 9)), 0.2),
        Chain(((0, 1, 4, 5),), 0.25),
    ]
    groups = group_paths(chains)
    assert [[chain.weight for chain in group] for group in groups] == [[0.1, 0.2], [0.25]]


def test_merged_paths_list_their_other_times(dataset: Dataset, model: PlusModel, asked: Task) -> None:
    scorer: PlusScorer = model.scorer()
    merged = 0
    for number in range(0, len(asked.queries), 3):
        query = one(asked, number)
        scores = scorer.score(asked, query)
        best = scores.entity[np.argsort(-scores.score)[:5]].tolist()
        for paths in scorer.explain(asked, query, best, dataset.vocabulary, dataset.calendar):
            keys = [tuple((step.subject, step.relation, step.object) for step in path.steps) for path in paths]
            assert len(set(keys)) == len(keys)
            for path in paths:
                merged += len(path.also)
                assert all(len(times) == len(path.steps) for times in path.also)
                assert math.isfinite(path.log_prob)
    assert merged
