"""How jobs and their outcomes travel between processes: a line of JSON, and after outcomes the answers as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO

from fitcarl.predict.fact import Fact
from fitcarl.serve.workers.jobs import InvalidInputError, Job, Outcome


class WorkerError(Exception):
    """Something went wrong in the other process; its log says more."""


def send_jobs(out: IO[bytes], jobs: Sequence[Job], facts: Sequence[Fact]) -> None:
    _send(out, {"jobs": [job.to_json() for job in jobs], "facts": facts})


def receive_jobs(source: IO[bytes]) -> tuple[list[Job], list[Fact]] | None:
    """The next jobs; None when there will be no more."""
    line = source.readline()
    if not line:
        return None
    told = json.loads(line)
    return [Job.from_json(job) for job in told["jobs"]], [Fact(*fact) for fact in told["facts"]]


def send_outcomes(out: IO[bytes], outcomes: Sequence[Outcome]) -> None:
    answers = [outcome for outcome in outcomes if isinstance(outcome, bytes)]
    _send(out, [_heading(outcome) for outcome in outcomes], *answers)


def receive_outcomes(source: IO[bytes]) -> list[Outcome]:
    """What came of the jobs last sent; an EOFError if the other process is gone."""
    line = source.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return [_outcome(source, heading) for heading in json.loads(line)]


def _send(out: IO[bytes], heading: object, *more: bytes) -> None:
    out.write(b"".join([json.dumps(heading).encode(), b"\n", *more]))
    out.flush()


def _heading(outcome: Outcome) -> dict[str, object]:
    if isinstance(outcome, bytes):
        return {"bytes": len(outcome)}
    if isinstance(outcome, InvalidInputError):
        return {"mistake": [outcome.message, outcome.field, outcome.found]}
    return {"fault": f"{type(outcome).__name__}: {outcome}"}


def _outcome(source: IO[bytes], heading: dict[str, object]) -> Outcome:
    match heading:
        case {"bytes": int(size)}:
            answer = source.read(size)
            if len(answer) < size:
                raise EOFError
            return answer
        case {"mistake": [str(message), field, str(found)]}:
            return InvalidInputError(message, None if field is None else str(field), found)
    return WorkerError(str(heading.get("fault")))
