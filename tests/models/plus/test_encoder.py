"""The support encoder: what it learns, and which facts it must not use."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from fitcarl.config.schema import EncoderConfig
from fitcarl.config.settings import configure
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.candidates import Candidates, Shortlist, collect_candidates
from fitcarl.models.plus.encoder import network
from fitcarl.models.plus.encoder.network import EncoderInput, SupportEncoder, Words, shared_word_weights
from fitcarl.models.plus.encoder.scorer import EncoderScorer
from fitcarl.models.plus.encoder.training import train_encoder
from fitcarl.models.plus.features.table import columns_of
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.tasks.task import Queries, Task

SMALL = EncoderConfig(dim=16, max_updates=60, min_updates=60, batch_size=128)


@pytest.fixture(scope="module")
def encoder(context: GraphContext) -> SupportEncoder:
    return train_encoder(context.graph, 1.0, Names.empty(context.graph.entities), SMALL, seed=0)


def encoder_columns(found: Candidates) -> np.ndarray:
    return found.features[:, columns_of("encoder")]


def test_encoder_learns_answers_from_supports() -> None:
    """Entities with a fact to 2i have a later fact to 2i + 1; unseen entities have one support fact."""
    pairs, subjects, relations = 12, 240, RelationIds(2)
    rng = np.random.default_rng(0)
    which = rng.integers(0, pairs, subjects)
    subject_ids = 2 * pairs + np.arange(subjects)
    rows = [(p, 0, 2 * w, 3 * t) for t in range(2) for p, w in zip(subject_ids, which, strict=True)]
    rows += [(p, 1, 2 * w + 1, 50 + 3 * t) for t in range(2) for p, w in zip(subject_ids, which, strict=True)]
    facts = Quadruples(*np.array(rows, dtype=np.int32).T)
    entities = 2 * pairs + subjects + 1
    graph = TemporalGraph.from_facts(facts, entities, relations)
    names = Names.empty(entities)
    no_concepts = Concepts((), np.zeros(entities + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    statistics = compute_statistics(facts, graph, no_concepts)
    config = EncoderConfig(dim=32, max_updates=500, min_updates=500, batch_size=128)
    unseen = np.full(pairs, entities - 1, dtype=np.int32)
    given = EncoderInput(
        relation=torch.ones(pairs, dtype=torch.int64),
        known=torch.ones(pairs, 1, dtype=torch.bool),
        support_entity=2 * torch.arange(pairs)[:, None],
        support_relation=torch.zeros(pairs, 1, dtype=torch.int64),
        gap=torch.full((pairs, 1), 50.0),
        name=torch.zeros(pairs, 32),
    )
    time = np.full(pairs, 200, dtype=np.int32)
    learned = train_encoder(graph, 1.0, names, config, seed=0)
    found = EncoderScorer(learned, statistics).score(given, unseen, time)
    assert (found.support_only.argmax(1) == 2 * np.arange(pairs) + 1).mean() > 0.9
    assert entities - 1 not in found.top[:, 0]


def test_fact_of_the_query_does_not_change_encoder_scores(
    context: GraphContext, statistics: GraphStatistics, task: Task, encoder: SupportEncoder
) -> None:
    """Events of the query entity at t_q are excluded from the temporal memory."""
    queries = task.queries.take(np.arange(1))
    graph = context.graph.with_facts(task.support.facts)
    e, r, x, t = (int(column[0]) for column in (queries.entity, queries.relation, queries.answer, queries.time))
    planted = {
        "event_time": np.append(statistics.event_time, [t, t]),
        "event_source": np.append(statistics.event_source, [e, x]),
        "event_relation": np.append(statistics.event_relation, [r, context.graph.relations.inverse(r)]),
        "event_target": np.append(statistics.event_target, [x, e]),
    }
    order = np.argsort(planted["event_time"], kind="stable")
    leaky = replace(statistics, **{name: part[order].astype(np.int32) for name, part in planted.items()})
    one = collect_candidates(
        graph, task.support, statistics, queries, Shortlist(500), EncoderScorer(encoder, statistics)
    )
    other = collect_candidates(graph, task.support, leaky, queries, Shortlist(500), EncoderScorer(encoder, leaky))
    assert encoder_columns(one).any()
    same = {int(entity): row for entity, row in zip(one.entity, encoder_columns(one), strict=True)}
    for entity, row in zip(other.entity, encoder_columns(other), strict=True):
        np.testing.assert_allclose(row, same[int(entity)], atol=1e-5)


def test_encoder_features_are_zero_without_encoder(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    graph = context.graph.with_facts(task.support.facts)
    assert not encoder_columns(collect_candidates(graph, task.support, statistics, task.queries, Shortlist(100))).any()


def test_capacity_for_more_entities_does_not_change_features(
    encoder: SupportEncoder, statistics: GraphStatistics, context: GraphContext, task: Task
) -> None:
    extended = context.with_capacity(3)
    queries: Queries = task.queries.take(np.arange(5))
    given = [
        (context.graph, statistics, encoder),
        (extended.graph, statistics.with_capacity(3), encoder.with_capacity(3)),
    ]
    found = [
        collect_candidates(
            graph.with_facts(task.support.facts),
            task.support,
            counts,
            queries,
            Shortlist(500),
            EncoderScorer(own, counts),
        )
        for graph, counts, own in given
    ]
    assert found[0].entity.tolist() == found[1].entity.tolist()
    np.testing.assert_allclose(found[0].features, found[1].features, atol=1e-4)


def test_rare_words_are_ignored() -> None:
    texts = [f"Police (Land {i % 2}) unique{i}" for i in range(50)]
    relations, known = RelationIds(1), np.ones(50, dtype=np.bool_)
    ring = Quadruples(*np.array([(i, 0, (i + 1) % 50, i) for i in range(50)], dtype=np.int32).T)
    names = Names.from_texts(texts, TemporalGraph.from_facts(ring, 50, relations))
    word_weight = shared_word_weights(names, known)
    words = Words.from_names(names, word_weight)
    assert {word for word, number in names.word_index.items() if word_weight[number] > 0} == {
        "police",
        "land",
        "0",
        "1",
    }
    assert words.weight[words.offsets[3] : words.offsets[4]].sum() == pytest.approx(1)
    table = torch.eye(len(names.weight))
    assert float(words.sum(table, np.array([3]))[0, names.word_index["1"]]) > 0


def test_untrained_entities_get_the_mean_score_and_absent_ones_none(
    context: GraphContext, statistics: GraphStatistics, task: Task, encoder: SupportEncoder
) -> None:
    """An entity that had no facts in training gets the mean score; one without facts now is never predicted."""
    frequent = int(np.argmax(statistics.degree))
    untrained = deepcopy(encoder)
    known = statistics.degree > 0
    known[frequent] = False
    untrained.freeze(known)
    without_facts = replace(statistics, degree=np.where(known, statistics.degree, 0).astype(np.int32))
    graph = context.graph.with_facts(task.support.facts)

    def scores(scorer: EncoderScorer) -> np.ndarray:
        found = collect_candidates(graph, task.support, statistics, task.queries, Shortlist(500), scorer)
        return encoder_columns(found)[found.entity == frequent][:, 0]

    before, average, absent = (
        scores(EncoderScorer(*given))
        for given in ((encoder, statistics), (untrained, statistics), (untrained, without_facts))
    )
    assert average.std() < before.std()
    assert (absent < average - 1).all()


def test_encoder_reads_the_name_of_an_unseen_entity(dataset: Dataset) -> None:
    """With names switched on, a name given to the scorer reaches the encoder."""
    config = configure("plus+names", shots=3)
    context = GraphContext.from_dataset(dataset)
    graph = context.graph
    names = Names.from_texts(context.names, graph)
    small = EncoderConfig(dim=8, max_updates=20, min_updates=20, batch_size=64)
    model = PlusModel(config, context, None, train_encoder(graph, 1.0, names, small, seed=0)).with_capacity(
        context.with_capacity(1)
    )
    word = max(
        names.word_index,
        key=lambda text: float(model.encoder.word_weight[names.word_index[text]]) if model.encoder else 0,
    )
    new = np.array([graph.entities])
    plain, named = (model.scorer(names=given)._encoder_scorer for given in ({}, {graph.entities: word}))
    assert plain is not None
    assert named is not None
    assert not plain.name_embedding(new).any()
    assert named.name_embedding(new).any()
    assert model.scorer().name == "fitcarl (plus+names)"


def test_first_layers_equal_products_with_the_joined_inputs() -> None:
    torch.manual_seed(4)
    encoder = SupportEncoder(EncoderConfig(dim=8), 9, 6).eval()
    for queries in (2, 40):  # fewer and more facts than relations, which are multiplied as rows or as a table
        inputs = EncoderInput(
            relation=torch.randint(6, (queries,)),
            known=torch.ones(queries, 3, dtype=torch.bool),
            support_entity=torch.randint(9, (queries, 3)),
            support_relation=torch.randint(6, (queries, 3)),
            gap=torch.randn(queries, 3) * 30,
            name=torch.zeros(queries, 8),
        )
        entity, relation = encoder.entity[inputs.support_entity], encoder.support_relation[inputs.support_relation]
        joined = torch.cat([entity, relation, encoder.gap(network._gap_features(inputs.gap))], -1)
        r_q = encoder.query_relation[inputs.relation][:, None].expand_as(entity)
        fact, score = encoder._first_layers(inputs)
        torch.testing.assert_close(fact, encoder.fact[0](joined), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(score, encoder.attention[0](torch.cat([joined, r_q], -1)), rtol=1e-4, atol=1e-5)
