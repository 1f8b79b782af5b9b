"""Queries with different limits in one batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fitcarl.models.per_query import PerQueryScorer
from fitcarl.predict import Predictor, Query
from fitcarl.predict.planner import QueryPlanner
from fitcarl.runs.run import Run
from tests.predict.conftest import UnseenEntity


@pytest.fixture
def predictor(run: Run) -> Predictor:
    if not isinstance(run.model.scorer(), PerQueryScorer):
        pytest.skip("the model scores queries with different limits apart")
    return Predictor(run)


def _queries(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> list[Query]:
    """Queries at many times, some with further limits, hidden facts and hindsight, and about known entities."""
    tick, label = predictor.calendar.tick, predictor.calendar.label
    queries = [
        replace(unseen.query, at=label(tick(unseen.query.at) + later), top=8)
        for unseen in unseen_entities[:5]
        for later in (0, 1, 20, 400)
    ]
    first = unseen_entities[0]
    queries.append(replace(first.query, as_of=label(tick(first.query.at) - 1)))
    queries.append(replace(first.query, hindsight=True))
    queries.append(replace(first.query, without=tuple(first.facts[:1])))
    known = predictor.entities[int(np.argmax(np.diff(predictor.run.context.graph.base.offsets)))]
    queries += [replace(query, subject=known, object=None) for query in queries[:8]]
    return queries


def test_merged_limits_equal_a_graph_without_later_facts(
    predictor: Predictor, unseen_entities: list[UnseenEntity]
) -> None:
    """``planner.answer`` leaves facts at and after the limit out of the graph instead."""
    facts = [predictor.check(fact) for unseen in unseen_entities for fact in unseen.facts]
    planner, queries = predictor.planner(facts), _queries(predictor, unseen_entities)
    together = predictor.answer_checked(queries, facts)
    for query, found in zip(queries, together, strict=True):
        apart = _answer_apart(planner, query)
        assert [answer[0] for answer in apart] == [answer.entity for answer in found]
        assert np.allclose([answer[1] for answer in apart], [answer.score for answer in found], rtol=0, atol=2e-5)
        assert [answer[2] for answer in apart] == [[path.text for path in answer.paths] for answer in found]


def _answer_apart(planner: QueryPlanner, query: Query) -> list[tuple[str, float, list[str]]]:
    ids = planner.encode(0, query)
    batch = planner.answer(planner.visible_facts(query, ids), [ids], [query])
    answers = batch.top_answers(0, query)[0]
    return [(answer.entity, answer.score, [path.text for path in answer.paths]) for answer in answers]


def test_order_of_queries_does_not_matter(predictor: Predictor, unseen_entities: list[UnseenEntity]) -> None:
    facts = [fact for unseen in unseen_entities for fact in unseen.facts]
    queries = _queries(predictor, unseen_entities)
    found, backwards = predictor.answer(queries, facts), predictor.answer(queries[::-1], facts)
    for one, other in zip(found, reversed(backwards), strict=True):
        assert one.query is other.query
        assert [answer.entity for answer in one] == [answer.entity for answer in other]
