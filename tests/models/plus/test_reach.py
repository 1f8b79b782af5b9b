"""The reach network against plain loops, and what it may read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.schema import PlusConfig, ReachConfig
from fitcarl.config.settings import configure
from fitcarl.core.process_group import ONE_PROCESS
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.candidates import Shortlist, collect_candidates
from fitcarl.models.plus.features.table import FEATURES
from fitcarl.models.plus.reach import network as reach_module
from fitcarl.models.plus.reach.edges import recent_edges
from fitcarl.models.plus.reach.network import COLUMNS, ReachInput, ReachNetwork
from fitcarl.models.plus.reach.training import ReachBatches, train_reach
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.models.support import SupportFacts
from fitcarl.runs.run import Run
from fitcarl.tasks.task import Queries, Task
from fitcarl.training.api import train
from tests.small import data, home, small

__all__ = ["data", "home"]

R = RelationIds(2)
UNSEEN = 9
"""The query entity of the graphs written here."""


def graph_of(rows: list[tuple[int, int, int, int]], entities: int = 12) -> TemporalGraph:
    return TemporalGraph.from_facts(Quadruples.from_rows(rows), entities, R)


def inputs_of(support: list[tuple[int, int, int]], time: int, relation: int = 0) -> ReachInput:
    """One query (UNSEEN, relation, ?, time) with support facts (relation, entity, time)."""
    facts = Quadruples.from_rows([(UNSEEN, r, o, t) for r, o, t in support])
    meta = MetaSet(np.full(len(support), UNSEEN, np.int32), facts)
    one = np.array([UNSEEN], np.int32), np.array([relation], np.int32), np.array([time], np.int32)
    queries = Queries(*one, np.array([-1], np.int32), np.array([time], np.int32))
    return ReachInput.of_queries(SupportFacts.of_queries(meta, queries, R), queries)


def untrained(entities: int = 12, relations: int = R.directed) -> ReachNetwork:
    torch.manual_seed(0)
    network = ReachNetwork(4, entities, relations)
    network.freeze(np.ones(entities, dtype=np.bool_))
    return network


def test_recent_edges_match_a_plain_loop(context: GraphContext) -> None:
    base, rng = context.graph.base, np.random.default_rng(0)
    node, excluded = rng.integers(0, context.graph.entities, (2, 200))
    before = rng.integers(0, int(base.time.max()) + 2, 200)
    found = recent_edges(base.columns, np.zeros(200, np.int64), node, excluded, before, 3)
    plain = []
    for i in range(200):
        kept = [
            (i, int(base.relation[a]), int(base.target[a]), int(base.time[a]))
            for a in range(base.offsets[node[i]], base.offsets[node[i] + 1])
            if base.time[a] < before[i] and base.target[a] not in (excluded[i], node[i])
        ]
        plain += kept[::-1][:3]
    assert list(zip(*(column.tolist() for column in found), strict=True)) == plain
    assert len(plain) > 100


def test_reaches_entities_within_three_facts_that_are_known_before_the_query() -> None:
    graph = graph_of(
        [
            (1, 0, 2, 3),
            (2, 1, 3, 4),
            (3, 0, 4, 5),  # four facts from the query entity
            (1, 0, 5, 7),  # at t_q
            (1, 0, 6, 8),  # later
            (UNSEEN, 0, 7, 2),  # a fact of the query entity that is not in its support
            (1, 0, UNSEEN, 2),
        ]
    )
    reached = untrained()(graph.base.columns, inputs_of([(0, 1, 1)], time=7), 1.0)
    # Messages go back too: from 2 to 1 and from 3 to 2.
    assert reached.entity.tolist() == [1, 2, 3]
    assert reached.log_probability(1).exp().sum().item() == pytest.approx(1)


def test_scores_match_a_plain_sum_of_messages(context: GraphContext, task: Task) -> None:
    graph, days = context.graph, 0.5
    queries = replace(task.queries, visible_before=task.queries.time).take(slice(0, 12))
    facts = SupportFacts.of_queries(task.support, queries, graph.relations)
    network = untrained(graph.entities, graph.relations.directed)
    with torch.no_grad():
        reached = network(graph.base.columns, ReachInput.of_queries(facts, queries), days)
        for q in range(len(queries)):
            plain = _plain_scores(network, graph, facts, queries, q, days)
            mine = reached.query == q
            assert plain.keys() == set(reached.entity[mine].tolist())
            expected = torch.stack([plain[entity] for entity in reached.entity[mine].tolist()])
            torch.testing.assert_close(reached.score[torch.from_numpy(mine)], expected, rtol=1e-4, atol=1e-4)


def _plain_scores(
    network: ReachNetwork, graph: TemporalGraph, facts: SupportFacts, queries: Queries, q: int, days: float
) -> dict[int, torch.Tensor]:
    """The score of every entity that one query reaches, message by message."""
    base, e, r_q, now = graph.base, int(queries.entity[q]), int(queries.relation[q]), int(queries.time[q])
    sums: list[dict[int, torch.Tensor]] = [{}, {}, {}]

    def send(number: int, level: torch.nn.Module, state: torch.Tensor | None, fact: tuple[int, int, int]) -> None:
        relation, target, time = fact
        edges = range(base.offsets[target], base.offsets[target + 1])
        degree = sum(int(base.time[a] < now) for a in edges)
        size = min(int(np.log2(max(degree, 1))), 11)
        given = torch.tensor([relation]), torch.tensor([r_q]), torch.tensor([abs(now - time) * days]).float()
        message = level(None if state is None else state[None], *given, torch.tensor([size]))[0]
        sums[number][target] = sums[number].get(target, torch.zeros(4)) + message
        if number == 0:
            for other in latest(target, reach_module.EDGES):
                send(1, network.first, message, other)

    def latest(node: int, limit: int) -> list[tuple[int, int, int]]:
        found = [
            (int(base.relation[a]), int(base.target[a]), int(base.time[a]))
            for a in range(base.offsets[node], base.offsets[node + 1])
            if base.time[a] < now and base.target[a] not in (e, node)
        ]
        return found[::-1][:limit]

    for k in range(facts.offsets[q], facts.offsets[q + 1]):
        if facts.entity[k] != e:
            send(0, network.support, None, (int(facts.relation[k]), int(facts.entity[k]), int(facts.time[k])))
    last = {}
    for start in {int(facts.entity[k]) for k in range(facts.offsets[q], facts.offsets[q + 1])}:
        for _, target, time in latest(start, reach_module.EDGES):
            last[target] = max(time, last.get(target, time))
    for node in sorted(sums[1], key=lambda node: (-last[node], node))[: reach_module.NODES]:
        state = network.onward(sums[1][node].log1p()[None])[0]
        for fact in latest(node, reach_module.NEXT_EDGES):
            send(2, network.second, state, fact)
    query, scores = network.query[r_q], {}
    for entity in set().union(*sums):
        state = torch.cat([part.get(entity, torch.zeros(4)).log1p() for part in sums])
        levels = torch.tensor([float(entity in part) for part in sums])
        score = network.output(torch.cat([state, query, network.mix(state) * query, levels]))[0]
        scores[entity] = score + network.entity[entity] @ network.entity_query[r_q] + network.bias[entity]
    return scores


def test_later_facts_and_other_facts_of_the_query_entity_change_no_score(context: GraphContext, task: Task) -> None:
    facts, relations = context.facts, context.graph.relations
    entities, rng = context.graph.entities, np.random.default_rng(3)
    queries = replace(task.queries, visible_before=task.queries.time).take(slice(0, 1))
    support = SupportFacts.of_queries(task.support, queries, relations)
    now, e = int(queries.time[0]), int(queries.entity[0])
    drawn = rng.integers(0, [entities, relations.count, entities, 5], (300, 4))
    later = [(s, r, o, now + days) for s, r, o, days in drawn.tolist()]
    own = [(e, 0, int(o), int(t)) for o, t in zip(rng.integers(0, entities, 30), rng.integers(0, now, 30), strict=True)]
    network = untrained(entities, relations.directed)
    with torch.no_grad():
        inputs = ReachInput.of_queries(support, queries)
        one = network(context.graph.base.columns, inputs, 1.0)
        poisoned = TemporalGraph.from_facts(
            Quadruples.concat([facts, Quadruples.from_rows(later)]), entities, relations
        )
        two = network(poisoned.base.columns, inputs, 1.0)
        with_own = TemporalGraph.from_facts(Quadruples.concat([facts, Quadruples.from_rows(own)]), entities, relations)
        three = network(with_own.base.columns, inputs, 1.0)
    assert len(one.entity) > 10
    assert np.array_equal(one.entity, two.entity)
    assert torch.equal(one.score, two.score)
    assert np.array_equal(one.entity, three.entity)  # only numbers of edges may differ


def test_training_queries_have_distinct_earlier_facts_of_their_subject(context: GraphContext) -> None:
    base = context.graph.base
    inputs, answer = ReachBatches(context.graph, 300, 3).draw(np.random.default_rng(0))
    assert len(answer) > 100
    assert np.array_equal(inputs.before, inputs.time)
    listed = set()
    for q, relation, entity, time in zip(
        inputs.fact_query, inputs.fact_relation, inputs.fact_entity, inputs.fact_time, strict=True
    ):
        subject = inputs.entity[q]
        assert time < inputs.time[q]
        assert entity != subject
        edges = np.arange(base.offsets[subject], base.offsets[subject + 1])
        same = (base.relation[edges] == relation) & (base.target[edges] == entity) & (base.time[edges] == time)
        assert same.sum() == 1
        listed.add((int(q), int(edges[same][0])))
    assert len(listed) == len(inputs.fact_query)
    assert np.bincount(inputs.fact_query).max() == 3


def test_training_learns_to_find_answers(context: GraphContext) -> None:
    short, long = (
        train_reach(context.graph, 1.0, ReachConfig(dim=8, max_updates=n, min_updates=n, batch_size=64), 0, 3)
        for n in (1, 150)
    )
    batches = ReachBatches(context.graph, 2000, 3)
    inputs, answers = batches.draw(np.random.default_rng(5))
    given = inputs, answers, ONE_PROCESS.shard(len(answers))
    (before, reached), (after, again) = (batches.loss_sum(network, 1.0, *given) for network in (short, long))
    assert reached == again > 0
    assert after / reached < before / reached - 0.3


def test_training_on_a_graph_without_earlier_facts_changes_nothing() -> None:
    network = train_reach(graph_of([(0, 0, 1, 0), (2, 0, 3, 0)]), 1.0, ReachConfig(dim=4, min_updates=3), 0, 3)
    assert not network.bias.any()


def test_features_of_candidates_are_log_probabilities(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    network = untrained(context.graph.entities, context.graph.relations.directed)
    graph = context.graph.with_facts(task.support.facts)
    arguments = graph, task.support, statistics, task.queries, Shortlist(500)
    found, plain = collect_candidates(*arguments, None, network), collect_candidates(*arguments)
    assert np.array_equal(found.features[:, : len(FEATURES)], plain.features)
    assert found.features.shape[1] == len(FEATURES) + COLUMNS
    value, is_reached = found.features[:, -2] * 4 - 7, found.features[:, -1]
    assert set(np.unique(is_reached)) == {0, 1}
    assert (value[is_reached == 0] == -14).all()
    facts = SupportFacts.of_queries(task.support, task.queries, graph.relations)
    with torch.no_grad():
        reached = network(graph.base.columns, ReachInput.of_queries(facts, task.queries), 1.0)
    expected = dict(
        zip(
            zip(reached.query.tolist(), reached.entity.tolist(), strict=True),
            reached.log_probability(len(task.queries)).tolist(),
            strict=True,
        )
    )
    query = np.repeat(np.arange(len(task.queries)), np.diff(found.offsets))
    for q, entity, got in zip(query.tolist(), found.entity.tolist(), value.tolist(), strict=True):
        assert got == pytest.approx(max(expected.get((q, entity), -14), -14), abs=1e-4)


def test_rows_for_more_entities_change_no_score() -> None:
    rows = [(1, 0, 2, 3), (2, 1, 3, 4)]
    network, inputs = untrained(), inputs_of([(0, 1, 1)], time=7)
    one = network(graph_of(rows).base.columns, inputs, 1.0)
    two = network.with_capacity(3)(graph_of(rows, 15).base.columns, inputs, 1.0)
    assert torch.equal(one.score, two.score)
    assert len(network.bias) == 12


def test_only_runs_for_forecast_have_a_reach_network(data: Path, tmp_path: Path) -> None:
    def model(name: str, setting: str, *settings: str) -> PlusModel:
        given = (*small("plus"), *settings)
        run = train(data, out=tmp_path / name, shots=2, episodes=2, setting=setting, settings=given)  # type: ignore[arg-type]
        assert isinstance(run.model, PlusModel)
        return run.model

    assert model("completion", "completion").reach is None
    assert model("off", "forecast", "reach.used=off").reach is None
    assert model("on", "forecast").reach is not None
    file = tmp_path / "on" / "reach.safetensors"
    assert isinstance(Run.load(tmp_path / "on").model, PlusModel)
    file.write_bytes((tmp_path / "on" / "encoder.safetensors").read_bytes())
    with pytest.raises(InputError, match="reach"):
        Run.load(tmp_path / "on")


def test_the_encoder_is_the_same_for_both_settings_unless_trained_on_past_contexts(data: Path, tmp_path: Path) -> None:
    def weights(name: str, setting: str, *settings: str) -> torch.Tensor:
        given = (*small("plus"), *settings)
        run = train(data, out=tmp_path / name, shots=2, episodes=1, setting=setting, settings=given)  # type: ignore[arg-type]
        assert isinstance(run.model, PlusModel)
        assert run.model.encoder is not None
        return run.model.encoder.entity

    completion = weights("completion", "completion")
    assert torch.equal(weights("any", "forecast"), completion)
    assert not torch.equal(weights("past", "forecast", "encoder.contexts=past"), completion)


def test_a_run_for_forecast_trains_its_reach_network_by_default() -> None:
    config = configure("plus", setting="forecast")
    assert isinstance(config, PlusConfig)
    assert config.reach.used
    assert config.encoder.contexts == "any"


def test_gradients_are_those_of_the_mean_loss(context: GraphContext) -> None:
    batches = ReachBatches(context.graph, 300, 3)
    torch.manual_seed(0)
    network = ReachNetwork(8, context.graph.entities, context.graph.relations.directed)
    loss = batches.differentiate(network, 1.0, np.random.default_rng(1))
    inputs, answers = batches.draw(np.random.default_rng(1))
    total, reached = batches.loss_sum(network, 1.0, inputs, answers, ONE_PROCESS.shard(len(answers)))
    expected = torch.autograd.grad(total / reached, list(network.parameters()))
    assert 1 < reached < len(answers)
    assert loss is not None
    assert loss.item() == pytest.approx(total.item() / reached, rel=1e-5)
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-6)


def test_threads_do_not_change_the_gradients(context: GraphContext, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = ReachBatches(context.graph, 300, 3)
    torch.manual_seed(0)
    network = ReachNetwork(8, context.graph.entities, context.graph.relations.directed)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FITCARL_THREADS", threads)
        loss = batches.differentiate(network, 1.0, np.random.default_rng(1))
        gradients = [parameter.grad for parameter in network.parameters()]
        assert all(gradient is not None for gradient in gradients)
        found.append([loss, *gradients])
    for one, other in zip(*found, strict=True):
        assert one is not None
        assert other is not None
        assert torch.allclose(one, other, atol=1e-6, rtol=1e-4)
