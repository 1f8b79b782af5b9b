from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from fitcarl.config.schema import FeaturesConfig
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.action_features import action_features
from fitcarl.models.plus.candidates import Candidates, Shortlist, candidates
from fitcarl.models.plus.features.collect import _best_first
from fitcarl.models.plus.features.normalise import EVIDENCE, FAMILIES
from fitcarl.models.plus.kernels import gap_bucket, rule_slot
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.policy import PlusPolicy
from fitcarl.models.plus.spectral import company
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.tasks.task import Task
from tests.models.plus.features import columns_of


def of(context: GraphContext, statistics: GraphStatistics, task: Task, shortlist: Shortlist) -> Candidates:
    graph = context.graph.with_facts(task.support.facts)
    return candidates(graph, task.support, statistics, task.queries, shortlist)


def test_copied_and_neighbouring_evidence_is_what_a_slow_loop_adds_up(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    found = of(context, statistics, task, Shortlist(2000))
    queries, relations = task.queries, context.graph.relations
    observed = [tuple(row) for row in context.facts.rows().tolist() + task.support.facts.rows().tolist()]
    edges = observed + [(o, relations.inverse(r), s, t) for s, r, o, t in observed]
    turned = task.support.facts.seen_from(task.support.entity_of_fact, relations)
    copy, near = columns_of("copy_support"), columns_of("neighbours")
    for q in range(0, len(queries), 9):
        e, r, now = int(queries.entity[q]), int(queries.relation[q]), int(queries.time[q])
        support = [row for row in turned.rows().tolist() if row[0] == e]
        follows: dict[int, float] = {}
        rules: dict[int, float] = {}
        steps: dict[int, int] = {}
        for _, first, middle, when in support:
            follows[middle] = follows.get(middle, 0) + math.exp(statistics.follows[gap_bucket(now - when), first, r])
            for s, second, x, _ in edges:
                if s == middle and x not in (e, middle):
                    slot = rule_slot(first, second, r, relations.directed, len(statistics.rule))
                    rules[x] = rules.get(x, 0) + math.exp(statistics.rule[slot])
                    steps[x] = steps.get(x, 0) + 1
        rows = slice(found.offsets[q], found.offsets[q + 1])
        listed = found.entity[rows].tolist()
        assert set(follows) | set(rules) <= {*listed, e}
        for entity, features in zip(listed, found.features[rows], strict=True):
            expected = math.log(follows.get(entity, 0) + 1e-5) / 3 + 3.8
            assert features[copy][0] == pytest.approx(expected, abs=1e-4)
            expected = (math.log(rules.get(entity, 0) + 1e-5) + 7.6) / 4.8
            assert features[near][1] == pytest.approx(expected, abs=1e-3)
            assert features[near][5] == pytest.approx(math.log1p(steps.get(entity, 0)) - 0.6, abs=1e-4)


def test_a_support_fact_links_once_however_often_its_actor_is_seen_with_somebody(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    link = columns_of("neighbours").start + 4
    facts, relations = context.facts, context.graph.relations.count
    again = replace(facts, relation=(facts.relation + 1) % relations)  # the same two, the same day, another deed
    graph = context.graph.with_facts(Quadruples.concat([task.support.facts, again]))
    assert len(graph.overlay) > len(graph.base) / 2
    once = of(context, statistics, task, Shortlist(2000))
    twice = candidates(graph, task.support, statistics, task.queries, Shortlist(2000))
    assert np.array_equal(once.offsets, twice.offsets)
    query = np.repeat(np.arange(len(task.queries)), np.diff(once.offsets))
    links = [found.features[np.lexsort((found.entity, query)), link] for found in (once, twice)]
    assert len(np.unique(links[0])) > 2
    assert np.array_equal(*links)


def test_a_query_about_somebody_who_is_not_in_the_support_is_refused(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    stranger = int(np.setdiff1d(context.facts.subject, task.support.entities)[0])
    queries = replace(task.queries, entity=np.full_like(task.queries.entity, stranger))
    with pytest.raises(ValueError, match="not in the support"):
        of(context, statistics, replace(task, queries=queries), Shortlist(10))


def test_nobody_is_listed_twice_or_answers_with_itself(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    found = of(context, statistics, task, Shortlist(2000))
    owner = np.repeat(np.arange(len(task.queries)), np.diff(found.offsets))
    assert len(np.unique(owner * context.graph.entities + found.entity)) == len(found.entity)
    assert not (found.entity == task.queries.entity[owner]).any()
    assert np.isfinite(found.features).all()
    assert found.features.shape == (len(found.entity), EVIDENCE)


def test_a_sample_keeps_the_answer_and_stands_for_all(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    whole = of(context, statistics, task, Shortlist(2000))
    sample = of(context, statistics, task, Shortlist(10, 5, seed=3))
    assert np.array_equal(sample.entity, of(context, statistics, task, Shortlist(10, 5, seed=3)).entity)
    kept = 0
    for q, answer in enumerate(task.queries.answer.tolist()):
        everybody = whole.entity[whole.offsets[q] : whole.offsets[q + 1]].tolist()
        rows = slice(sample.offsets[q], sample.offsets[q + 1])
        some = sample.entity[rows].tolist()
        assert set(some) <= set(everybody)
        assert (answer in some) == (answer in everybody)
        stands_for = np.exp(sample.weight[rows]).sum()
        if len(everybody) > 15:
            kept += 1
            tail = len(everybody) - 10
            away = answer in some[10:]  # the answer stands for itself alone
            assert stands_for == pytest.approx(10 + tail - away * (tail / 5 - 1), rel=1e-3)
    assert kept > 10


def test_statistics_come_back_from_storage(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    again = GraphStatistics.from_arrays(statistics.arrays(), context.concepts, statistics.names)
    assert again.matches(context.graph)
    one, two = (of(context, which, task, Shortlist(100)) for which in (statistics, again))
    assert np.array_equal(one.entity, two.entity)
    assert np.array_equal(one.features, two.features)


def test_more_room_changes_nothing(context: GraphContext, statistics: GraphStatistics, task: Task) -> None:
    one = of(context, statistics, task, Shortlist(100))
    two = of(context.with_capacity(7), statistics.with_capacity(7), task, Shortlist(100))
    assert np.array_equal(one.entity, two.entity)
    assert np.array_equal(one.features, two.features)


def test_entities_with_the_same_company_point_the_same_way(context: GraphContext) -> None:
    rows = company(context.graph)
    length = np.linalg.norm(rows, axis=1)
    lonely = context.graph.degree(np.arange(context.graph.entities, dtype=np.int32)) == 0
    assert np.allclose(length[~lonely], 1, atol=1e-3)
    assert not rows[lonely].any()


def test_names_are_looked_at_only_where_they_are_switched_on(
    dataset: Dataset, context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    names = columns_of("names")
    assert not of(context, statistics, task, Shortlist(100)).features[:, names].any()
    read = Names.from_texts(dataset.vocabulary.entities, context.graph)
    with_names = compute_statistics(context.facts, context.graph, context.concepts, names=read)
    assert of(context, with_names, task, Shortlist(100)).features[:, names].any()


def small_names() -> tuple[Names, TemporalGraph]:
    texts = ["Police (Nigeria)", "Citizen (Nigeria)", "Police (Chad)", "Police (Peru)", "Ann", "Nigeria"]
    facts = Quadruples.from_rows([(4, 0, 0, 1), (4, 0, 1, 2), (4, 0, 3, 3), (2, 1, 3, 4)])
    graph = TemporalGraph.from_facts(facts, len(texts), RelationIds(2))
    return Names.from_texts(texts, graph), graph


def test_the_rarer_a_word_the_more_it_says() -> None:
    names, _ = small_names()
    weight = {word: names.weight[number] for word, number in names.number.items()}
    assert weight["chad"] > weight["nigeria"] > 0
    assert weight["chad"] > weight["police"]


def test_home_is_the_place_in_a_name_or_that_of_most_contacts() -> None:
    names, _ = small_names()
    nigeria, chad, peru = (names.places[place] for place in ("nigeria", "chad", "peru"))
    assert names.home.tolist() == [nigeria, nigeria, chad, peru, nigeria, nigeria]
    police, citizen = names.roles["police"], names.roles["citizen"]
    assert names.role.tolist() == [police, citizen, police, police, -1, -1]
    assert names.affinity[nigeria, nigeria] > names.affinity[nigeria, peru] > names.affinity[nigeria, chad]


def test_newcomers_can_be_named() -> None:
    names, _ = small_names()
    wide = names.with_capacity(2).with_names({7: "Army (Chad)"})
    row = wide.words[wide.offsets[7] : wide.offsets[8]].tolist()
    assert row == [names.number["chad"]]
    assert (wide.home[6], wide.home[7], wide.role[7]) == (-1, names.places["chad"], -1)
    assert wide.words[: names.offsets[-1]].tolist() == names.words.tolist()


def test_who_is_hidden_has_no_home_by_its_contacts() -> None:
    names, graph = small_names()
    nobody = TemporalGraph.from_facts(Quadruples.from_rows([(2, 1, 3, 4)]), graph.entities, graph.relations)
    assert names.refit(nobody).home[4] == -1


def test_every_family_has_a_switch_and_what_is_off_is_not_looked_at(
    context: GraphContext, statistics: GraphStatistics, task: Task
) -> None:
    assert set(FeaturesConfig.model_fields) == FAMILIES.keys() - {"query"}
    graph = context.graph.with_facts(task.support.facts)
    options = action_features(graph, task.support, statistics, task.queries, 20, Shortlist(50))
    for family in FeaturesConfig.model_fields:
        torch.manual_seed(0)
        policy = PlusPolicy(without=(family,))
        features = options.crowd.features.copy()
        features[:, columns_of(family)] = 3.0
        other = replace(options, crowd=replace(options.crowd, features=features))
        with torch.no_grad():
            assert torch.equal(policy(options).crowd, policy(other).crowd), family


def test_who_is_looked_at_closely_are_the_best() -> None:
    prior = np.random.default_rng(0).permutation(5000).astype(np.float64)
    prior[7] = -1
    for most in (1, 120, 4998, 6000):
        order = _best_first(prior, most)
        assert order[:most].tolist() == np.argsort(-prior)[: min(most, 4999)].tolist()
        assert sorted(order.tolist()) == [i for i in range(5000) if i != 7]


def test_of_those_who_are_as_good_the_first_are_looked_at_closely() -> None:
    assert _best_first(np.array([0.1, 5, 1, 1, 1]), 3).tolist() == [1, 2, 3, 0, 4]
