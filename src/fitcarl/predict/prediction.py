"""What a predictor says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fitcarl.predict.query import Query
from fitcarl.scoring.path import ExplanationPath


@dataclass(frozen=True)
class Answer:
    """An entity, how likely it is among all answers, and why."""

    rank: int
    """Its place, from 1; equal scores are ordered by the entity's number."""
    entity: str
    score: float
    """What the agent gives it: a log-probability."""
    share: float
    """How likely it is, among all answers to the question, those not shown and those nobody thought of included."""
    concepts: tuple[str, ...]
    """What kind of actor it is."""
    paths: tuple[ExplanationPath, ...]
    """The most probable paths to it, best first."""

    def to_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "entity": self.entity,
            "score": self.score,
            "share": self.share,
            "concepts": list(self.concepts),
            "paths": [path.to_json() for path in self.paths],
        }


@dataclass(frozen=True)
class Prediction:
    """The answers to a question, best first."""

    query: Query
    answers: tuple[Answer, ...]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: int) -> Answer:
        return self.answers[place]

    def to_json(self) -> dict[str, Any]:
        return {"query": self.query.to_json(), "answers": [answer.to_json() for answer in self.answers]}
