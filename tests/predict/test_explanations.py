"""Explanations: every number is a recomputed answer, contributions add up, and the same call gives the same result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fitcarl.errors import InputError
from fitcarl.predict import Explanation, Fact, Predictor, Query
from fitcarl.predict.explainer import MAX_POOL, propose_facts
from fitcarl.runs.nearest_facts import MAX_SUPPORT
from fitcarl.runs.run import Run
from fitcarl.training.api import train
from tests.predict.conftest import SHOTS, UnseenEntity
from tests.small import small


@pytest.fixture(scope="module")
def forecaster(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """A small run of plus for forecasts."""
    out = tmp_path_factory.mktemp("runs") / "forecast"
    run: Run = train(world, out=out, shots=SHOTS, setting="forecast", episodes=2, settings=small("plus"))
    return Predictor(run)


def explained(predictor: Predictor, unseen: UnseenEntity, rank: int = 1) -> Explanation:
    answer = predictor.answer([unseen.query], unseen.facts)[0][rank - 1]
    return predictor.explain(unseen.query, answer.entity, unseen.facts)


def recomputed(predictor: Predictor, unseen: UnseenEntity, entity: str, without: tuple[Fact, ...]) -> tuple[float, int]:
    """Share and rank of an entity, by asking again without facts."""
    query = replace(unseen.query, without=without, top=10**6, paths=0)
    for answer in predictor.answer([query], unseen.facts)[0]:
        if answer.entity == entity:
            return answer.share, answer.rank
    return 0.0, 0


def check_numbers(predictor: Predictor, unseen: UnseenEntity, found: Explanation) -> int:
    """The number of paths at several times that were checked."""
    merged = 0
    for fact in found.facts[:4]:
        if fact.rank_without is None:
            continue
        share, rank = recomputed(predictor, unseen, found.entity, (fact.fact,))
        assert fact.share_without == pytest.approx(share, abs=1e-5)
        assert fact.rank_without == rank
    for path in found.paths:
        if path.rank_without is not None:
            merged += bool(path.also)
            times = [[step.time for step in path.steps], *path.also]
            facts = {
                Fact(step.subject, step.relation, step.object, time)
                for at in times
                for step, time in zip(path.steps, at, strict=True)
            }
            share, _ = recomputed(predictor, unseen, found.entity, tuple(facts))
            assert path.share_without == pytest.approx(share, abs=1e-5)
    if found.without_necessary is not None and found.without_necessary.rank is not None:
        share, rank = recomputed(predictor, unseen, found.entity, found.necessary)
        assert found.without_necessary.share == pytest.approx(share, abs=1e-5)
        assert found.without_necessary.rank == rank > (found.rank or 0)
    return merged


def test_numbers_are_recomputed_answers(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    for unseen in unseen_entities[:3]:
        check_numbers(predictor, unseen, explained(predictor, unseen))


def test_numbers_of_forecasts_are_recomputed_answers(
    forecaster: Predictor, unseen_entities: list[UnseenEntity]
) -> None:
    merged = 0
    for unseen in unseen_entities[:5]:
        for rank in (1, 4):
            merged += check_numbers(forecaster, unseen, explained(forecaster, unseen, rank))
    assert merged


def test_contributions_add_up_to_the_score(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    for unseen in unseen_entities[:3]:
        found = explained(predictor, unseen, 2)
        assert found.score is not None
        assert sum(one.contribution for one in found.evidence) == pytest.approx(found.score, abs=1e-6)
        assert found.evidence[-1].source == "base"
        assert all(one.label for one in found.evidence)


def test_same_call_gives_the_same_explanation(predictor: Predictor, unseen: UnseenEntity) -> None:
    first = explained(predictor, unseen)
    assert first == explained(Predictor(predictor.run), unseen)
    reordered = replace(unseen, facts=unseen.facts[::-1])
    assert first.to_json() == explained(predictor, reordered).to_json()


def test_no_fact_of_a_forecast_is_later_than_the_query(
    predictor: Predictor, unseen_entities: list[UnseenEntity]
) -> None:
    tick = predictor.calendar.tick
    for unseen in unseen_entities[:3]:
        found = explained(predictor, unseen)
        facts = [*found.facts, *found.necessary, *found.sufficient, *(f for one in found.evidence for f in one.facts)]
        assert facts
        assert all(tick(fact.time) < tick(unseen.query.at) for fact in facts)


def test_sufficient_facts_contain_one_of_the_entity(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    checked = 0
    for unseen in unseen_entities[:4]:
        found = explained(predictor, unseen)
        if found.sufficient:
            checked += 1
            assert any(unseen.query.entity in (fact.subject, fact.object) for fact in found.sufficient)
            assert found.with_sufficient is not None
            assert found.with_sufficient.rank is not None
            assert found.with_sufficient.rank <= (found.rank or 0)
    assert checked


def test_only_fact_of_an_entity_leaves_no_answer(predictor: Predictor, unseen: UnseenEntity) -> None:
    single = replace(unseen, facts=unseen.facts[:1])
    found = explained(predictor, single)
    [own] = [fact for fact in found.facts if fact.fact == unseen.facts[0]]
    assert (own.share_without, own.rank_without) == (0.0, None)
    assert found.facts[0] == own
    assert unseen.facts[0] not in found.necessary
    assert unseen.facts[0] in found.sufficient


def test_base_rate_is_a_count_of_earlier_facts(predictor: Predictor, unseen: UnseenEntity) -> None:
    found = explained(predictor, unseen)
    names, label = predictor.run.vocabulary, predictor.calendar.tick
    before = label(unseen.query.at)
    ends = [
        (names.entities[s], names.entities[o])
        for s, r, o, t in predictor.run.context.graph.background_facts()
        if names.relations[r] == unseen.query.relation and t < before
    ]
    position = 1 if unseen.query.direction == "out" else 0
    assert found.base_rate == pytest.approx(sum(pair[position] == found.entity for pair in ends) / len(ends))


def test_base_rate_leaves_out_facts_of_the_query_entity(predictor: Predictor) -> None:
    """Of a known entity, at both ends of its facts."""
    names, graph = predictor.run.vocabulary, predictor.run.context.graph
    facts = [(names.entities[s], names.relations[r], names.entities[o], t) for s, r, o, t in graph.background_facts()]
    busy = names.entities[int(np.argmax(np.diff(graph.base.offsets)))]
    relation = max(names.relations, key=lambda name: sum(r == name and o == busy for _, r, o, _ in facts))
    at = predictor.calendar.label(predictor.calendar.span - 1)
    query = Query(busy, None, relation, at)
    entity = predictor.answer([query], [])[0][0].entity
    before = predictor.calendar.tick(at)
    others = [o for s, r, o, t in facts if r == relation and t < before and busy not in (s, o)]
    assert len(others) < sum(r == relation and t < before and s != busy for s, r, _, t in facts)
    found = predictor.explain(query, entity, [])
    assert found.base_rate == pytest.approx(others.count(entity) / len(others))


def test_number_of_paths_is_checked(predictor: Predictor, unseen: UnseenEntity) -> None:
    entity = predictor.answer([unseen.query], unseen.facts)[0][0].entity
    with pytest.raises(InputError, match="field paths"):
        predictor.explain(unseen.query, entity, unseen.facts, paths=-1)


def test_measuring_effects_keeps_no_graphs(predictor: Predictor, unseen: UnseenEntity) -> None:
    before = len(predictor._views._reduced._values)
    explained(predictor, unseen)
    assert len(predictor._views._reduced._values) == before


def test_frame_and_html(predictor: Predictor, unseen: UnseenEntity) -> None:
    found = explained(predictor, unseen)
    frame = found.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == len(found.facts)
    assert frame["effect"].to_list() == [fact.effect for fact in found.facts]
    page = found._repr_html_()
    assert page.count("<tr>") == len(found.facts) + len(found.evidence) - 1 + 2
    assert "<script" not in page


def test_observed_facts_are_the_default(predictor: Predictor, unseen: UnseenEntity) -> None:
    predictor.observe(unseen.facts)
    entity = predictor.answer([unseen.query], unseen.facts)[0][0].entity
    assert predictor.explain(unseen.query, entity) == predictor.explain(unseen.query, entity, unseen.facts)


def test_kind_does_not_depend_on_the_number_of_paths(predictor: Predictor, unseen: UnseenEntity) -> None:
    entity = predictor.answer([unseen.query], unseen.facts)[0][0].entity
    kinds = {predictor.explain(unseen.query, entity, unseen.facts, paths).kind for paths in (0, 1, 3)}
    assert len(kinds) == 1


def test_later_facts_are_marked_with_hindsight(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    tick, marked = predictor.calendar.tick, 0
    for unseen in unseen_entities[:4]:
        early = replace(unseen, query=replace(unseen.query, at=unseen.facts[1].time, hindsight=True))
        found = explained(predictor, early)
        for fact in found.facts:
            later = tick(fact.time) > tick(early.query.at)
            assert (fact.fact in found.later) == later
            assert ("[after the question]" in found.marked(fact.fact)) == later
            marked += later
    assert marked


def test_query_entity_is_no_answer(predictor: Predictor, unseen: UnseenEntity) -> None:
    with pytest.raises(InputError, match="field entity: the query entity cannot be its own answer"):
        predictor.explain(unseen.query, unseen.query.entity, unseen.facts)


def test_facts_of_a_busy_entity_leave_room_for_others(forecaster: Predictor) -> None:
    """Of an entity with many facts the nearest ones are considered, and facts of others as well."""
    graph = forecaster.run.context.graph
    busy = forecaster.entities[int(np.argmax(np.diff(graph.base.offsets)))]
    last = forecaster.calendar.label(forecaster.calendar.span - 1)
    query = Query(busy, None, forecaster.relations[0], last)
    planner = forecaster.planner(())
    entity = planner.entities.find(forecaster.answer([query], [])[0][0].entity)
    assert entity is not None
    _, context = planner.context(query, entity)
    pool, own = propose_facts(context), set(context.support)
    assert len(own) == MAX_SUPPORT
    ours = [fact for fact in pool if fact in own]
    assert MAX_POOL // 2 <= len(ours) < MAX_SUPPORT  # facts of others come before the last ones of the entity
    assert min(fact[3] for fact in ours[:10]) >= sorted(fact[3] for fact in own)[-10]


def test_summary_names_a_high_base_rate() -> None:
    base = Explanation(Query("Ann", None, "meets", "5"), "Bob", 1, -0.5, 0.6, (), "meets", "out", 0.34, "base rate")
    assert "34% of the “meets” facts" in base.summary
    assert "any entity" in base.summary
    assert "any entity" not in replace(base, base_rate=0.1).summary
