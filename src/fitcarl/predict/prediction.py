"""Answers to a query."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fitcarl.config.base import Setting
from fitcarl.core.display import display_block, display_table
from fitcarl.predict.answer_table import answer_frame, explanation_of, rows_of_prediction
from fitcarl.predict.query import Direction, Query
from fitcarl.predict.schemas import AnswerSchema, PredictionSchema
from fitcarl.scoring.path import ExplanationPath

if TYPE_CHECKING:
    import polars as pl


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


@dataclass(frozen=True, repr=False)
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

    def to_frame(self) -> pl.DataFrame:
        """One row per answer as a polars DataFrame, with the columns of ``Predictions.to_frame``; ``question`` is 1.

        A prediction without answers has one row with an empty rank.
        """
        return answer_frame(list(rows_of_prediction(1, self)), numbered=True)

    def __repr__(self) -> str:
        best = f", best {self[0].entity!r} {self[0].share:.1%}" if self.answers else ""
        count = f"{len(self)} answer{'' if len(self) == 1 else 's'}"
        return f"Prediction({str(self.query)!r}, {count}{best})"

    def _repr_html_(self) -> str:
        """The answers with their best paths, and when the next fact occurs, for notebooks."""
        names = ["rank", "entity", "share", *["relation"] * self.query.is_open, "best path"]
        rows = [
            [a.rank, a.entity, f"{a.share:.1%}", *[_relation_text(a)] * self.query.is_open, explanation_of(a)]
            for a in self.answers
        ]
        tables = [display_table(names, rows, "rlr" + "l" * (len(names) - 3))]
        if self.when is not None:
            times = [(f"{part.start} – {part.end}", f"{part.share:.1%}") for part in self.when.intervals]
            times.append(("not within the horizon", f"{self.when.none:.1%}"))
            tables.append(display_table(["next such fact", "share"], times, "lr"))
        note = f"{self.setting}; {self.unlisted:.1%} for everything that is not listed"
        return display_block(str(self.query), *tables, notes=[note])


def _relation_text(answer: Answer) -> str:
    return answer.relation if answer.direction == "out" else f"{answer.relation} ⁻¹"
