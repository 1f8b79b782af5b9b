"""Jobs for the model and a worker that executes them, in this process or in a worker process."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fitcarl.errors import FitcarlError, InputError, UnusableRunError
from fitcarl.predict.fact import CheckedFact, Fact
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.query import Query
from fitcarl.predict.schemas import QuerySchema
from fitcarl.scoring.counterfactual import CounterfactualScorer


@dataclass(frozen=True)
class Job:
    """A query to answer, or with ``entity`` the explanation of that entity as an answer."""

    query: Query
    entity: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"query": QuerySchema.model_validate(self.query).to_json(), "entity": self.entity}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Job:
        return cls(QuerySchema.model_validate(value["query"]).to_query(), value["entity"])


class InvalidInputError(FitcarlError):
    """An InputError in a form that can be sent between processes."""

    def __init__(self, message: str, field: str | None, found: str) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.found = found

    @classmethod
    def from_error(cls, error: InputError) -> InvalidInputError:
        return cls(str(error), error.field, str(error.found))


View = Hashable
"""What a job sees besides its facts; jobs with the same facts and view share a call of the model."""


def view_of(job: Job, mixes_times: bool) -> View:
    """The view of a job.

    Args:
        job: The job.
        mixes_times: Whether the model scores queries with different limits of time together.
    """
    query = job.query
    if job.entity is not None or query.is_open or query.horizon is not None:
        return job  # computed on its own
    if query.hindsight:  # facts that state the answer are hidden, which are others for every query
        return query.entity, query.direction, query.relation, query.at, query.as_of, query.without
    return query.without, None if mixes_times else (query.at, query.as_of)


Outcome = bytes | Exception
"""The JSON response of a job, or the reason for its failure: an InvalidInputError or an unexpected error."""


class Worker(Protocol):
    """Executes jobs; may be called from several threads."""

    def run(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> list[Outcome]:
        """The outcome of each job over these facts."""
        ...

    def reload(self, predictor: Predictor) -> None:
        """Answers from the run as it is now in its folder; ``predictor`` has loaded it. Running jobs are finished."""
        ...

    def ready_count(self) -> int:
        """Number of processes that can execute jobs now or after their current ones."""
        ...


class LocalWorker:
    """Executes jobs with a predictor in this process."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def run(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> list[Outcome]:
        """The outcome of each job; if one fails, each job is executed on its own."""
        try:
            return list(self._responses(jobs, facts))
        except Exception as error:
            if len(jobs) == 1:
                return [_failure(error)]
        return [self.run([job], facts)[0] for job in jobs]

    def reload(self, predictor: Predictor) -> None:
        """Answers with another predictor from now on."""
        self._predictor = predictor

    def ready_count(self) -> int:
        """This process is always ready."""
        return 1

    def _responses(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> Iterable[bytes]:
        predictor = self._predictor  # the same for all jobs
        queries = [job.query for job in jobs if job.entity is None]
        predictions = iter(predictor.answer_checked(queries, facts) if queries else ())
        for job in jobs:
            if job.entity is None:
                value = next(predictions).to_json()
            else:
                value = predictor.explain_checked(job.query, job.entity, facts, job.query.paths).to_json()
            yield json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _failure(error: Exception) -> Exception:
    """What a job failed with: an InputError is the fault of the request, unless the run is unusable."""
    if isinstance(error, UnusableRunError):
        return RuntimeError(str(error))
    return InvalidInputError.from_error(error) if isinstance(error, InputError) else error


def warm_up(predictor: Predictor) -> None:
    """Answers and explains one query, so that the first requests do not wait for compilation and loading."""
    example = predictor.example()
    if example is not None:
        _answer_and_explain(predictor, example.query, example.facts)
        return
    busiest = int(np.argmax(np.diff(predictor.run.context.graph.base.offsets)))
    last = predictor.next_time()
    _answer_and_explain(predictor, Query(predictor.entities[busiest], None, predictor.relations[0], last), ())


def _answer_and_explain(predictor: Predictor, query: Query, facts: Sequence[Fact]) -> None:
    """Runs every compiled loop that a request may need."""
    [prediction] = predictor.answer([query], facts)
    if len(prediction) and isinstance(predictor.run.model.scorer(), CounterfactualScorer):  # others take seconds
        predictor.explain(query, prediction[0].entity, facts)
