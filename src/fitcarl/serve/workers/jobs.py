"""What the model is asked to do, and how it does it: the same in this process and in one of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fitcarl.errors import FitcarlError, InputError
from fitcarl.predict.fact import Fact
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.query import Query


@dataclass(frozen=True)
class Job:
    """A question; with an entity, the question why that is an answer."""

    query: Query
    entity: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"query": self.query.to_json(), "entity": self.entity}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Job:
        asked = told["query"]
        without = tuple(Fact(**fact) for fact in asked["without"])
        return cls(Query(**{**asked, "without": without}), told["entity"])


class InvalidInputError(FitcarlError):
    """What the client gave cannot be used: an InputError as it travels between processes."""

    def __init__(self, message: str, field: str | None, found: str) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.found = found

    @classmethod
    def of(cls, error: InputError) -> InvalidInputError:
        return cls(str(error), error.field, str(error.found))


Outcome = bytes | Exception
"""An answer as JSON, ready to be sent, or why there is none: an InvalidInputError, or a fault."""


class Worker(Protocol):
    """Something that does jobs; may be called from several threads."""

    def perform(self, jobs: Sequence[Job], facts: Sequence[Fact]) -> list[Outcome]:
        """What came of each job, over these facts."""
        ...


class LocalWorker:
    """Jobs done by a predictor in this process."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def perform(self, jobs: Sequence[Job], facts: Sequence[Fact]) -> list[Outcome]:
        try:
            return list(self._answers(jobs, facts))
        except Exception as trouble:
            if len(jobs) == 1:
                return [InvalidInputError.of(trouble) if isinstance(trouble, InputError) else trouble]
        return [self.perform([job], facts)[0] for job in jobs]  # one spoils it for all: each by itself

    def _answers(self, jobs: Sequence[Job], facts: Sequence[Fact]) -> Iterable[bytes]:
        asked = [job.query for job in jobs if job.entity is None]
        answers = iter(self._predictor.answer(asked, facts) if asked else ())
        for job in jobs:
            told = next(answers).to_json() if job.entity is None else self._explained(job.query, job.entity, facts)
            yield json.dumps(told, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    def _explained(self, query: Query, entity: str, facts: Sequence[Fact]) -> dict[str, Any]:
        found = self._predictor.explain_entity(query, entity, facts, query.paths)
        return {
            "query": query.to_json(),
            "entity": entity,
            "rank": None if found is None else found.rank,
            "share": 0.0 if found is None else found.share,
            "paths": [] if found is None else [path.to_json() for path in found.paths],
        }


def warm_up(predictor: Predictor) -> None:
    """Answers once, so that the first client does not wait for what is compiled or loaded on first use."""
    example = predictor.example()
    if example is not None:
        predictor.answer([example.query], example.facts)
        return
    busiest = int(np.argmax(np.diff(predictor.run.context.graph.base.offsets)))
    last = predictor.calendar.label(predictor.calendar.span - 1)
    predictor.answer([Query(predictor.entities[busiest], None, predictor.relations[0], last)], [])
