"""Queries that leave the relation or the time open: joint probabilities, forecasts only, and clear errors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitcarl.errors import InputError
from fitcarl.predict import Fact, Predictor, Query
from fitcarl.predict.schemas import PredictionSchema
from tests.predict.conftest import UnseenEntity

ALL = 10_000


def _open(unseen: UnseenEntity, top: int = 20, **changes: object) -> Query:
    """The query about an unseen entity without its relation."""
    query = Query(unseen.query.entity, None, None, unseen.query.at, top, 0)
    return replace(query, **changes)  # type: ignore[arg-type]


def _later(predictor: Predictor, unseen: UnseenEntity) -> list[Fact]:
    """Facts about the entity at the time of the query and after it."""
    tick = predictor.calendar.tick(unseen.query.at)
    others, relations = predictor.entities[:6], predictor.relations[:6]
    times = [predictor.calendar.label(tick + number) for number in range(6)]
    return [Fact(unseen.query.entity, *parts) for parts in zip(relations, others, times, strict=True)]


def test_shares_are_those_of_relation_times_those_of_entity(predictor: Predictor, unseen: UnseenEntity) -> None:
    [found] = predictor.answer([_open(unseen, top=ALL)], unseen.facts)
    assert sum(answer.share for answer in found) <= 1 - found.left_out + 1e-9
    assert 0 <= found.left_out < 0.05
    assert sum(one.share for one in found.relations) == pytest.approx(1 - found.left_out)
    assert len({(one.relation, one.direction) for one in found.relations}) == len(found.relations)
    for one in found.relations[:3]:
        roles = (unseen.query.entity, None) if one.direction == "out" else (None, unseen.query.entity)
        [closed] = predictor.answer([Query(*roles, one.relation, unseen.query.at, 5, 0)], unseen.facts)
        same = [a for a in found if (a.relation, a.direction) == (one.relation, one.direction)]
        assert [answer.entity for answer in same[:5]] == [answer.entity for answer in closed]
        assert [answer.share for answer in same[:5]] == pytest.approx([one.share * answer.share for answer in closed])
        assert {(answer.relation, answer.direction) for answer in closed} == {(one.relation, one.direction)}


def test_answers_are_ranked_by_share_and_exclude_the_entity(predictor: Predictor, unseen: UnseenEntity) -> None:
    [found] = predictor.answer([_open(unseen, top=7)], unseen.facts)
    assert [answer.rank for answer in found] == list(range(1, 8))
    shares = [answer.share for answer in found]
    assert shares == sorted(shares, reverse=True)
    assert unseen.query.entity not in {answer.entity for answer in found}
    assert len(found.relations) <= 7
    assert PredictionSchema.model_validate(found.to_json()).to_json() == found.to_json()
    [explained] = predictor.answer([_open(unseen, top=7, paths=2)], unseen.facts)
    assert [answer.share for answer in explained] == shares
    assert all(path.nodes[-1] == answer.entity for answer in explained for path in answer.paths)


def test_open_and_given_relations_can_be_mixed_in_one_call(predictor: Predictor, unseen: UnseenEntity) -> None:
    queries = [unseen.query, _open(unseen), unseen.query]
    together = [prediction.to_json() for prediction in predictor.answer(queries, unseen.facts)]
    alone = [predictor.answer([query], unseen.facts)[0].to_json() for query in queries]
    assert [one["query"] for one in together] == [one["query"] for one in alone]
    assert [answer["entity"] for answer in together[1]["answers"]] == [a["entity"] for a in alone[1]["answers"]]


def test_later_facts_change_nothing(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    for unseen in unseen_entities[:2]:
        timed = replace(_open(unseen), relation=predictor.relations[0], horizon="30d")
        poisoned = [*unseen.facts, *_later(predictor, unseen)]
        for query in (_open(unseen), timed):
            [found], [other] = (predictor.answer([query], facts) for facts in (unseen.facts, poisoned))
            assert found.to_json() == other.to_json()


def test_later_background_changes_no_relation_and_no_time(predictor: Predictor, unseen: UnseenEntity) -> None:
    """A run whose background ends before the query predicts the same relations at the same times."""
    tick, run = predictor.calendar.tick(unseen.query.at), predictor.run
    past = run.context.graph.before(tick)
    earlier = Predictor(replace(run, model=run.model.with_graph(past), context=replace(run.context, graph=past)))
    timed = replace(_open(unseen), relation=predictor.relations[0], horizon="30d")
    [found, when] = predictor.answer([_open(unseen), timed], unseen.facts)
    [other, other_when] = earlier.answer([_open(unseen), timed], unseen.facts)
    assert found.relations == other.relations
    assert when.when is not None
    assert when.when == other_when.when


def test_horizon_is_divided_into_intervals(predictor: Predictor, unseen: UnseenEntity) -> None:
    predictor.observe(unseen.facts)
    found = predictor.ask(unseen.query.entity, predictor.relations[0], unseen.query.at, horizon="30d")
    assert found.when is not None
    parts, label = found.when.intervals, predictor.calendar.label
    start = predictor.calendar.tick(unseen.query.at)
    assert [(part.start, part.end) for part in parts] == [
        (label(start + low), label(start + high - 1)) for low, high in ((0, 1), (1, 3), (3, 7), (7, 15), (15, 30))
    ]
    assert sum(part.share for part in parts) + found.when.none == pytest.approx(1)
    assert len(found) > 0, "the entities at the start of the horizon are predicted as well"
    longer = predictor.ask(unseen.query.entity, predictor.relations[0], unseen.query.at, horizon="60d").when
    assert longer is not None
    assert longer.none < found.when.none


def test_horizon_starts_after_the_last_known_fact_by_default(predictor: Predictor, unseen: UnseenEntity) -> None:
    predictor.observe(unseen.facts)
    found = predictor.ask(unseen.query.entity, predictor.relations[0], horizon="7d")
    last = predictor.run.context.graph.time_range[1]
    assert found.query.at == predictor.calendar.label(last + 1)
    later = predictor.calendar.label(last + 9)
    predictor.observe([Fact(unseen.query.entity, predictor.relations[0], predictor.entities[0], later)])
    after = predictor.ask(unseen.query.entity, predictor.relations[0], horizon="7d")
    assert after.query.at == predictor.calendar.label(last + 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"object": "Ann", "subject": None}, "field object: object without a relation"),
        ({"hindsight": True}, "field hindsight: a query with open relation or time is a forecast"),
        ({"horizon": "30d"}, "field horizon: horizon without a relation"),
        ({"relation": "meets", "horizon": "30d", "as_of": "2024-01-01"}, "field as_of: as_of with a horizon"),
        ({"relation": "meets", "horizon": "30d", "hindsight": True}, "field hindsight"),
    ],
)
def test_impossible_combinations_are_errors(arguments: dict[str, object], message: str) -> None:
    given = {"subject": "Ann", "object": None, "relation": None, "at": "2024-02-01"} | arguments
    with pytest.raises(InputError, match=message):
        Query(**given)  # type: ignore[arg-type]


def test_errors_name_the_field(predictor: Predictor, unseen: UnseenEntity) -> None:
    predictor.observe(unseen.facts)
    entity, relation, at = unseen.query.entity, predictor.relations[0], unseen.query.at
    with pytest.raises(InputError, match="field horizon: not a duration"):
        predictor.ask(entity, relation, at, horizon="soon")
    with pytest.raises(InputError, match="field horizon: too long"):
        predictor.ask(entity, relation, at, horizon="900y")
    with pytest.raises(InputError, match="field subject: no facts are known"):
        predictor.ask("Nowhere", at=at)
    with pytest.raises(InputError, match="field relation: missing"):
        predictor.explain(_open(unseen), predictor.entities[0], unseen.facts)
