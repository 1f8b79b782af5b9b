"""The feature table: single features against values computed by hand, and the inputs of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fitcarl.config.schema import FeaturesConfig
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.action_features import action_features
from fitcarl.models.plus.candidates import Shortlist, feature_inputs
from fitcarl.models.plus.features.accumulate import EDGES_PER_SIDE, Accumulator
from fitcarl.models.plus.features.inputs import FeatureInputs
from fitcarl.models.plus.features.table import FAMILIES, FEATURES, Feature, columns_of, identity, transformed
from fitcarl.models.plus.gaps import gap_bucket
from fitcarl.models.plus.kernels import Floats, rule_slot
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.policy import PlusPolicy
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.tasks.task import Queries, Task

RELATIONS = RelationIds(2)
TEXTS = ("Police (Chad)", "Army (Chad)", "Police (Peru)", "Army (Peru)", "Farmer (Chad)", "")
"""Entity 5 is unseen."""
BACKGROUND = [(0, 0, 1, 10), (0, 1, 2, 12), (3, 0, 1, 9), (3, 1, 2, 20), (4, 1, 2, 20), (2, 0, 4, 15)]


def small_inputs(
    facts: list[tuple[int, int, int, int]] = BACKGROUND, named: bool = True
) -> tuple[FeatureInputs, GraphStatistics]:
    """One query (5, 1, ?, 20) whose support is (5, 0, 1, 10)."""
    background = Quadruples.from_rows(facts)
    graph = TemporalGraph.from_facts(background, len(TEXTS), RELATIONS)
    concepts = Concepts(("state",), np.arange(len(TEXTS) + 1), np.zeros(len(TEXTS), dtype=np.int32))
    names = Names.from_texts(TEXTS, graph) if named else Names.empty(len(TEXTS))
    statistics = compute_statistics(background, graph, concepts, names=names)
    support = MetaSet(np.array([5], dtype=np.int32), Quadruples.from_rows([(5, 0, 1, 10)]))
    queries = Queries(*(np.array([value], dtype=np.int32) for value in (5, 1, 20, 2)))
    overlaid = graph.with_facts(support.facts)
    return feature_inputs(overlaid, support, statistics, queries, Shortlist(100))[0], statistics


def raw(inputs: FeatureInputs, entity: int) -> dict[str, float]:
    """Transformed features of one candidate, by name."""
    place = inputs.entity.tolist().index(entity)
    values = transformed(inputs, 0, 1)[:, place]
    return {feature.name: float(value) for feature, value in zip(FEATURES, values, strict=True)}


def test_names_of_features_are_unique_and_families_contiguous() -> None:
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
    assert [column for family in FAMILIES for column in columns_of(family)] == list(range(len(FEATURES)))


def test_every_family_but_query_is_a_setting() -> None:
    assert set(FeaturesConfig.model_fields) == set(FAMILIES) - {"query"}


def test_values_of_a_support_entity() -> None:
    inputs, statistics = small_inputs()
    found = raw(inputs, 1)
    rate = math.exp(statistics.cooccurrence_rate[gap_bucket(10), 0, 1])
    assert found["cooccurrence"] == pytest.approx(math.log(rate + 1e-5), abs=1e-4)
    assert found["pair_rate"] == pytest.approx(math.log(math.exp(statistics.pair_rate[0, 1]) + 1e-3), abs=1e-4)
    assert found["support_count"] == pytest.approx(math.log(2))
    assert (found["same_relation"], found["inverse_relation"]) == (0, 0)
    assert found["nearness"] == pytest.approx(math.log(1 / 11 + 1e-3), abs=1e-5)
    assert found["degree"] == pytest.approx(math.log(3))
    assert found["similarity_max"] == pytest.approx(1, abs=1e-4)


def test_values_of_an_object_of_the_relation() -> None:
    inputs, _ = small_inputs()
    found = raw(inputs, 2)
    assert found["cooccurrence"] == pytest.approx(math.log(1e-5))
    assert found["object_count"] == pytest.approx(math.log(4))
    assert found["object_same_tick"] == pytest.approx(math.log(3))
    assert found["object_20"] == pytest.approx(math.log(2 + math.exp(-8 / 20) + 1e-2), abs=1e-5)
    assert found["inverse_count"] == 0
    assert found["activity_1"] == pytest.approx(math.log(2 + math.exp(-8) + math.exp(-5) + 1e-2), abs=1e-5)
    # Entities 0 and 3 share (relation 0, entity 1) with the query entity; both have a fact of relation 1 to entity 2.
    first = 1 / math.log(2 + 2) * math.exp(-8 / 30)
    second = math.exp(-1 / 60) / math.log(2 + 2)
    assert found["similar_same_relation"] == pytest.approx(math.log(first + second + 1e-3), abs=1e-5)


def test_values_of_a_second_hop() -> None:
    inputs, statistics = small_inputs()
    found = raw(inputs, 3)
    inverse = RELATIONS.inverse(0)
    rate = math.exp(statistics.rule_rate[rule_slot(0, inverse, 1, 4, len(statistics.rule_rate))])
    assert found["rule_sum"] == pytest.approx(math.log(rate + 1e-5), abs=1e-4)
    assert found["rule_near"] == pytest.approx(math.log(rate * math.exp(-11 / 30) + 1e-5), abs=1e-4)
    assert found["near_support"] == pytest.approx(math.log(math.exp(-1 / 10) + 1e-2), abs=1e-5)
    assert found["edges"] == pytest.approx(math.log(2))
    assert found["linked_share"] == 1


def test_values_of_names() -> None:
    inputs, statistics = small_inputs()
    found = raw(inputs, 0)
    names = statistics.names
    chad = names.weight[names.word_index["chad"]]
    police = names.weight[names.word_index["police"]]
    assert found["query_words"] == 0  # the query entity has no name
    assert found["support_words"] == pytest.approx(chad / (chad + police), abs=1e-4)
    assert (found["same_place"], found["support_place_share"]) == (1, 1)
    assert raw(inputs, 2)["same_place"] == -1


def test_values_of_the_query() -> None:
    inputs, statistics = small_inputs()
    found = raw(inputs, 2)
    assert found["support_gap"] == pytest.approx(math.log(11))
    assert found["support_size"] == 0
    assert found["relation_objects"] == pytest.approx(math.log(2))
    assert found["support_relation_fit"] == pytest.approx(statistics.pair_rate[0, 1])
    assert found["neighbour_degree"] == pytest.approx(math.log(3))


def test_support_and_neighbour_features_match_a_naive_sum(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    graph = context.graph.with_facts(task.support.facts)
    inputs, _ = feature_inputs(graph, task.support, statistics, task.queries, Shortlist(2000))
    queries, relations = task.queries, context.graph.relations
    facts = [tuple(row) for row in context.facts.rows().tolist() + task.support.facts.rows().tolist()]
    edges = facts + [(o, relations.inverse(r), s, t) for s, r, o, t in facts]
    seen = task.support.facts.seen_from(task.support.entity_of_fact, relations)
    accumulators = {"cooccurrence": Accumulator.COOCCURRENCE, "rules": Accumulator.RULE_SUM, "edges": Accumulator.EDGES}
    checked = 0
    for q in range(0, len(queries), 2):
        e, r, now = int(queries.entity[q]), int(queries.relation[q]), int(queries.time[q])
        support = [row for row in seen.rows().tolist() if row[0] == e]
        times = [[t for s, _, _, t in edges if s == middle] for _, _, middle, _ in support]
        sides = [sum(t < now for t in part) for part in times] + [sum(t >= now for t in part) for part in times]
        if max(sides) > EDGES_PER_SIDE:
            continue  # only the nearest edges are read
        checked += 1
        expected: dict[str, dict[int, float]] = {name: {} for name in accumulators}

        def add(name: str, entity: int, value: float, table: dict[str, dict[int, float]] = expected) -> None:
            table[name][entity] = table[name].get(entity, 0) + value

        for _, first, middle, when in support:
            add("cooccurrence", middle, math.exp(statistics.cooccurrence_rate[gap_bucket(now - when), first, r]))
            for s, second, x, _ in edges:
                if s == middle and x not in (e, middle):
                    slot = rule_slot(first, second, r, relations.directed, len(statistics.rule_rate))
                    add("rules", x, math.exp(statistics.rule_rate[slot]))
                    add("edges", x, 1)
        rows = slice(inputs.offsets[q], inputs.offsets[q + 1])
        listed = inputs.entity[rows].tolist()
        assert set(expected["cooccurrence"]) | set(expected["rules"]) <= {*listed, e}
        for name, accumulator in accumulators.items():
            values = [expected[name].get(entity, 0.0) for entity in listed]
            np.testing.assert_allclose(inputs.accumulators[rows, accumulator], values, rtol=1e-4)
    assert checked


def test_support_fact_links_a_candidate_once(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    facts, relations = context.facts, context.graph.relations.count
    again = replace(facts, relation=(facts.relation + 1) % relations)  # the same pairs and times, another relation
    graphs = [
        context.graph.with_facts(overlay)
        for overlay in (task.support.facts, Quadruples.concat([task.support.facts, again]))
    ]
    assert len(graphs[1].overlay) > len(graphs[1].base) / 2
    linked = []
    for graph in graphs:
        inputs, _ = feature_inputs(graph, task.support, statistics, task.queries, Shortlist(2000))
        query = np.repeat(np.arange(len(task.queries)), np.diff(inputs.offsets))
        order = np.lexsort((inputs.entity, query))
        linked.append(inputs.accumulators[order, Accumulator.LINKED_FACTS])
    assert len(np.unique(linked[0])) > 2
    assert np.array_equal(*linked)


def with_accumulator(place: int) -> Callable[[FeatureInputs], FeatureInputs]:
    def change(inputs: FeatureInputs) -> FeatureInputs:
        accumulators = inputs.accumulators.copy()
        accumulators[:, place] += 1
        return inputs._replace(accumulators=accumulators)

    return change


def changed_features(before: FeatureInputs, after: FeatureInputs) -> set[str]:
    """Names of the features that differ."""
    return {
        feature.name
        for feature, one, two in zip(FEATURES, transformed(before, 0, 1), transformed(after, 0, 1), strict=True)
        if not np.array_equal(one, two, equal_nan=True)
    }


@pytest.mark.parametrize("accumulator", sorted({*Accumulator} - {Accumulator.LAST_LINK}), ids=lambda value: value.name)
def test_every_accumulator_is_read_by_exactly_one_feature(accumulator: Accumulator) -> None:
    inputs, _ = small_inputs()
    reads = {feature.name for feature in FEATURES if feature.source == accumulator} or {"linked_share"}
    assert changed_features(inputs, with_accumulator(accumulator)(inputs)) == reads


def with_statistics(**change: Callable[[Floats], Floats]) -> Callable[[FeatureInputs], FeatureInputs]:
    def apply(inputs: FeatureInputs) -> FeatureInputs:
        statistics = inputs.statistics
        for name, function in change.items():
            statistics = with_column(statistics, name.split("__"), function)
        return inputs._replace(statistics=statistics)

    return apply


def with_column(columns: Any, path: list[str], function: Callable[[Floats], Floats]) -> Any:
    """A named tuple with one of its columns changed, which may be in a nested tuple."""
    first, *rest = path
    part = getattr(columns, first)
    return columns._replace(**{first: with_column(part, rest, function) if rest else function(part)})


def with_encoder(support_only: float, with_events: float) -> Callable[[FeatureInputs], FeatureInputs]:
    def apply(inputs: FeatureInputs) -> FeatureInputs:
        values = np.tile(np.array([support_only, with_events], dtype=np.float32), (len(inputs.entity), 1))
        return inputs._replace(encoder=values)

    return apply


def with_queries(**change: Callable[[Floats], Floats]) -> Callable[[FeatureInputs], FeatureInputs]:
    def apply(inputs: FeatureInputs) -> FeatureInputs:
        parts = {name: function(getattr(inputs.queries, name)) for name, function in change.items()}
        return inputs._replace(queries=inputs.queries._replace(**parts))

    return apply


def twice(values: Floats) -> Floats:
    return np.concatenate([values, values])


def named_like_entity_4(inputs: FeatureInputs) -> FeatureInputs:
    """The query entity, whose row is the last one, gets the words of entity 4."""
    names = inputs.statistics.names
    words = names.word_ids[names.word_offsets[4] : names.word_offsets[5]]
    offsets = names.word_offsets.copy()
    offsets[-1] += len(words)
    ids = np.concatenate([names.word_ids, words])
    named = names._replace(word_offsets=offsets, word_ids=ids)
    return inputs._replace(statistics=inputs.statistics._replace(names=named))


def same(inputs: FeatureInputs) -> FeatureInputs:
    return inputs


def rotated(rows: Floats) -> Floats:
    return np.roll(rows, 1, axis=0)


PLACES = {"same_place", "support_place_share", "place_affinity"}
FROM_FACTS = {"degree", "inverse_count", "relation_objects", "neighbour_degree"}
CHANGES: dict[
    str, tuple[Callable[[FeatureInputs], FeatureInputs], Callable[[FeatureInputs], FeatureInputs], set[str]]
] = {
    "decay": (
        same,
        with_statistics(search__decay=lambda table: table / 2),
        {"activity_1", "activity_7", "activity_60"},
    ),
    "excitation": (same, with_statistics(excitation_rate=lambda table: table * 2), {"excitation"}),
    "embedding": (same, with_statistics(search__embedding=rotated), {"similarity_max", "similarity_mean"}),
    "profile": (same, with_statistics(relation_factors=lambda rows: rows * 3), {"relation_profile"}),
    "pair rate": (same, with_statistics(search__rates__pair_rate=lambda table: table + 1), {"support_relation_fit"}),
    "word weight": (same, with_statistics(names__word_weight=lambda weight: weight**2), {"support_words"}),
    "affinity": (same, with_statistics(names__affinity=lambda table: table + 1), {"place_affinity"}),
    "role fit": (same, with_statistics(names__role_fit=lambda table: table + 1), {"role_fit"}),
    "concepts": (same, with_statistics(concepts__probability=lambda table: table / 2), {"concept_fit"}),
    "place": (
        same,
        with_statistics(names__place=lambda place: np.where(place == 0, 1, place).astype(np.int32)),
        PLACES,
    ),
    "query name": (same, named_like_entity_4, {"query_words"}),
    "support time": (same, with_queries(support_time=lambda time: time + 1), {"support_gap"}),
    "support size": (
        same,
        with_queries(offsets=lambda ends: 2 * ends, support_entity=twice, support_relation=twice, support_time=twice),
        {"support_size", "linked_share"},
    ),
    "encoder, support": (with_encoder(-3, -3), with_encoder(-2, -3), {"encoder_support_only"}),
    "encoder, events": (with_encoder(-3, -3), with_encoder(-3, -2), {"encoder_with_events"}),
}


@pytest.mark.parametrize("source", CHANGES)
def test_change_of_a_source_changes_its_columns_only(source: str) -> None:
    inputs, _ = small_inputs()
    start, change, expected = CHANGES[source]
    assert changed_features(start(inputs), change(inputs)) == expected


def test_graph_features_follow_the_facts() -> None:
    """Facts of a candidate change features that read the graph rather than a statistic or an accumulator."""
    more = [*BACKGROUND, (2, 1, 0, 20), (1, 0, 4, 3)]
    one, two = (raw(small_inputs(facts)[0], 2) for facts in (BACKGROUND, more))
    assert all(two[name] > one[name] for name in FROM_FACTS)


def test_every_feature_is_covered() -> None:
    covered = {feature.name for feature in FEATURES if isinstance(feature.source, Accumulator)} | FROM_FACTS
    assert covered.union(*(expected for _, _, expected in CHANGES.values())) == {feature.name for feature in FEATURES}


def test_concept_fit_is_the_best_probability(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    graph = context.graph.with_facts(task.support.facts)
    inputs, _ = feature_inputs(graph, task.support, statistics, task.queries, Shortlist(20))
    x, r = int(inputs.entity[0]), int(task.queries.relation[0])
    concepts = statistics.concepts.ids[statistics.concepts.offsets[x] : statistics.concepts.offsets[x + 1]]
    best = max(statistics.concept_probability[r, concepts], default=0.0)
    row = [feature.name for feature in FEATURES].index("concept_fit")
    assert transformed(inputs, 0, 1)[row, 0] == pytest.approx(math.log(best + 1e-3))


def test_values_without_source_do_not_exist() -> None:
    found = raw(small_inputs(named=False)[0], 0)
    missing = {name for name, value in found.items() if math.isnan(value)}
    assert missing == {"encoder_support_only", "encoder_with_events", "same_place", "place_affinity", "role_fit"}


def test_new_feature_needs_only_a_row_and_its_source() -> None:
    def sources(inputs: FeatureInputs, low: int, high: int) -> dict[str, Floats]:
        return {"entity_id": inputs.entity[inputs.offsets[low] : inputs.offsets[high]].astype(np.float64)}

    table = (
        *FEATURES,
        Feature("new", "entity_id", sources, identity),
        Feature("new", "seen", Accumulator.EDGES, identity),
    )
    inputs, _ = small_inputs()
    values = transformed(inputs, 0, 1, table)
    assert np.array_equal(values[:-2], transformed(inputs, 0, 1), equal_nan=True)
    assert values[-2].tolist() == inputs.entity.tolist()
    assert values[-1].tolist() == inputs.accumulators[:, Accumulator.EDGES].tolist()


def test_disabled_families_are_not_used(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    graph = context.graph.with_facts(task.support.facts)
    actions = action_features(graph, task.support, statistics, task.queries, 20, Shortlist(50))
    for family in FeaturesConfig.model_fields:
        torch.manual_seed(0)
        policy = PlusPolicy(disabled=(family,))
        features = actions.candidates.features.copy()
        features[:, columns_of(family)] = 3.0
        other = replace(actions, candidates=replace(actions.candidates, features=features))
        with torch.no_grad():
            assert torch.equal(policy(actions).candidates, policy(other).candidates), family
