"""Answers to queries that leave the relation or the time open."""

from __future__ import annotations

import numpy as np

from fitcarl.data.durations import parse_duration
from fitcarl.errors import InputError
from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.history import Histories
from fitcarl.models.open_queries.relation_model import most_probable
from fitcarl.models.open_queries.time_model import TimeInputs, TimeModel, intervals
from fitcarl.predict.batch import AnsweredBatch, EncodedQuery, VisibleFacts, named_relation
from fitcarl.predict.parsing import MAX_DISTANCE
from fitcarl.predict.planner import QueryPlanner
from fitcarl.predict.prediction import Answer, Prediction, RelationShare, TimeInterval, TimePrediction
from fitcarl.predict.query import Query
from fitcarl.runs.open_answers import RELATION_MASS
from fitcarl.runs.run import Run
from fitcarl.scoring.path import ExplanationPath


def answer_any_relation(planner: QueryPlanner, query: Query) -> Prediction:
    """The most probable (relation, direction, entity) of the next fact of the query entity.

    Args:
        planner: The planner of the call.
        query: A query without a relation.
    """
    ids, visible, index, histories = _histories(planner, query)
    log_probability = planner.run.open_models.relation.log_probabilities(index, histories)[0]
    scored = most_probable(log_probability, RELATION_MASS)
    share = np.exp(log_probability[scored])
    batch = planner.answer(visible, [EncodedQuery(0, ids.entity, int(r), ids.time) for r in scored], [query])
    named = [named_relation(planner.run.vocabulary, int(relation)) for relation in scored[: query.top]]
    relations = (RelationShare(*name, float(value)) for name, value in zip(named, share, strict=False))
    answers, best = _top_answers(batch, share, query)
    left_out = max(0.0, 1 - float(share.sum()))
    return Prediction(query, answers, planner.run.config.setting, tuple(relations), left_out, best_share=best)


def predict_time(planner: QueryPlanner, query: Query, horizon: str) -> TimePrediction:
    """When the query entity next has a fact with the relation of the query.

    Args:
        planner: The planner of the call.
        query: A query with a relation.
        horizon: A duration from the time of the query on.
    """
    time_model, ticks = horizon_of(planner.run, horizon)
    calendar = planner.run.calendar
    ids, _, index, histories = _histories(planner, query)
    one = np.zeros(1, dtype=np.int64)
    relation = np.array([ids.relation], dtype=np.int32)
    inputs = TimeInputs.of(index, histories, one, relation, planner.run.open_models.relation)
    bounds = intervals(ticks)
    [share] = time_model.probabilities(inputs, bounds).tolist()
    label = [calendar.label(ids.time + int(bound)) for bound in bounds[:-1]]
    end = [calendar.label(ids.time + int(bound) - 1) for bound in bounds[1:]]
    return TimePrediction(tuple(map(TimeInterval, label, end, share[:-1])), share[-1])


def horizon_of(run: Run, horizon: str) -> tuple[TimeModel, int]:
    """The model of times of a run, and the ticks of a duration.

    Args:
        run: The run.
        horizon: A duration such as ``30d``.

    Raises:
        InputError: If the run has no such model, or the duration is invalid or too long.
    """
    time_model, calendar = run.open_models.time, run.calendar
    if time_model is None:
        problem = "the background has too few events for a prediction of times"
        raise InputError(problem, field="horizon", found=horizon, expected="no horizon")
    try:
        ticks = parse_duration(calendar, horizon)
    except InputError as error:
        raise InputError(error.problem, field="horizon", found=horizon, expected=error.expected) from None
    if ticks > MAX_DISTANCE:
        expected = f"at most {MAX_DISTANCE:,} {calendar.unit}"
        raise InputError("too long a duration", field="horizon", found=horizon, expected=expected)
    return time_model, ticks


def _histories(planner: QueryPlanner, query: Query) -> tuple[EncodedQuery, VisibleFacts, EventIndex, Histories]:
    """The ids of a query, what it may use, counts on the background, and the visible facts of its entity."""
    ids = planner.encode(0, query)
    visible = planner.visible_facts(query, ids)
    view, _, support = planner.prepare(visible, [ids], [query])
    entity, time = np.array([ids.entity], dtype=np.int32), np.array([ids.time], dtype=np.int32)
    before = np.minimum(time, np.int32(visible.before))
    histories = Histories.of(support, entity, time, before, planner.run.vocabulary.relation_ids)
    return ids, visible, view.event_index, histories


def _top_answers(
    batch: AnsweredBatch, relation_share: np.ndarray, query: Query
) -> tuple[tuple[Answer, ...], float | None]:
    """The best answers over all relations; equal ones in the order of relations and entities. And the best share."""
    ranked = [batch.ranked(row) for row in range(len(relation_share))]
    row = np.repeat(np.arange(len(ranked)), [len(entity) for entity, _, _ in ranked])
    entity = np.concatenate([part[0] for part in ranked])
    joint = np.concatenate([share * part[2] for share, part in zip(relation_share, ranked, strict=True)])
    best = np.lexsort((entity, row, -joint))[: query.top]
    best_share = float(joint[best[0]]) if len(best) else None
    best = best[joint[best] >= query.min_share]
    paths: dict[tuple[int, int], list[ExplanationPath]] = {}
    for number in np.unique(row[best]).tolist():
        explained = entity[best[row[best] == number]].tolist()
        found = batch.paths(number, explained, query.paths)
        paths |= {(number, one): its for one, its in zip(explained, found, strict=True)}
    answers = []
    for rank, position in enumerate(best.tolist()):
        pair, share = (int(row[position]), int(entity[position])), float(joint[position])
        score = float(np.log(max(share, 1e-300)))
        answers.append(batch.make_answer(pair[0], rank, pair[1], score, share, paths[pair]))
    return tuple(answers), best_share
