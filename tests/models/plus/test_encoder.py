"""The encoder of a support: what it says, and that it says nothing it must not know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fitcarl.config.schema import EncoderConfig, configure
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.candidates import Candidates, Shortlist, candidates
from fitcarl.models.plus.encoder.network import EncoderInput, EncoderScorer, SupportEncoder, Words, shared_word_weights
from fitcarl.models.plus.encoder.training import train_encoder
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.tasks.task import Queries, Task
from tests.models.plus.features import columns_of

SMALL = EncoderConfig(dim=16, max_updates=60, min_updates=60, batch_size=128)


@pytest.fixture(scope="module")
def encoder(context: GraphContext) -> SupportEncoder:
    return train_encoder(context.graph, 1.0, Names.empty(context.graph.entities), SMALL, seed=0)


def said_of(found: Candidates) -> np.ndarray:
    return found.features[:, columns_of("encoder")]


def test_it_learns_whom_one_with_such_a_support_deals_with() -> None:
    """Whoever visits door 2i is later asked about window 2i + 1; newcomers are judged by one visit alone."""
    pairs, visitors, relations = 12, 240, RelationIds(2)
    rng = np.random.default_rng(0)
    which = rng.integers(0, pairs, visitors)
    people = 2 * pairs + np.arange(visitors)
    rows = [(p, 0, 2 * w, 3 * t) for t in range(2) for p, w in zip(people, which, strict=True)]
    rows += [(p, 1, 2 * w + 1, 50 + 3 * t) for t in range(2) for p, w in zip(people, which, strict=True)]
    facts = Quadruples(*np.array(rows, dtype=np.int32).T)
    entities = 2 * pairs + visitors + 1
    graph = TemporalGraph.from_facts(facts, entities, relations)
    names = Names.empty(entities)
    no_concepts = Concepts((), np.zeros(entities + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    statistics = compute_statistics(facts, graph, no_concepts)
    config = EncoderConfig(dim=32, max_updates=500, min_updates=500, batch_size=128)
    newcomer = np.full(pairs, entities - 1, dtype=np.int32)
    asking = EncoderInput(
        relation=torch.ones(pairs, dtype=torch.int64),
        known=torch.ones(pairs, 1, dtype=torch.bool),
        support_entity=2 * torch.arange(pairs)[:, None],
        support_relation=torch.zeros(pairs, 1, dtype=torch.int64),
        gap=torch.full((pairs, 1), 50.0),
        name=torch.zeros(pairs, 32),
    )
    time = np.full(pairs, 200, dtype=np.int32)
    learned = train_encoder(graph, 1.0, names, config, seed=0)
    found = EncoderScorer(learned, statistics).read(asking, newcomer, time)
    assert (found.alone.argmax(1) == 2 * np.arange(pairs) + 1).mean() > 0.9
    assert entities - 1 not in found.likely[:, 0]


def test_the_asked_fact_itself_changes_nothing(
    context: GraphContext, statistics: GraphStatistics, task: Task, encoder: SupportEncoder
) -> None:
    """Facts of the newcomer, planted in the memory of days at the asked time, are not remembered for it."""
    queries = task.queries.take(np.arange(1))
    graph = context.graph.with_facts(task.support.facts)
    e, r, x, t = (int(column[0]) for column in (queries.entity, queries.relation, queries.answer, queries.time))
    planted = {
        "day_time": np.append(statistics.day_time, [t, t]),
        "day_source": np.append(statistics.day_source, [e, x]),
        "day_relation": np.append(statistics.day_relation, [r, context.graph.relations.inverse(r)]),
        "day_target": np.append(statistics.day_target, [x, e]),
    }
    order = np.argsort(planted["day_time"], kind="stable")
    leaky = replace(statistics, **{name: part[order].astype(np.int32) for name, part in planted.items()})
    one = candidates(graph, task.support, statistics, queries, Shortlist(500), EncoderScorer(encoder, statistics))
    other = candidates(graph, task.support, leaky, queries, Shortlist(500), EncoderScorer(encoder, leaky))
    assert said_of(one).any()
    same = {int(entity): row for entity, row in zip(one.entity, said_of(one), strict=True)}
    for entity, row in zip(other.entity, said_of(other), strict=True):
        np.testing.assert_allclose(row, same[int(entity)], atol=1e-5)


def test_without_an_encoder_its_evidence_is_blank(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    graph = context.graph.with_facts(task.support.facts)
    assert not said_of(candidates(graph, task.support, statistics, task.queries, Shortlist(100))).any()


def test_room_for_more_entities_changes_nothing_for_the_others(
    encoder: SupportEncoder, statistics: GraphStatistics, context: GraphContext, task: Task
) -> None:
    wide_place = context.with_capacity(3)
    queries: Queries = task.queries.take(np.arange(5))
    given = [
        (context.graph, statistics, encoder),
        (wide_place.graph, statistics.with_capacity(3), encoder.with_capacity(3)),
    ]
    found = [
        candidates(
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


def test_rare_words_do_not_tell_who_somebody_is() -> None:
    texts = [f"Police (Land {i % 2}) unique{i}" for i in range(50)]
    relations, known = RelationIds(1), np.ones(50, dtype=np.bool_)
    ring = Quadruples(*np.array([(i, 0, (i + 1) % 50, i) for i in range(50)], dtype=np.int32).T)
    names = Names.from_texts(texts, TemporalGraph.from_facts(ring, 50, relations))
    telling = shared_word_weights(names, known)
    words = Words.of(names, telling)
    assert {word for word, number in names.number.items() if telling[number] > 0} == {"police", "land", "0", "1"}
    assert words.weight[words.offsets[3] : words.offsets[4]].sum() == pytest.approx(1)
    table = torch.eye(len(names.weight))
    assert float(words.sum(table, np.array([3]))[0, names.number["1"]]) > 0


def test_who_came_later_is_average_and_who_is_not_there_yet_no_answer(
    context: GraphContext, statistics: GraphStatistics, task: Task, encoder: SupportEncoder
) -> None:
    """One whom the encoder has not met, but the graph has, is neither first nor last; without facts nobody answers."""
    busy = int(np.argmax(statistics.degree))
    stranger = SupportEncoder.from_state(encoder.state_dict())
    known = statistics.degree > 0
    known[busy] = False
    stranger.freeze(known)
    gone = replace(statistics, degree=np.where(known, statistics.degree, 0).astype(np.int32))
    graph = context.graph.with_facts(task.support.facts)

    def said(reader: EncoderScorer) -> np.ndarray:
        found = candidates(graph, task.support, statistics, task.queries, Shortlist(500), reader)
        return said_of(found)[found.entity == busy][:, 0]

    before, average, absent = (
        said(EncoderScorer(*given)) for given in ((encoder, statistics), (stranger, statistics), (stranger, gone))
    )
    assert average.std() < before.std()
    assert (absent < average - 1).all()


def test_a_named_newcomer_is_read_by_its_name(dataset: Dataset) -> None:
    """The scorer of an agent with names on hears of a newcomer's name through the encoder, too."""
    config = configure("plus+names", shots=3)
    context = GraphContext.from_dataset(dataset)
    graph = context.graph
    names = Names.from_texts(context.names, graph)
    small = EncoderConfig(dim=8, max_updates=20, min_updates=20, batch_size=64)
    agent = PlusModel(config, context, None, train_encoder(graph, 1.0, names, small, seed=0)).with_capacity(
        context.with_capacity(1)
    )
    word = max(names.number, key=lambda text: float(agent.encoder.telling[names.number[text]]) if agent.encoder else 0)
    new = np.array([graph.entities])
    plain, named = (agent.scorer(names=given)._reader for given in ({}, {graph.entities: word}))
    assert plain is not None
    assert named is not None
    assert not plain.name_of(new).any()
    assert named.name_of(new).any()
    assert agent.scorer().name == "fitcarl (plus+names)"
