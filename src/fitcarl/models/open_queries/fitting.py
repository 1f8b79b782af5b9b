"""Fits the models of open queries on pseudo-unseen entities of a background, under the rule of forecasts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitcarl.core.arrays import Positions
from fitcarl.data.dataset import MetaSet
from fitcarl.data.pseudo_unseen import hold_out_entities, select_pseudo_unseen
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import fit_calibration
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.hazard_fit import fit_hazard
from fitcarl.models.open_queries.history import Histories
from fitcarl.models.open_queries.newton import fit_conditional_logit
from fitcarl.models.open_queries.relation_features import Floats, relation_features
from fitcarl.models.open_queries.relation_model import RelationModel
from fitcarl.models.open_queries.time_model import BaseRate, TimeInputs, TimeModel, intervals, time_design
from fitcarl.models.open_queries.time_questions import TimeQuestions, time_questions
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Task, official_task, sampled_task

_PRIOR = (1.0, 0.0, 0.2, 0.8, 0.2, 0.1)  # of the relation weights: popularity as it is, corrected by the entity's facts
_ENTITIES = 400
_TASKS = 3  # random support sets, besides the earliest facts
_QUERIES_PER_ENTITY = 10
_CELLS = 2_000_000  # queries × relations in memory at once
_MIN_HORIZON = 6  # ticks
_MIN_EVENTS = 20  # events within the horizon that a time model is fitted on


@dataclass(frozen=True)
class OpenModels:
    """The models of queries that leave relation or time open."""

    relation: RelationModel
    time: TimeModel | None = None
    """None if there were too few events to fit it."""
    base_rate: BaseRate | None = None
    """What the time model is compared with."""

    def to_json(self) -> dict[str, Any]:
        return {
            "relation": self.relation.to_json(),
            "time": None if self.time is None else self.time.to_json(),
            "base_rate": None if self.base_rate is None else self.base_rate.rate,
        }

    @classmethod
    def from_json(cls, values: Any) -> OpenModels:
        """Reads the output of ``to_json``.

        Raises:
            ValueError: If a value is missing or out of range.
        """
        try:
            relation, time, rate = values["relation"], values["time"], values["base_rate"]
            base_rate = None if rate is None else BaseRate(float(rate))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no models of open queries: {error}") from None
        return cls(RelationModel.from_json(relation), None if time is None else TimeModel.from_json(time), base_rate)


def fitting_horizon(half_life: float) -> int:
    """Ticks of the horizon that time models are fitted and evaluated on: one half-life, about a month."""
    return max(_MIN_HORIZON, round(half_life))


def fit_open_models(graph: TemporalGraph, shots: int, half_life: float, seed: int = 0) -> OpenModels:
    """Fits all models on entities of a background that are held out of it. Deterministic; no dataset is needed.

    Args:
        graph: The background.
        shots: K, support facts per entity.
        half_life: ``Calendar.half_life`` of the background.
        seed: Seed of the choice of entities and support facts.
    """
    facts, entities, relations = graph.background_facts(), graph.entities, graph.relations
    try:
        chosen = select_pseudo_unseen(
            facts, entities, shots, np.random.default_rng([seed, 0]), groups=1, max_entities=_ENTITIES
        )
    except InputError:
        return OpenModels(RelationModel(_PRIOR, half_life))
    held_out = hold_out_entities(facts, chosen.groups[0], entities, np.random.default_rng([seed, 1]))
    index = EventIndex.from_graph(TemporalGraph.from_facts(held_out.background, entities, relations))
    rng = np.random.default_rng([seed, 2])
    limited = [sampled_task(held_out.hidden, shots, relations, rng, _QUERIES_PER_ENTITY, "forecast")]
    relation = _fit_relation_model(index, limited, half_life)
    last = sum(index.ticks) - fitting_horizon(half_life)
    asked = [
        time_questions(task, index, relations, last, half_life)
        for task in open_tasks(held_out.hidden, shots, graph, seed)
    ]
    return _fit_time_models(OpenModels(relation), index, asked)


def open_tasks(meta: MetaSet, shots: int, graph: TemporalGraph, seed: int) -> list[Task]:
    """The forecasting task with the earliest facts as support, and some with later ones; all queries of each."""
    streams = [np.random.default_rng([seed, number]) for number in range(1, _TASKS + 1)]
    sampled = (sampled_task(meta, shots, graph.relations, rng, setting="forecast") for rng in streams)
    return [official_task(meta, shots, graph.relations, "forecast"), *sampled]


def calibrate_open_models(
    models: OpenModels, index: EventIndex, valid: MetaSet, shots: int, seed: int, end: int
) -> OpenModels:
    """Fits the temperature of the relation model and the scale of the time models on meta-validation.

    Args:
        models: The fitted models.
        index: Counts on the background.
        valid: The unseen entities of meta-validation.
        shots: K, support facts per entity.
        seed: Seed of the sampled support facts.
        end: The tick from which on no facts of these entities are known.
    """
    tasks = open_tasks(valid, shots, index.graph, seed)
    half_life = models.relation.half_life
    relation = replace(models.relation, temperature=1.0)
    parts, answers = [], []
    for task in tasks:
        histories, history = Histories.of_queries(task.support, task.queries, index.graph.relations)
        size = max(1, _CELLS // (len(tasks) * index.directed))
        chosen = np.sort(np.random.default_rng(seed).permutation(len(history))[:size])
        used, position = np.unique(history[chosen], return_inverse=True)
        parts.append(Scores.from_dense(relation.log_probabilities(index, histories.take(used))[position.ravel()]))
        answers.append(task.queries.relation[chosen])
    answer = np.concatenate([np.empty(0, np.int32), *answers])
    if len(answer):
        relation = replace(relation, temperature=fit_calibration(Scores.concat(parts), answer).temperature)
    calibrated = replace(models, relation=relation)
    if models.time is None or models.base_rate is None:
        return calibrated
    last = end - fitting_horizon(half_life)
    asked = [time_questions(task, index, index.graph.relations, last, half_life) for task in tasks]
    bounds, inputs, interval = _labelled(calibrated, index, asked)
    if _events(interval, bounds) < _MIN_EVENTS:
        return calibrated
    time = replace(models.time, scale=models.time.scale * _factor(models.time.log_expected(inputs, bounds), interval))
    rate = models.base_rate.rate * _factor(models.base_rate.log_expected(inputs, bounds), interval)
    return replace(calibrated, time=time, base_rate=BaseRate(rate))


def interval_of(questions: TimeQuestions, bounds: Positions) -> Positions:
    """int64 [questions]: the interval of the first event; the number of intervals if it is in none."""
    return np.minimum(np.searchsorted(bounds, questions.delay, side="right") - 1, len(bounds) - 1).astype(np.int64)


def _fit_relation_model(index: EventIndex, tasks: list[Task], half_life: float) -> RelationModel:
    features, rows, chosen, first = [np.empty((0, index.directed, len(_PRIOR)))], [], [], 0
    for task in tasks:
        histories, history = Histories.of_queries(task.support, task.queries, index.graph.relations)
        size = max(1, _CELLS // (len(tasks) * index.directed))
        kept = np.sort(np.random.default_rng(0).permutation(len(histories))[:size])
        place = np.full(len(histories), -1)
        place[kept] = np.arange(len(kept))
        used = place[history] >= 0
        features.append(relation_features(index, histories.take(kept), half_life))
        rows.append(first + place[history][used])
        chosen.append(task.queries.relation[used].astype(np.int64))
        first += len(kept)
    nothing = np.empty(0, np.int64)
    row, choice = np.concatenate([nothing, *rows]), np.concatenate([nothing, *chosen])
    weights = fit_conditional_logit(np.concatenate(features), row, choice, np.array(_PRIOR))
    return RelationModel(tuple(weights.tolist()), half_life)


def _fit_time_models(models: OpenModels, index: EventIndex, asked: list[TimeQuestions]) -> OpenModels:
    bounds, inputs, interval = _labelled(models, index, asked)
    if _events(interval, bounds) < _MIN_EVENTS:
        return models
    question, column, happened = _exposure(interval, len(bounds) - 1)
    design = time_design(inputs, bounds)[question, column]
    weights = fit_hazard(design, inputs.offset(bounds)[column], happened)
    rate = _factor(BaseRate(1.0).log_expected(inputs, bounds), interval)
    return replace(models, time=TimeModel(tuple(weights.tolist())), base_rate=BaseRate(rate))


def _labelled(
    models: OpenModels, index: EventIndex, asked: list[TimeQuestions]
) -> tuple[Positions, TimeInputs, Positions]:
    """Bounds of the intervals, inputs of all questions, and the interval of each answer."""
    bounds = intervals(fitting_horizon(models.relation.half_life))
    parts = [TimeInputs.of(index, part.histories, part.history, part.relation, models.relation) for part in asked]
    inputs = TimeInputs(
        np.concatenate([part.popularity for part in parts]),
        np.concatenate([part.features for part in parts]),
        models.relation.half_life,
    )
    return bounds, inputs, np.concatenate([interval_of(part, bounds) for part in asked])


def _events(interval: Positions, bounds: Positions) -> int:
    return int(np.count_nonzero(interval < len(bounds) - 1))


def _exposure(interval: Positions, count: int) -> tuple[Positions, Positions, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Question and interval of every interval up to the event, and whether the event is in it."""
    question, column = np.nonzero(np.arange(count) <= interval[:, None])
    return question, column, column == interval[question]


def _factor(log_expected: Floats, interval: Positions) -> float:
    """The factor of the expected events under which the answers are most probable."""
    question, column, happened = _exposure(interval, log_expected.shape[1])
    [weight] = fit_hazard(np.ones((len(question), 1)), log_expected[question, column], happened)
    return float(np.exp(weight))
