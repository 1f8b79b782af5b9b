"""When a relation occurs next: intervals, probabilities worked by hand, and the rule of forecasts."""

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
from fitcarl.models.open_queries.fitting import OpenModels, fit_open_models, interval_of
from fitcarl.models.open_queries.hazard_fit import fit_hazard
from fitcarl.models.open_queries.history import Histories
from fitcarl.models.open_queries.relation_features import FEATURES
from fitcarl.models.open_queries.relation_model import RelationModel
from fitcarl.models.open_queries.time_model import (
    TIME_FEATURES,
    BaseRate,
    TimeInputs,
    TimeModel,
    first_event,
    intervals,
)
from fitcarl.models.open_queries.time_questions import NEVER, TimeQuestions, time_questions
from fitcarl.tasks.task import official_task
from tests.models.open_queries.test_relation_model import _ids, _random_facts

RELATIONS = RelationIds(3)


@pytest.mark.parametrize(
    ("horizon", "bounds"),
    [
        (1, [0, 1]),
        (2, [0, 1, 2]),
        (7, [0, 1, 3, 7]),
        (16, [0, 1, 3, 7, 16]),  # one tick more is no interval of its own
        (30, [0, 1, 3, 7, 15, 30]),
    ],
)
def test_intervals_double_up_to_the_horizon(horizon: int, bounds: list[int]) -> None:
    assert intervals(horizon).tolist() == bounds


def test_first_event_follows_from_the_expected_events() -> None:
    found = first_event(np.log([[math.log(2), math.log(2)]]))
    np.testing.assert_allclose(found, [[0.5, 0.25, 0.25]])


def _question(background: Quadruples, support: Quadruples, before: int, model: RelationModel) -> TimeInputs:
    index = EventIndex.from_graph(TemporalGraph.from_facts(background, 9, RELATIONS))
    limit = _ids(before)
    histories = Histories.of(MetaSet(support.subject, support), _ids(8), limit, limit, RELATIONS)
    every = np.arange(RELATIONS.directed)
    return TimeInputs.of(index, histories, np.zeros(len(every), np.int64), every.astype(np.int32), model)


def test_base_rate_is_the_share_of_the_relation_times_a_constant() -> None:
    background = Quadruples.from_rows([(0, 0, 1, 0), (0, 0, 2, 1), (1, 1, 2, 2)])
    support = Quadruples.from_rows([(8, 2, 1, 3)])
    inputs = _question(background, support, 5, RelationModel((1.0,) * len(FEATURES), half_life=10))
    found = BaseRate(2.0).probabilities(inputs, np.array([0, 5, 20]))
    share = 2.5 / 9  # counts 2, 1, 0 of three relations in two directions, each plus one half
    first, second = 2 * share * 0.5, 2 * share * 1.5
    expected = [1 - math.exp(-first), math.exp(-first) - math.exp(-first - second), math.exp(-first - second)]
    np.testing.assert_allclose(found[0], expected)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_time_features_are_as_worked_by_hand() -> None:
    support = Quadruples.from_rows([(8, 2, 1, 1), (8, 0, 1, 3)])
    relation_model = RelationModel((1.0,) + (0.0,) * (len(FEATURES) - 1), half_life=30)
    inputs = _question(Quadruples.empty(), support, 5, relation_model)
    intercept, relation, activity, gap, repeat = inputs.features[0]
    assert intercept == 1
    assert relation == pytest.approx(math.log(1 / 6))  # without facts all directed relations are equally popular
    assert activity == pytest.approx(math.log(2 / (4 / 30 + 0.25)))  # two facts in the four days since the first
    assert gap == pytest.approx(math.log(1 + 1))  # one day without a fact
    assert repeat == pytest.approx(0.5 ** (2 / 7))  # the same relation two days ago
    assert inputs.features[1, 4] == 0
    bounds = np.array([0, 2])
    weights = dict.fromkeys(TIME_FEATURES, 0.0) | {"intercept": 0.5, "delay": -1.0, "delay_repeat": 2.0}
    delay = (math.log(1) + math.log(2)) / 2
    expected = math.log(3) + math.log(2 / 30) + 0.5 - delay + 2 * delay * repeat
    found = TimeModel(tuple(weights.values()), scale=3.0).log_expected(inputs, bounds)
    assert found[0, 0] == pytest.approx(expected)


@given(seed=st.integers(0, 10_000), before=st.integers(1, 30))
def test_facts_from_the_limit_on_change_no_time(seed: int, before: int) -> None:
    """Poisoned future: background and support facts at or after the limit are replaced by others."""
    rng = np.random.default_rng(seed)
    past, known = _random_facts(rng, 60, 0, before), _random_facts(rng, 3, 0, before)
    relation_model = RelationModel(tuple(rng.normal(size=len(FEATURES))), half_life=4)
    model = TimeModel(tuple(rng.normal(size=len(TIME_FEATURES))))
    found = []
    for _ in range(2):
        background = Quadruples.concat([past, _random_facts(rng, int(rng.integers(0, 90)), before, 31)])
        support = Quadruples.concat([known, _random_facts(rng, 2, before, 31)])
        support = Quadruples(np.full(len(support), 8, dtype=np.int32), support.relation, support.object, support.time)
        inputs = _question(background, support, before, relation_model)
        found.append(
            np.stack([model.probabilities(inputs, intervals(9)), BaseRate(2).probabilities(inputs, intervals(9))])
        )
    assert np.array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0].sum(axis=2), 1)
    assert (found[0] >= 0).all()


@given(seed=st.integers(0, 10_000))
def test_questions_have_the_first_later_event_as_their_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    background = _random_facts(rng, 50, 0, 40)
    own = _random_facts(rng, 12, 0, 40)
    facts = Quadruples(np.full(12, 8, dtype=np.int32), own.relation, own.object, own.time)
    task = official_task(MetaSet(facts.subject, facts), 2, RELATIONS, "forecast")
    index = EventIndex.from_graph(TemporalGraph.from_facts(background, 9, RELATIONS))
    found = time_questions(task, index, RELATIONS, last=30, wait=4)
    last, queries = task.support.facts.time.max(initial=-1), task.queries
    for number in range(len(found)):
        time, relation = int(found.histories.time[found.history[number]]), int(found.relation[number])
        assert last < time <= queries.time.min(), "everything before the question is known"
        assert time <= 30
        later = [
            int(t) - time for t, r in zip(queries.time, queries.relation, strict=True) if r == relation and t >= time
        ]
        assert int(found.delay[number]) == min(later, default=NEVER)


def test_answers_fall_into_half_open_intervals() -> None:
    delay = _ids(0, 1, 2, 3, 6, 7, NEVER)
    nothing = np.zeros(len(delay), dtype=np.int64)
    questions = TimeQuestions(None, nothing, nothing.astype(np.int32), delay)  # type: ignore[arg-type]
    assert interval_of(questions, np.array([0, 1, 3, 7])).tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_fitted_constant_hazard_is_the_share_of_events() -> None:
    happened = np.arange(10_000) < 3_000
    [weight] = fit_hazard(np.ones((10_000, 1)), np.zeros(10_000), happened)
    assert 1 - math.exp(-math.exp(weight)) == pytest.approx(0.3, abs=1e-3)


def test_fitted_hazard_weights_are_those_that_the_events_were_drawn_with() -> None:
    rng = np.random.default_rng(0)
    features = np.stack([np.ones(20_000), rng.normal(size=20_000)], axis=1)
    offset, weights = rng.normal(size=20_000), np.array([-2.0, 0.7])
    happened = rng.random(20_000) < 1 - np.exp(-np.exp(offset + features @ weights))
    np.testing.assert_allclose(fit_hazard(features, offset, happened), weights, atol=0.05)


def test_models_are_fitted_to_any_background() -> None:
    facts = Quadruples.from_rows([(0, 0, 1, 0), (1, 1, 2, 1)])
    graph = TemporalGraph.from_facts(facts, 4, RELATIONS)
    few = fit_open_models(graph, 3, 30.0)
    assert few.time is None
    assert few.relation.weights[0] == 1
    assert OpenModels.from_json(few.to_json()) == few


def test_models_are_the_same_for_the_same_seed() -> None:
    rng = np.random.default_rng(3)
    facts = Quadruples.of(*(rng.integers(0, high, 900) for high in (60, 3, 60, 200)))
    graph = TemporalGraph.from_facts(facts, 60, RELATIONS)
    fitted = fit_open_models(graph, 2, 10.0, seed=4)
    assert fitted == fit_open_models(graph, 2, 10.0, seed=4)
    assert fitted.time is not None
    assert OpenModels.from_json(fitted.to_json()) == fitted
    with pytest.raises(ValueError, match="no time model"):
        OpenModels.from_json(fitted.to_json() | {"time": {"weights": {}, "scale": 1}})
