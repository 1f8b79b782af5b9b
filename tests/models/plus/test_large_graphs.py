"""Large graphs: relations with many objects, and encoders with many entities.

A query visits some objects of such a relation and scores a pool of entities; its candidates keep the values that they
have if everything is visited.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fitcarl.config.base import Setting
from fitcarl.config.plus import EncoderConfig
from fitcarl.core.process_group import ONE_PROCESS
from fitcarl.data.concepts import Concepts
from fitcarl.data.pseudo_unseen import hold_out_entities, select_pseudo_unseen
from fitcarl.data.quadruples import Quadruples
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.candidates import Shortlist, feature_inputs, kernel_statistics
from fitcarl.models.plus.encoder import batches as encoder_batches
from fitcarl.models.plus.encoder import optimizer, pool, scorer, training
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.encoder.pool import Pool
from fitcarl.models.plus.encoder.row_updates import RowAdam
from fitcarl.models.plus.encoder.scorer import EncoderScorer
from fitcarl.models.plus.event_index import FREQUENT_OBJECTS, event_index, frequent_objects
from fitcarl.models.plus.kernels import count_objects
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.synthetic import generate_world
from fitcarl.tasks.task import NO_LIMIT, Task, sampled_task

EVERY = Shortlist(10_000)


def world(setting: Setting) -> tuple[TemporalGraph, GraphStatistics, Task]:
    """A generated world with some entities held out, and queries about them."""
    facts = generate_world(6000).facts
    entities, relations = len(facts.vocabulary.entities), facts.vocabulary.relation_ids
    rng = np.random.default_rng(3)
    group = select_pseudo_unseen(facts.quadruples, entities, 3, rng, groups=1).groups[0]
    fold = hold_out_entities(facts.quadruples, group, entities, rng)
    graph = TemporalGraph.from_facts(fold.background, entities, relations)
    statistics = compute_statistics(fold.background, graph, Concepts.none(entities))
    return graph, statistics, sampled_task(fold.hidden, 3, relations, rng, 2, setting)


@pytest.mark.parametrize("setting", ["completion", "forecast"])
def test_candidates_equal_those_of_a_complete_visit(setting: Setting) -> None:
    graph, statistics, task = world(setting)
    overlaid = graph.with_facts(task.support.facts)
    large = replace(statistics, max_objects=0, **event_index(graph, 0))
    complete, _ = feature_inputs(overlaid, task.support, statistics, task.queries, EVERY)
    partial, _ = feature_inputs(overlaid, task.support, large, task.queries, EVERY)
    assert np.array_equal(complete.offsets, partial.offsets)  # every event of a relation is near enough in this world
    for q in range(len(task.queries)):
        part = slice(complete.offsets[q], complete.offsets[q + 1])
        one, other = (np.argsort(inputs.entity[part]) for inputs in (complete, partial))
        assert np.array_equal(complete.entity[part][one], partial.entity[part][other])
        np.testing.assert_array_equal(complete.accumulators[part][one], partial.accumulators[part][other])


@pytest.mark.parametrize("before", [NO_LIMIT, 400])
def test_number_of_objects_counts_those_seen_before_a_tick(before: int) -> None:
    graph, statistics, _ = world("completion")
    edges = graph.base.edges()
    relation = np.arange(graph.relations.directed, dtype=np.int32)
    limits = np.full(len(relation), before, dtype=np.int32)
    counted = count_objects(kernel_statistics(statistics).search.objects, np.arange(len(relation)), relation, limits)
    seen = edges.time < before
    assert counted.tolist() == [len(np.unique(edges.object[seen & (edges.relation == r)])) for r in relation]


def test_frequent_objects_are_those_with_most_facts() -> None:
    count = FREQUENT_OBJECTS + 50
    often = [(0, 0, 1 + o, t) for o in range(count) for t in range(2 if o % 2 else 1)]
    facts = Quadruples.from_rows(often)
    graph = TemporalGraph.from_facts(facts, count + 1, generate_world(6000).facts.vocabulary.relation_ids)
    offsets, objects = frequent_objects(event_index(graph))
    kept = objects[offsets[0] : offsets[1]]
    assert len(kept) == FREQUENT_OBJECTS == offsets[-1]
    twice = {1 + o for o in range(count) if o % 2}
    assert twice <= set(kept.tolist())


def encoder_of(graph: TemporalGraph) -> SupportEncoder:
    """An encoder with random weights that knows all entities with facts but a few."""
    torch.manual_seed(2)
    encoder = SupportEncoder(EncoderConfig(dim=16), graph.entities, graph.relations.directed)
    with torch.no_grad():
        encoder.bias.normal_()
    known = np.diff(graph.base.offsets) > 0
    known[:5] = False
    encoder.freeze(known)
    return encoder


@pytest.mark.parametrize("setting", ["completion", "forecast"])
def test_a_pool_gives_candidates_the_scores_of_a_complete_encoder(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, statistics, task = world(setting)
    overlaid, encoder = graph.with_facts(task.support.facts), encoder_of(graph)
    arguments = overlaid, task.support, statistics, task.queries, EVERY
    complete, _ = feature_inputs(*arguments, EncoderScorer(encoder, statistics))
    monkeypatch.setattr(scorer, "POOL_FROM", 0)
    pooled, _ = feature_inputs(*arguments, EncoderScorer(encoder, statistics))
    for q in range(len(task.queries)):
        values = []
        for inputs in (complete, pooled):
            part = slice(inputs.offsets[q], inputs.offsets[q + 1])
            values.append(dict(zip(inputs.entity[part].tolist(), inputs.encoder[part].tolist(), strict=True)))
        both = sorted(values[0].keys() & values[1].keys())
        assert len(both) > 0.9 * len(values[0])  # the encoder lists other entities: it ranks the pool without events
        one, other = (np.array([found[entity] for entity in both]) for found in values)
        one, other = np.maximum(one, -25), np.maximum(other, -25)
        np.testing.assert_allclose(other[:, 0], one[:, 0], atol=2e-4)
        # With events, the normalisation is over the candidates; it is the same for all of them.
        difference = (other - one)[(one > -25).all(1) & (other > -25).all(1), 1]
        assert np.ptp(difference) < 2e-4
        assert abs(difference.mean()) < 0.1


def test_the_sampled_entities_of_a_pool_represent_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_FREQUENT", 1000)
    monkeypatch.setattr(pool, "_SAMPLED", 500)
    torch.manual_seed(0)
    rows, bias = 0.3 * torch.randn(5000, 16), torch.linspace(2, -3, 5000)
    bias[-10:] = -30.0
    found = Pool.of(rows, bias)
    assert found.entity[:1000].tolist() == list(range(1000))
    assert found.entity[1000:].min() >= 1000
    assert found.entity.max() < 4990
    answer = torch.randn(8, 16)
    exact = (answer @ rows[:4990].T + bias[:4990]).logsumexp(1)
    estimated = (answer @ found.rows.T + found.bias).logsumexp(1)
    assert (exact - estimated).abs().max() < 0.1


def test_row_updates_equal_adamw_if_every_row_is_updated() -> None:
    torch.manual_seed(1)
    table, gradients = torch.randn(6, 4), torch.randn(5, 6, 4)
    expected = torch.nn.Parameter(table.clone())
    adam = torch.optim.AdamW([expected], lr=0.1, weight_decay=0.01)
    rows = RowAdam(table, 0.01)
    for gradient in gradients:
        expected.grad = gradient.clone()
        adam.step()
        rows.step(torch.arange(6), gradient, 0.1)
    torch.testing.assert_close(table, expected.detach())


def test_row_updates_leave_other_rows_unchanged() -> None:
    table = torch.randn(6, 4)
    before = table.clone()
    RowAdam(table, 0.01).step(torch.tensor([1, 4]), torch.randn(2, 4), 0.1)
    changed = (table != before).any(1)
    assert changed.tolist() == [False, True, False, False, True, False]


def mean_loss(batches: encoder_batches.EncoderBatches, encoder: SupportEncoder) -> float:
    rng, found = np.random.default_rng(5), []
    for _ in range(10):
        batch = batches.draw(rng)
        assert batch is not None
        batch.select_rows(encoder)
        with torch.no_grad():
            found.append(float(batches.loss(encoder, batch, ONE_PROCESS.shard(len(batch.edge)))))
    return float(np.mean(found))


def test_row_wise_training_learns_like_dense_training(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _, _ = world("completion")
    config = EncoderConfig(dim=16, max_updates=60, min_updates=60, batch_size=64)
    losses = []
    for limit in (10**9, 0):
        monkeypatch.setattr(optimizer, "ROW_WISE_FROM", limit)
        batches = encoder_batches.EncoderBatches(graph, 1.0, Names.empty(graph.entities), config, 3)
        encoder = training.train_encoder(graph, 1.0, Names.empty(graph.entities), config, seed=0)
        losses.append(mean_loss(batches, encoder))
    untrained = SupportEncoder(config, graph.entities, graph.relations.directed).eval()
    start = mean_loss(batches, untrained)
    assert abs(losses[0] - losses[1]) < 0.15 * (start - losses[0])
