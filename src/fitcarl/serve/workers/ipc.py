"""Messages between the service and its worker processes: one line of JSON, followed by the answers as raw bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO

from fitcarl.predict.fact import CheckedFact
from fitcarl.serve.workers.jobs import InvalidInputError, Job, Outcome


class WorkerError(Exception):
    """An unexpected error in the worker process, whose log contains the details."""


def send_jobs(out: IO[bytes], jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> None:
    """Sends jobs that use the same facts."""
    _send(out, {"jobs": [job.to_json() for job in jobs], "facts": facts})


def receive_jobs(source: IO[bytes]) -> tuple[list[Job], list[CheckedFact]] | None:
    """The next jobs; None at the end of the stream."""
    line = source.readline()
    if not line:
        return None
    message = json.loads(line)
    return [Job.from_json(job) for job in message["jobs"]], [CheckedFact(*fact) for fact in message["facts"]]


def send_outcomes(out: IO[bytes], outcomes: Sequence[Outcome]) -> None:
    """Sends the outcomes of jobs."""
    answers = [outcome for outcome in outcomes if isinstance(outcome, bytes)]
    _send(out, [_header(outcome) for outcome in outcomes], *answers)


def receive_outcomes(source: IO[bytes]) -> list[Outcome]:
    """The outcomes of the jobs sent last; an EOFError if the other process has ended."""
    line = source.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return [_outcome(source, header) for header in json.loads(line)]


def _send(out: IO[bytes], header: object, *content: bytes) -> None:
    out.write(b"".join([json.dumps(header).encode(), b"\n", *content]))
    out.flush()


def _header(outcome: Outcome) -> dict[str, object]:
    if isinstance(outcome, bytes):
        return {"bytes": len(outcome)}
    if isinstance(outcome, InvalidInputError):
        return {"invalid_input": [outcome.message, outcome.field, outcome.found]}
    return {"error": f"{type(outcome).__name__}: {outcome}"}


def _outcome(source: IO[bytes], header: dict[str, object]) -> Outcome:
    match header:
        case {"bytes": int(size)}:
            answer = source.read(size)
            if len(answer) < size:
                raise EOFError
            return answer
        case {"invalid_input": [str(message), field, str(found)]}:
            return InvalidInputError(message, None if field is None else str(field), found)
    return WorkerError(str(header.get("error")))
