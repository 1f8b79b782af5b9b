"""Answers to a query."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fitcarl.config.base import Setting
from fitcarl.predict.query import Direction, Query
from fitcarl.predict.schemas import AnswerSchema, PredictionSchema
from fitcarl.scoring.path import ExplanationPath


@dataclass(frozen=True)
class Answer:
    """An entity as an answer, with its calibrated probability and the paths that lead to it."""

    rank: int
    """Rank among all answers, from 1; equal scores are ordered by entity id."""
    entity: str
    score: float
    """Log-probability under the model."""
    share: float
    """Calibrated probability of this answer among all entities, those not listed included; if the relation is open,
    of relation, direction and entity together."""
    concepts: tuple[str, ...]
    """Concepts (types) of the entity."""
    paths: tuple[ExplanationPath, ...]
    """The most probable paths, best first."""
    relation: str
    """Relation of the predicted fact."""
    direction: Direction
    """``out`` if the query entity is the subject of the predicted fact, ``in`` if it is the object."""

    def to_json(self) -> dict[str, Any]:
        return AnswerSchema.model_validate(self).to_json()


@dataclass(frozen=True)
class RelationShare:
    """A relation and a direction with their calibrated probability."""

    relation: str
    direction: Direction
    share: float


@dataclass(frozen=True)
class TimeInterval:
    """An interval in which the next fact may occur."""

    start: str
    end: str
    """Its last time, included."""
    share: float
    """Probability that the first such fact is in this interval."""


@dataclass(frozen=True)
class TimePrediction:
    """When the next fact with the relation of the query occurs, regardless of the other entity."""

    intervals: tuple[TimeInterval, ...]
    """Consecutive intervals of the horizon; each is about twice as long as the one before."""
    none: float
    """Probability of no such fact within the horizon."""


@dataclass(frozen=True)
class Prediction:
    """A query and its answers, best first; a sequence of answers."""

    query: Query
    answers: tuple[Answer, ...]
    trained_for: Setting = "completion"
    """The setting that the run was trained for."""
    relations: tuple[RelationShare, ...] = ()
    """The most probable relations, if the relation is open; at most as many as answers."""
    left_out: float = 0.0
    """Probability of the relations whose entities were not scored, if the relation is open."""
    when: TimePrediction | None = None
    """When the next such fact occurs, if the query has a horizon."""
    best_share: float | None = None
    """Share of the best answer, even if it is below ``min_share``; None if the model has no answer at all."""

    @property
    def unlisted(self) -> float:
        """Probability of everything that is not among the answers: 1 minus their shares."""
        return max(0.0, 1.0 - math.fsum(answer.share for answer in self.answers))

    @property
    def setting(self) -> Setting:
        """``forecast`` if only facts before the time of the query were used, ``completion`` with hindsight."""
        return self.query.setting

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, index: int) -> Answer:
        return self.answers[index]

    def to_json(self) -> dict[str, Any]:
        return PredictionSchema.model_validate(self).to_json()
