"""Answers to a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fitcarl.config.base import Setting
from fitcarl.predict.query import Query
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
    """Calibrated probability of this answer among all entities, those not listed included."""
    concepts: tuple[str, ...]
    """Concepts (types) of the entity."""
    paths: tuple[ExplanationPath, ...]
    """The most probable paths, best first."""

    def to_json(self) -> dict[str, Any]:
        return AnswerSchema.model_validate(self).to_json()


@dataclass(frozen=True)
class Prediction:
    """A query and its answers, best first; a sequence of answers."""

    query: Query
    answers: tuple[Answer, ...]
    trained_for: Setting = "completion"
    """The setting that the run was trained for."""

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
