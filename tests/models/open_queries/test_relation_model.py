"""The distribution over directed relations: values worked by hand, sums, and the rule of forecasts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.history import Histories
from fitcarl.models.open_queries.newton import fit_conditional_logit, log_softmax
from fitcarl.models.open_queries.relation_features import FEATURES, relation_features
from fitcarl.models.open_queries.relation_model import RelationModel, most_probable
from fitcarl.tasks.task import Queries
from tests.models.open_queries.test_event_index import ENTITIES, FACTS, RELATIONS, A

NEW = 5


def _index(facts: Quadruples, entities: int = ENTITIES, relations: RelationIds = RELATIONS) -> EventIndex:
    return EventIndex.from_graph(TemporalGraph.from_facts(facts, entities, relations))


def _ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def _history(*rows: tuple[int, int, int, int], time: int = 4, before: int = 4) -> Histories:
    support = MetaSet(np.full(len(rows), NEW, dtype=np.int32), Quadruples.from_rows(rows))
    return Histories.of(support, _ids(NEW), _ids(time), _ids(before), RELATIONS)


def test_features_are_as_worked_by_hand() -> None:
    """Before tick 4 there are two facts with a and one with b; the new entity did a to entity 1 at tick 3."""
    found = relation_features(_index(FACTS), _history((NEW, A, 1, 3)), half_life=1)[0]
    share = np.array([2.5, 1.5, 2.5, 1.5]) / 8
    own = (np.array([0.5, 0, 0, 0]) + share) / 1.5
    successors = (np.array([0, 1, 0, 0]) + 50 * share) / 51
    counterparts = (np.array([2, 0, 0, 0]) + 50 * share) / 52
    expected = {
        "popularity": share,
        "recent_popularity": np.ones(4),  # no fact in the window of one tick, so nothing differs from popularity
        "own_relations": own / share,
        "successors": successors / share,
        "counterparts": counterparts / share,
        "direction": np.array([0.75, 0.75, 0.25, 0.25]),
    }
    for column, name in enumerate(FEATURES):
        np.testing.assert_allclose(np.exp(found[:, column]), expected[name], err_msg=name)


def test_probabilities_are_a_softmax_of_weighted_features() -> None:
    index, history = _index(FACTS), _history((NEW, A, 1, 3))
    weight = {"popularity": 1.0, "own_relations": 1.0, "direction": 2.0}
    model = RelationModel(tuple(weight.get(name, 0.0) for name in FEATURES), half_life=1)
    share = np.array([2.5, 1.5, 2.5, 1.5]) / 8
    product = (np.array([0.5, 0, 0, 0]) + share) / 1.5 * np.array([0.75, 0.75, 0.25, 0.25]) ** 2
    np.testing.assert_allclose(np.exp(model.log_probabilities(index, history))[0], product / product.sum())
    warm = RelationModel(model.weights, 1, temperature=2.0)
    rooted = np.sqrt(product)
    np.testing.assert_allclose(np.exp(warm.log_probabilities(index, history))[0], rooted / rooted.sum())


def test_entity_without_visible_facts_has_the_popular_relations() -> None:
    index = _index(FACTS)
    model = RelationModel((1.0, 0.0, 1.0, 1.0, 1.0, 1.0), half_life=1)
    hidden = model.log_probabilities(index, _history((NEW, A, 1, 4)))[0]
    np.testing.assert_allclose(np.exp(hidden), np.array([2.5, 1.5, 2.5, 1.5]) / 8)


def test_most_probable_relations_reach_the_mass_with_as_few_as_possible() -> None:
    probability = np.log([0.2, 0.5, 0.05, 0.25])
    assert most_probable(probability, 0.5).tolist() == [1]
    assert most_probable(probability, 0.74).tolist() == [1, 3]
    assert most_probable(probability, 0.96).tolist() == [1, 3, 0, 2]
    assert most_probable(probability, 1.0).tolist() == [1, 3, 0, 2]


def _random_facts(rng: np.random.Generator, count: int, first: int, last: int) -> Quadruples:
    columns = (rng.integers(0, high, count) for high in (8, 3, 8))
    return Quadruples.of(*columns, rng.integers(first, last, count))


@given(seed=st.integers(0, 10_000), before=st.integers(1, 30))
def test_facts_from_the_limit_on_change_nothing(seed: int, before: int) -> None:
    """Poisoned future: background and support facts at or after the limit are replaced by others."""
    rng, relations = np.random.default_rng(seed), RelationIds(3)
    past, support = _random_facts(rng, 60, 0, before), _random_facts(rng, 3, 0, before)
    model = RelationModel(tuple(rng.normal(size=len(FEATURES))), half_life=4)
    found = []
    for _ in range(2):
        background = Quadruples.concat([past, _random_facts(rng, int(rng.integers(0, 90)), before, 31)])
        known = Quadruples.concat([support, _random_facts(rng, 2, before, 31)])
        known = Quadruples(np.full(len(known), 8, dtype=np.int32), known.relation, known.object, known.time)
        limit = _ids(before)
        histories = Histories.of(MetaSet(known.subject, known), _ids(8), limit, limit, relations)
        found.append(model.log_probabilities(_index(background, 9, relations), histories))
    assert np.array_equal(found[0], found[1])
    assert np.exp(found[0]).sum() == pytest.approx(1)
    assert found[0].shape == (1, relations.directed)


def test_queries_about_one_entity_and_tick_share_a_history() -> None:
    support = MetaSet(_ids(NEW, 4), Quadruples.from_rows([(NEW, A, 1, 1), (4, A, 2, 1)]))
    queries = Queries(_ids(NEW, 4, NEW, NEW), _ids(0, 1, 2, 3), _ids(7, 7, 7, 8), _ids(1, 1, 1, 1), _ids(7, 7, 7, 8))
    histories, position = Histories.of_queries(support, queries, RELATIONS)
    assert len(histories) == 3
    assert histories.entity[position].tolist() == [NEW, 4, NEW, NEW]
    assert histories.time[position].tolist() == [7, 7, 7, 8]
    assert position[0] == position[2]


def test_fitted_weights_are_those_that_the_choices_were_drawn_with() -> None:
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(4000, 6, 3)), np.array([1.0, -0.5, 0.0])
    probability = np.exp(log_softmax(features @ weights))
    chosen = (rng.random((4000, 1)) > np.cumsum(probability, axis=1)).sum(axis=1)
    fitted = fit_conditional_logit(features, np.arange(4000), chosen, np.zeros(3))
    np.testing.assert_allclose(fitted, weights, atol=0.08)


def test_weights_without_a_choice_are_the_prior() -> None:
    nothing = np.empty(0, dtype=np.int64)
    prior = np.array([1.0, 0.3])
    assert fit_conditional_logit(np.empty((0, 4, 2)), nothing, nothing, prior).tolist() == prior.tolist()


def test_model_survives_json() -> None:
    model = RelationModel((1.0, 0.1, 0.2, 0.3, 0.4, 0.5), 30.0, 1.2)
    assert RelationModel.from_json(model.to_json()) == model
    for damage in ({"temperature": 0}, {"half_life": math.inf}, {"weights": {"popularity": 1}}):
        with pytest.raises(ValueError, match="no relation model"):
            RelationModel.from_json(model.to_json() | damage)
