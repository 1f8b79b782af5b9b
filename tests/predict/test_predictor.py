"""Predictions for new and known entities, with observed, excluded and dated facts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from fitcarl.data.dataset import MetaSet
from fitcarl.errors import InputError
from fitcarl.models.plus.encoder.scorer import EncoderScorer
from fitcarl.models.plus.event_index import event_index
from fitcarl.predict import Fact, Prediction, Predictor, Query
from fitcarl.runs.nearest_facts import MAX_SUPPORT
from fitcarl.runs.run import Run
from fitcarl.tasks.task import Task
from tests.predict.conftest import UnseenEntity


def same(one: Prediction, other: Prediction) -> bool:
    """Equal apart from the query and the last digits: sums are computed in another order."""
    entities = [answer.entity for answer in one] == [answer.entity for answer in other]
    paths = [[p.steps and p.text for p in a.paths] for a in one] == [
        [p.steps and p.text for p in a.paths] for a in other
    ]
    return entities and paths and np.allclose([a.score for a in one], [a.score for a in other], atol=1e-5)


def steps(prediction: Prediction) -> set[Fact]:
    """All facts on any path."""
    return {
        Fact(step.subject, step.relation, step.object, step.time)
        for answer in prediction
        for path in answer.paths
        for step in path.steps
    }


def test_scores_equal_those_of_the_run(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    for unseen in unseen_entities[:3]:
        [found] = predictor.answer([unseen.query], unseen.facts)
        own = unseen.task.support.entity_of_fact == unseen.task.queries.entity[unseen.number]
        support = MetaSet(unseen.task.support.entity_of_fact[own], unseen.task.support.facts.take(own))
        query = unseen.task.queries.take(slice(unseen.number, unseen.number + 1))
        answers = predictor.run.model.scorer().score(Task(support, query), query)
        score = dict(zip(answers.entity.tolist(), answers.score.tolist(), strict=True))
        index = predictor.run.vocabulary.entity_index
        assert len(found)
        for answer in found:
            assert answer.score == pytest.approx(score[index[answer.entity]], abs=1e-5)


def test_new_name_gets_same_answers_as_unseen_entity(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    for unseen in unseen_entities[:3]:
        facts, query = unseen.renamed("New Name")
        [known], [new] = predictor.answer([unseen.query], unseen.facts), predictor.answer([query], facts)
        assert [(a.entity, a.concepts) for a in new] == [(a.entity, a.concepts) for a in known]
        assert [a.score for a in new] == pytest.approx([a.score for a in known], abs=1e-5)
        assert all(path.start == "New Name" for answer in new for path in answer.paths)


def test_capacity_grows_with_new_entities(predictor: Predictor, unseen: UnseenEntity) -> None:
    others = [Fact(f"Guest {number}", *unseen.facts[0][1:]) for number in range(150)]
    facts, query = unseen.renamed("New Name")
    [found] = predictor.answer([query], [*others, *facts])
    assert len(found)


def test_predictions_are_deterministic(predictor: Predictor, unseen: UnseenEntity) -> None:
    one, other = (predictor.answer([unseen.query], unseen.facts)[0].to_json() for _ in range(2))
    assert one == other


def test_batched_queries_equal_single_queries(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    facts = [fact for unseen in unseen_entities[:4] for fact in unseen.facts]
    queries = [unseen.query for unseen in unseen_entities[:4]]
    last = predictor.calendar.label(predictor.calendar.span + 3)
    queries += [replace(queries[0], at=last), replace(queries[1], top=1, paths=0), replace(queries[2], hindsight=True)]
    together = predictor.answer(queries, facts)
    for query, found in zip(queries, together, strict=True):
        assert found.query is query
        assert same(found, predictor.answer([query], facts)[0])


def test_concurrent_threads_get_same_answers(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    def ask(unseen: UnseenEntity) -> dict[str, object]:
        return predictor.answer([unseen.query], unseen.facts)[0].to_json()

    alone = [ask(unseen) for unseen in unseen_entities[:6]]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask, unseen_entities[:6] * 3)) == alone * 3


def test_observed_facts_are_used_until_forgotten(predictor: Predictor, unseen: UnseenEntity) -> None:
    asked = unseen.query
    given = {"relation": asked.relation, "at": asked.at, "top": asked.top, "paths": asked.paths}
    ends = {"subject": asked.subject} if asked.object is None else {"object": asked.object}
    assert predictor.observe(unseen.facts) == len(unseen.facts)
    assert predictor.observe(unseen.facts[:1]) == 0
    assert predictor.observed == tuple(unseen.facts)
    assert same(predictor.ask(**ends, **given), predictor.answer([asked], unseen.facts)[0])  # type: ignore[arg-type]
    assert predictor.forget(facts=unseen.facts[:1]) == 1
    assert same(predictor.ask(**ends, **given), predictor.answer([asked], unseen.facts[1:])[0])  # type: ignore[arg-type]
    assert predictor.forget(asked.entity) == len(unseen.facts) - 1
    with pytest.raises(InputError, match="no facts are known about this entity"):
        predictor.ask(**ends, **given)  # type: ignore[arg-type]


def test_observe_is_atomic(predictor: Predictor, unseen: UnseenEntity) -> None:
    broken = unseen.facts[0]._replace(time="2024-02-31")
    with pytest.raises(InputError, match="no such date"):
        predictor.observe([*unseen.facts, broken])
    assert predictor.observed == ()


def test_excluded_fact_equals_unobserved_fact(predictor: Predictor, unseen: UnseenEntity) -> None:
    excluded = unseen.facts[0]
    [without] = predictor.answer([replace(unseen.query, without=(excluded,))], unseen.facts)
    assert same(without, predictor.answer([unseen.query], unseen.facts[1:])[0])
    assert excluded not in steps(without)


def test_background_fact_can_be_excluded(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    tried = 0
    for unseen in unseen_entities:
        [whole] = predictor.answer([unseen.query], unseen.facts)
        for fact in sorted(steps(whole) - set(unseen.facts))[:2]:
            tried += 1
            [without] = predictor.answer([replace(unseen.query, without=(fact,))], unseen.facts)
            assert fact not in steps(without)
            assert not same(whole, without)
    assert tried
    assert same(whole, predictor.answer([unseen.query], unseen.facts)[0])


def test_excluding_only_fact_of_candidate_removes_it_from_paths(predictor: Predictor, unseen: UnseenEntity) -> None:
    """A (relation, object) pair with a single fact does not occur if that fact is excluded."""
    names, label = predictor.run.vocabulary, predictor.calendar.label
    facts = predictor.run.context.graph.background_facts()
    pairs, counts = np.unique(np.stack([facts.relation, facts.object], 1), axis=0, return_counts=True)
    relation, end = pairs[np.flatnonzero(counts == 1)[0]]
    [(s, r, o, t)] = facts.take((facts.relation == relation) & (facts.object == end))
    once = Fact(names.entities[s], names.relations[r], names.entities[o], label(t))
    late = label(predictor.calendar.span)
    query = Query(unseen.query.entity, None, once.relation, late, 500, 1, without=(once,))
    [found] = predictor.answer([query], unseen.facts)
    assert once not in steps(found)


def test_as_of_ignores_later_facts(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    for unseen in unseen_entities[:4]:
        known = sorted(fact.time for fact in unseen.facts)
        query = replace(unseen.query, as_of=known[1])
        [found] = predictor.answer([query], unseen.facts)
        assert all(fact.time <= known[1] for fact in steps(found))
        earlier = [fact for fact in unseen.facts if fact.time <= known[1]]
        assert same(found, predictor.answer([query], earlier)[0])


def test_as_of_last_date_changes_nothing(predictor: Predictor, unseen: UnseenEntity) -> None:
    last = predictor.calendar.label(predictor.calendar.span - 1)
    hindsight = replace(unseen.query, hindsight=True)
    [dated] = predictor.answer([replace(hindsight, as_of=last)], unseen.facts)
    assert same(dated, predictor.answer([hindsight], unseen.facts)[0])


def test_as_of_after_the_query_needs_hindsight(predictor: Predictor, unseen: UnseenEntity) -> None:
    same_time, later = unseen.query.at, predictor.calendar.label(predictor.calendar.tick(unseen.query.at) + 1)
    [dated] = predictor.answer([replace(unseen.query, as_of=same_time)], unseen.facts)
    assert same(dated, predictor.answer([unseen.query], unseen.facts)[0])
    with pytest.raises(InputError, match=f"field as_of: time after that of the query.*{same_time} or earlier"):
        predictor.answer([replace(unseen.query, as_of=later)], unseen.facts)


def test_forecast_uses_no_fact_at_or_after_the_query(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    """Answers with the later facts given, and without them, are equal to the last bit."""
    for unseen in unseen_entities[:4]:
        tick, entity = predictor.calendar.tick(unseen.query.at), unseen.query.entity
        later = [
            Fact(entity, relation, other, predictor.calendar.label(tick + gap))
            for gap, relation, other in zip((0, 0, 3), predictor.relations, predictor.entities[5:8], strict=False)
        ]
        [found] = predictor.answer([unseen.query], unseen.facts)
        [poisoned] = predictor.answer([unseen.query], [*unseen.facts, *later])
        assert poisoned == found
        assert found.setting == "forecast"
        times = [step.time for answer in found for path in answer.paths for step in path.steps]
        assert times
        assert all(time < unseen.query.at for time in times)
        [hindsight] = predictor.answer([replace(unseen.query, hindsight=True)], [*unseen.facts, *later])
        assert hindsight.setting == "completion"
        assert not same(hindsight, found)


def test_forecast_does_not_depend_on_later_background(
    predictor: Predictor, unseen_entities: list[UnseenEntity]
) -> None:
    """A run whose background ends before the query gives the same answers with the same statistics."""
    for unseen in unseen_entities[:2]:
        tick = predictor.calendar.tick(unseen.query.at)
        run = predictor.run
        past = run.context.graph.before(tick)
        if run.config.model == "plus":
            at = run.model.timeline.at(tick)  # type: ignore[attr-defined]
            model = copy(run.model)
            statistics = at.with_parts(**event_index(past))
            model._background, model.statistics = past, statistics  # type: ignore[attr-defined]
            model.timeline = model.timeline.with_statistics(statistics)  # type: ignore[attr-defined]
            model._encoder_scorer = EncoderScorer.optional(model.encoder, statistics)  # type: ignore[attr-defined]
        else:
            model = run.model.with_graph(past)
        earlier = Predictor(replace(run, model=model, context=replace(run.context, graph=past)))
        [found] = predictor.answer([unseen.query], unseen.facts)
        assert same(found, earlier.answer([unseen.query], unseen.facts)[0])


def test_hindsight_marks_later_steps(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    marked = 0
    for unseen in unseen_entities:
        [found] = predictor.answer([replace(unseen.query, hindsight=True)], unseen.facts)
        for answer in found:
            for path in answer.paths:
                for step in path.steps:
                    assert step.after_question == (step.time > unseen.query.at)
                    assert ("[after the question]" in step.text) == step.after_question
                    marked += step.after_question
    assert marked


def test_as_of_before_first_fact_is_rejected(predictor: Predictor, unseen: UnseenEntity) -> None:
    with pytest.raises(InputError, match="time before the first fact"):
        predictor.answer([replace(unseen.query, as_of=predictor.calendar.label(-1))], unseen.facts)


def test_known_answer_is_hidden_from_its_query(predictor: Predictor, unseen: UnseenEntity) -> None:
    """A fact that states the answer of the query is hidden, as in evaluation."""
    known = unseen.facts[0]
    entity = unseen.query.entity
    ends = (entity, None) if known.subject == entity else (None, entity)
    query = Query(*ends, known.relation, known.time, 5, 2, hindsight=True)
    [found] = predictor.answer([query], unseen.facts)
    assert known not in steps(found)
    assert same(found, predictor.answer([query], unseen.facts[1:])[0])
    with pytest.raises(InputError, match="no facts are known"):
        predictor.answer([query], [known])


def test_answers_exclude_query_entity_and_are_ranked(predictor: Predictor, unseen: UnseenEntity) -> None:
    [found] = predictor.answer([replace(unseen.query, top=10_000, paths=0)], unseen.facts)
    assert unseen.query.entity not in {answer.entity for answer in found}
    calibration = predictor.run.calibration_for("forecast")
    assert calibration is not None
    assert calibration != predictor.run.calibration
    assert sum(answer.share for answer in found) == pytest.approx(1 - calibration.unlisted_mass)
    assert [answer.rank for answer in found] == list(range(1, len(found) + 1))
    assert [answer.score for answer in found] == sorted((answer.score for answer in found), reverse=True)


def busiest(run: Run) -> str:
    return run.vocabulary.entities[int(np.argmax(np.diff(run.context.graph.base.offsets)))]


def test_known_entities_use_their_background_facts(predictor: Predictor) -> None:
    entity, relation = busiest(predictor.run), predictor.relations[0]
    forward, backward = Query(entity, None, relation, "2023-06-01"), Query(None, entity, relation, "2023-06-01")
    found = predictor.answer([forward, backward], [])
    assert all(len(prediction) for prediction in found)
    assert entity not in {answer.entity for prediction in found for answer in prediction}


def test_background_fact_is_hidden_from_its_query(predictor: Predictor) -> None:
    names, label = predictor.run.vocabulary, predictor.calendar.label
    s, r, o, t = next(iter(predictor.run.context.graph.background_facts()))
    fact = Fact(names.entities[s], names.relations[r], names.entities[o], label(t))
    query = Query(fact.subject, None, fact.relation, fact.time, 20, 3, hindsight=True)
    [found] = predictor.answer([query], [])
    assert fact not in steps(found)


def test_observed_fact_between_other_entities_adds_paths(predictor: Predictor, unseen: UnseenEntity) -> None:
    """A fact between a neighbour and another new entity makes that entity reachable."""
    first = unseen.facts[0]
    middle = first.object if first.subject == unseen.query.entity else first.subject
    yesterday = predictor.calendar.label(predictor.calendar.tick(unseen.query.at) - 1)
    extra = Fact(middle, unseen.query.relation, "Late Guest", yesterday)
    found = predictor.explain(unseen.query, "Late Guest", [*unseen.facts, extra])
    assert found.rank is not None or predictor.run.config.model == "fitcarl"  # its small beam may drop this path
    with pytest.raises(InputError, match="unknown entity"):
        predictor.explain(unseen.query, "Late Guest", unseen.facts)


def test_support_is_limited_to_nearest_facts(predictor: Predictor, unseen: UnseenEntity) -> None:
    first, label = unseen.facts[0], predictor.calendar.label
    many = [first._replace(time=label(tick)) for tick in range(MAX_SUPPORT + 30)]
    asked = [(0, True), (70, True), (70, False), (MAX_SUPPORT + 40, False)]
    queries = [
        replace(unseen.query, at=label(tick), relation=predictor.relations[-1], hindsight=hindsight)
        for tick, hindsight in asked
    ]
    many += unseen.facts  # so that there are answers other than the entity of the first fact
    together = predictor.answer(queries, many)
    for query, found in zip(queries, together, strict=True):
        assert len(found)
        assert same(found, predictor.answer([query], many)[0])


@pytest.mark.parametrize(("at", "hindsight"), [("2019-01-01", True), ("2031-07-01", False)])
def test_times_outside_the_background_are_accepted(
    predictor: Predictor, unseen: UnseenEntity, at: str, hindsight: bool
) -> None:
    late = unseen.facts[0]._replace(time=at)
    query = replace(unseen.query, at=at, hindsight=hindsight)
    [found] = predictor.answer([query], [*unseen.facts[1:], late])
    assert len(found)


def test_forecast_without_earlier_facts_is_rejected(predictor: Predictor, unseen: UnseenEntity) -> None:
    first = min(fact.time for fact in unseen.facts)
    with pytest.raises(InputError, match=f"no facts are known about this entity before {first}.*hindsight"):
        predictor.answer([replace(unseen.query, at=first)], unseen.facts)


def test_order_of_facts_does_not_matter(predictor: Predictor, unseen: UnseenEntity) -> None:
    one, other = (predictor.answer([unseen.query], facts)[0] for facts in (unseen.facts, unseen.facts[::-1]))
    assert same(one, other)


def test_explanation_is_about_the_answer_of_the_prediction(predictor: Predictor, unseen: UnseenEntity) -> None:
    [found] = predictor.answer([unseen.query], unseen.facts)
    third = found[2]
    explained = predictor.explain(unseen.query, third.entity, unseen.facts, unseen.query.paths)
    for name in ("rank", "entity", "score", "share", "concepts", "relation", "direction"):
        assert getattr(explained, name) == getattr(third, name)
    plain = [replace(path, share_without=None, rank_without=None) for path in explained.paths]
    assert sorted(plain, key=str) == sorted(third.paths, key=str)


def test_paths_connect_query_entity_and_answer(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    for unseen in unseen_entities[:5]:
        [found] = predictor.answer([unseen.query], unseen.facts)
        for answer in found:
            assert answer.paths
            for path in answer.paths:
                assert path.nodes[-1] == path.end == answer.entity
                assert path.is_context or path.nodes[0] == unseen.query.entity


def test_example_of_run_can_be_answered(predictor: Predictor) -> None:
    example = predictor.example()
    assert example is not None
    assert len(predictor.answer([example.query], example.facts)[0])


def test_run_without_example(predictor: Predictor, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = replace(predictor.run.folder, path=tmp_path_factory.mktemp("nothing"))
    assert Predictor(replace(predictor.run, folder=folder)).example() is None


def test_background_and_given_facts_are_known(predictor: Predictor, unseen: UnseenEntity) -> None:
    names, label = predictor.run.vocabulary, predictor.calendar.label
    s, r, o, t = next(iter(predictor.run.context.graph.background_facts()))
    assert predictor.knows((names.entities[s], names.relations[r], names.entities[o], label(t)))
    assert predictor.knows(unseen.facts[0], unseen.facts)
    assert not predictor.knows(unseen.facts[0])
    assert not predictor.knows(("Unknown", names.relations[0], "Also unknown", label(0)))


def test_errors_name_field_and_nearest_name(predictor: Predictor, unseen: UnseenEntity) -> None:
    relation, entity = unseen.query.relation, unseen.query.entity
    for change, line in (
        ({"relation": relation[:-1] + "?"}, f"unknown relation.*did you mean.*{relation}"),
        ({"at": "yesterday"}, "field at: not a date"),
        ({"at": "9000-01-01"}, "too far from the background"),
        ({"as_of": "soon"}, "field as_of: not a date"),
        ({"subject": entity + "x", "object": None}, "no facts are known about this entity.*did you mean"),
    ):
        with pytest.raises(InputError, match=line):
            predictor.answer([replace(unseen.query, **change)], unseen.facts)  # type: ignore[arg-type]


def test_query_needs_exactly_one_of_subject_and_object() -> None:
    for subject, object in ((None, None), ("Ann", "Bob")):
        with pytest.raises(InputError, match="incomplete query"):
            Query(subject, object, "meets", "2024-01-01")
    with pytest.raises(InputError, match="field top"):
        Query("Ann", None, "meets", "2024-01-01", top=0)


def test_missing_argument_is_rejected(predictor: Predictor) -> None:
    with pytest.raises(InputError, match="field at"):
        predictor.ask("Ann", "meets")
