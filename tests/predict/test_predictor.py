"""A predictor says what its run says, to names the run never heard, and forgets what it is told to leave out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from fitcarl.data.dataset import MetaSet
from fitcarl.errors import InputError
from fitcarl.predict import Fact, Prediction, Predictor, Query
from fitcarl.predict.support import MOST_FACTS
from fitcarl.runs.run import Run
from fitcarl.tasks.task import Task
from tests.predict.conftest import Newcomer


def same(one: Prediction, other: Prediction) -> bool:
    """Equal but for the question and the last digits: sums are added up in another order."""
    entities = [answer.entity for answer in one] == [answer.entity for answer in other]
    paths = [[p.steps and p.text for p in a.paths] for a in one] == [
        [p.steps and p.text for p in a.paths] for a in other
    ]
    return entities and paths and np.allclose([a.score for a in one], [a.score for a in other], atol=1e-5)


def steps(prediction: Prediction) -> set[Fact]:
    """Every fact on any path."""
    return {
        Fact(step.subject, step.relation, step.object, step.time)
        for answer in prediction
        for path in answer.paths
        for step in path.steps
    }


def test_scores_are_those_of_the_run(predictor: Predictor, newcomers: list[Newcomer]) -> None:
    for newcomer in newcomers[:3]:
        [found] = predictor.answer([newcomer.query], newcomer.facts)
        own = newcomer.task.support.entity_of_fact == newcomer.task.queries.entity[newcomer.number]
        support = MetaSet(newcomer.task.support.entity_of_fact[own], newcomer.task.support.facts.take(own))
        query = newcomer.task.queries.take(slice(newcomer.number, newcomer.number + 1))
        answers = predictor.run.model.scorer().score(Task(support, query), query)
        score = dict(zip(answers.entity.tolist(), answers.score.tolist(), strict=True))
        index = predictor.run.vocabulary.entity_index
        assert len(found)
        for answer in found:
            assert answer.score == pytest.approx(score[index[answer.entity]], abs=1e-5)


def test_a_name_nobody_has_heard_gets_the_same_answers(predictor: Predictor, newcomers: list[Newcomer]) -> None:
    for newcomer in newcomers[:3]:
        facts, question = newcomer.renamed("Somebody Else")
        [known], [new] = predictor.answer([newcomer.query], newcomer.facts), predictor.answer([question], facts)
        assert [(a.entity, a.concepts) for a in new] == [(a.entity, a.concepts) for a in known]
        assert [a.score for a in new] == pytest.approx([a.score for a in known], abs=1e-5)
        assert all(path.start == "Somebody Else" for answer in new for path in answer.paths)


def test_room_grows_with_the_newcomers(predictor: Predictor, newcomer: Newcomer) -> None:
    crowd = [Fact(f"Guest {number}", *newcomer.facts[0][1:]) for number in range(150)]
    facts, question = newcomer.renamed("Somebody Else")
    [found] = predictor.answer([question], [*crowd, *facts])
    assert len(found) == question.top


def test_the_same_call_gives_the_same_answer(predictor: Predictor, newcomer: Newcomer) -> None:
    one, other = (predictor.answer([newcomer.query], newcomer.facts)[0].to_json() for _ in range(2))
    assert one == other


def test_questions_asked_together_are_answered_as_if_alone(predictor: Predictor, newcomers: list[Newcomer]) -> None:
    facts = [fact for newcomer in newcomers[:4] for fact in newcomer.facts]
    questions = [newcomer.query for newcomer in newcomers[:4]]
    questions += [replace(questions[0], at=predictor.calendar.label(3)), replace(questions[1], top=1, paths=0)]
    together = predictor.answer(questions, facts)
    for question, found in zip(questions, together, strict=True):
        assert found.query is question
        assert same(found, predictor.answer([question], facts)[0])


def test_several_threads_get_what_one_gets(predictor: Predictor, newcomers: list[Newcomer]) -> None:
    def ask(newcomer: Newcomer) -> dict[str, object]:
        return predictor.answer([newcomer.query], newcomer.facts)[0].to_json()

    alone = [ask(newcomer) for newcomer in newcomers[:6]]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask, newcomers[:6] * 3)) == alone * 3


def test_observed_facts_count_until_they_are_forgotten(predictor: Predictor, newcomer: Newcomer) -> None:
    asked = newcomer.query
    given = {"relation": asked.relation, "at": asked.at, "top": asked.top, "paths": asked.paths}
    ends = {"subject": asked.subject} if asked.object is None else {"object": asked.object}
    assert predictor.observe(newcomer.facts) == len(newcomer.facts)
    assert predictor.observe(newcomer.facts[:1]) == 0
    assert predictor.observed == tuple(newcomer.facts)
    assert same(predictor.ask(**ends, **given), predictor.answer([asked], newcomer.facts)[0])  # type: ignore[arg-type]
    assert predictor.forget(facts=newcomer.facts[:1]) == 1
    assert same(predictor.ask(**ends, **given), predictor.answer([asked], newcomer.facts[1:])[0])  # type: ignore[arg-type]
    assert predictor.forget(asked.entity) == len(newcomer.facts) - 1
    with pytest.raises(InputError, match="nothing is known of this actor"):
        predictor.ask(**ends, **given)  # type: ignore[arg-type]


def test_facts_that_cannot_be_used_are_observed_all_or_none(predictor: Predictor, newcomer: Newcomer) -> None:
    broken = newcomer.facts[0]._replace(time="2024-02-31")
    with pytest.raises(InputError, match="no such date"):
        predictor.observe([*newcomer.facts, broken])
    assert predictor.observed == ()


def test_a_fact_left_out_is_as_good_as_never_observed(predictor: Predictor, newcomer: Newcomer) -> None:
    left_out = newcomer.facts[0]
    [without] = predictor.answer([replace(newcomer.query, without=(left_out,))], newcomer.facts)
    assert same(without, predictor.answer([newcomer.query], newcomer.facts[1:])[0])
    assert left_out not in steps(without)


def test_a_background_fact_can_be_left_out(predictor: Predictor, newcomers: list[Newcomer]) -> None:
    tried = 0
    for newcomer in newcomers:
        [whole] = predictor.answer([newcomer.query], newcomer.facts)
        for fact in sorted(steps(whole) - set(newcomer.facts))[:2]:
            tried += 1
            [without] = predictor.answer([replace(newcomer.query, without=(fact,))], newcomer.facts)
            assert fact not in steps(without)
            assert not same(whole, without)
    assert tried
    assert same(whole, predictor.answer([newcomer.query], newcomer.facts)[0])


def test_leaving_out_every_fact_of_a_crowd_ends_it(predictor: Predictor, newcomer: Newcomer) -> None:
    """An entity that somebody met once through a relation was never met through it without that fact."""
    names, label = predictor.run.vocabulary, predictor.calendar.label
    facts = predictor.run.context.graph.background_facts()
    pairs, counts = np.unique(np.stack([facts.relation, facts.object], 1), axis=0, return_counts=True)
    relation, end = pairs[np.flatnonzero(counts == 1)[0]]
    [(s, r, o, t)] = facts.take((facts.relation == relation) & (facts.object == end))
    once = Fact(names.entities[s], names.relations[r], names.entities[o], label(t))
    question = Query(newcomer.facts[0].subject, None, once.relation, once.time, 500, 1, without=(once,))
    [found] = predictor.answer([question], newcomer.facts)
    assert once not in steps(found)


def test_nothing_after_the_date_is_looked_at(predictor: Predictor, newcomers: list[Newcomer]) -> None:
    for newcomer in newcomers[:4]:
        known = sorted(fact.time for fact in newcomer.facts)
        question = replace(newcomer.query, as_of=known[1])
        [found] = predictor.answer([question], newcomer.facts)
        assert all(fact.time <= known[1] for fact in steps(found))
        earlier = [fact for fact in newcomer.facts if fact.time <= known[1]]
        assert same(found, predictor.answer([question], earlier)[0])


def test_the_last_date_changes_nothing(predictor: Predictor, newcomer: Newcomer) -> None:
    last = predictor.calendar.label(predictor.calendar.span - 1)
    [dated] = predictor.answer([replace(newcomer.query, as_of=last)], newcomer.facts)
    assert same(dated, predictor.answer([newcomer.query], newcomer.facts)[0])


def test_a_date_before_everything_is_refused(predictor: Predictor, newcomer: Newcomer) -> None:
    with pytest.raises(InputError, match="nothing had happened yet"):
        predictor.answer([replace(newcomer.query, as_of=predictor.calendar.label(-1))], newcomer.facts)


def test_what_is_asked_is_not_looked_up(predictor: Predictor, newcomer: Newcomer) -> None:
    """A question that a known fact answers is answered as if that fact were hidden, as the run's tests are."""
    told = newcomer.facts[0]
    actor = newcomer.query.entity
    ends = (actor, None) if told.subject == actor else (None, actor)
    question = Query(*ends, told.relation, told.time, 5, 2)
    [found] = predictor.answer([question], newcomer.facts)
    assert told not in steps(found)
    assert same(found, predictor.answer([question], newcomer.facts[1:])[0])
    with pytest.raises(InputError, match="nothing is known"):
        predictor.answer([question], [told])


def test_nobody_is_an_answer_to_a_question_about_themselves(predictor: Predictor, newcomer: Newcomer) -> None:
    [found] = predictor.answer([replace(newcomer.query, top=10_000, paths=0)], newcomer.facts)
    assert newcomer.query.entity not in {answer.entity for answer in found}
    assert predictor.run.calibration is not None
    assert sum(answer.share for answer in found) == pytest.approx(1 - predictor.run.calibration.unlisted_mass)
    assert [answer.rank for answer in found] == list(range(1, len(found) + 1))
    assert [answer.score for answer in found] == sorted((answer.score for answer in found), reverse=True)


def busiest(run: Run) -> str:
    return run.vocabulary.entities[int(np.argmax(np.diff(run.context.graph.base.offsets)))]


def test_known_actors_answer_from_their_own_facts(predictor: Predictor) -> None:
    actor, relation = busiest(predictor.run), predictor.relations[0]
    forward, backward = Query(actor, None, relation, "2023-06-01"), Query(None, actor, relation, "2023-06-01")
    found = predictor.answer([forward, backward], [])
    assert all(len(prediction) for prediction in found)
    assert actor not in {answer.entity for prediction in found for answer in prediction}


def test_a_known_fact_between_known_actors_is_left_out_of_its_own_question(predictor: Predictor) -> None:
    names, label = predictor.run.vocabulary, predictor.calendar.label
    s, r, o, t = next(iter(predictor.run.context.graph.background_facts()))
    fact = Fact(names.entities[s], names.relations[r], names.entities[o], label(t))
    [found] = predictor.answer([Query(fact.subject, None, fact.relation, fact.time, 20, 3)], [])
    assert fact not in steps(found)


def test_a_fact_between_known_actors_opens_paths(predictor: Predictor, newcomer: Newcomer) -> None:
    """Somebody met on the way is observed to deal with another newcomer, who can be reached from then on."""
    first = newcomer.facts[0]
    middle = first.object if first.subject == newcomer.query.entity else first.subject
    extra = Fact(middle, newcomer.query.relation, "Late Guest", newcomer.query.at)
    place = predictor.explain_entity(newcomer.query, "Late Guest", [*newcomer.facts, extra])
    assert place is not None or predictor.run.config.model == "fitcarl"  # whose small beam may not keep this path
    with pytest.raises(InputError, match="unknown entity"):
        predictor.explain_entity(newcomer.query, "Late Guest", newcomer.facts)


def test_more_facts_than_a_question_looks_at(predictor: Predictor, newcomer: Newcomer) -> None:
    first, label = newcomer.facts[0], predictor.calendar.label
    many = [first._replace(time=label(tick)) for tick in range(MOST_FACTS + 30)]
    questions = [replace(newcomer.query, at=label(tick), relation=predictor.relations[-1]) for tick in (0, 70)]
    together = predictor.answer(questions, many)
    for question, found in zip(questions, together, strict=True):
        assert len(found)
        assert same(found, predictor.answer([question], many)[0])


@pytest.mark.parametrize("at", ["2019-01-01", "2031-07-01"])
def test_the_date_may_lie_outside_the_background(predictor: Predictor, newcomer: Newcomer, at: str) -> None:
    late = newcomer.facts[0]._replace(time=at)
    [found] = predictor.answer([replace(newcomer.query, at=at)], [*newcomer.facts[1:], late])
    assert len(found) == newcomer.query.top


def test_the_order_of_facts_does_not_matter(predictor: Predictor, newcomer: Newcomer) -> None:
    one, other = (predictor.answer([newcomer.query], facts)[0] for facts in (newcomer.facts, newcomer.facts[::-1]))
    assert same(one, other)


def test_the_place_of_an_answer_is_its_place_among_all(predictor: Predictor, newcomer: Newcomer) -> None:
    [found] = predictor.answer([newcomer.query], newcomer.facts)
    third = found[2]
    place = predictor.explain_entity(newcomer.query, third.entity, newcomer.facts, newcomer.query.paths)
    assert place == third
    assert predictor.explain(newcomer.query, third.entity, newcomer.facts, 1) == third.paths[:1]


def test_paths_begin_at_the_actor_and_end_at_the_answer(predictor: Predictor, newcomers: list[Newcomer]) -> None:
    for newcomer in newcomers[:5]:
        [found] = predictor.answer([newcomer.query], newcomer.facts)
        for answer in found:
            assert answer.paths
            for path in answer.paths:
                assert path.nodes[-1] == path.end == answer.entity
                assert path.is_context or path.nodes[0] == newcomer.query.entity


def test_the_example_of_a_run_can_be_asked(predictor: Predictor) -> None:
    example = predictor.example()
    assert example is not None
    assert len(predictor.answer([example.query], example.facts)[0])


def test_a_run_without_example_has_none(predictor: Predictor, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = replace(predictor.run.folder, path=tmp_path_factory.mktemp("nothing"))
    assert Predictor(replace(predictor.run, folder=folder)).example() is None


def test_what_is_known_can_be_looked_up(predictor: Predictor, newcomer: Newcomer) -> None:
    names, label = predictor.run.vocabulary, predictor.calendar.label
    s, r, o, t = next(iter(predictor.run.context.graph.background_facts()))
    assert predictor.knows((names.entities[s], names.relations[r], names.entities[o], label(t)))
    assert predictor.knows(newcomer.facts[0], newcomer.facts)
    assert not predictor.knows(newcomer.facts[0])
    assert not predictor.knows(("Nobody", names.relations[0], "No one", label(0)))


def test_mistakes_are_told_in_one_line_with_the_nearest_name(predictor: Predictor, newcomer: Newcomer) -> None:
    relation, actor = newcomer.query.relation, newcomer.query.entity
    for change, line in (
        ({"relation": relation[:-1] + "?"}, f"unknown relation.*did you mean.*{relation}"),
        ({"at": "yesterday"}, "field at: not a date"),
        ({"at": "9000-01-01"}, "too far from the background"),
        ({"as_of": "soon"}, "field as_of: not a date"),
        ({"subject": actor + "x", "object": None}, "nothing is known of this actor.*did you mean"),
    ):
        with pytest.raises(InputError, match=line):
            predictor.answer([replace(newcomer.query, **change)], newcomer.facts)  # type: ignore[arg-type]


def test_a_question_has_one_end() -> None:
    for subject, object in ((None, None), ("Ann", "Bob")):
        with pytest.raises(InputError, match="a question has one end"):
            Query(subject, object, "meets", "2024-01-01")
    with pytest.raises(InputError, match="field top"):
        Query("Ann", None, "meets", "2024-01-01", top=0)


def test_a_half_question_is_refused(predictor: Predictor) -> None:
    with pytest.raises(InputError, match="field at"):
        predictor.ask("Ann", "meets")
