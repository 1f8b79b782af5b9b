"""A file of queries to a file of answers, whole or in parts that any process can compute."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import fitcarl
from fitcarl.core.progress import OnProgress
from fitcarl.core.shards import Shard, check_record
from fitcarl.core.tables import read_record, table_writer
from fitcarl.data.io.source import is_stdin
from fitcarl.errors import InputError
from fitcarl.predict.answering import answer_frames, check_rows
from fitcarl.predict.fact import CheckedFact
from fitcarl.predict.predictions import OnError
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.questions import read_queries
from fitcarl.runs.identity import run_identity
from fitcarl.runs.layout import RunFolder


@dataclass(frozen=True)
class AnswerJob:
    """What is answered and where the answers go; it can be sent to another process."""

    run: Path
    questions: Path
    out: Path
    """The file of all answers."""
    facts: tuple[CheckedFact, ...]
    options: Mapping[str, Any]
    """Values of the fields of all queries."""
    errors: OnError
    record: Mapping[str, Any]
    """What the answers are computed from (``answer_record``)."""

    def record_of(self, shard: Shard) -> dict[str, Any]:
        """What a part is computed from.

        Args:
            shard: The part.
        """
        return {**self.record, "shard": str(shard)}


@dataclass(frozen=True)
class AnsweredPart:
    """A part that was written."""

    file: Path
    queries: int
    failed: int
    """Queries that cannot be answered."""
    first_error: str | None


def answer_record(
    run: Path, questions: Path, facts: Path | None, how: Mapping[str, Any], options: Mapping[str, Any], errors: OnError
) -> dict[str, Any]:
    """What the answers to a file of queries are computed from; no file is parsed.

    Args:
        run: The run folder.
        questions: The file of queries.
        facts: The file of new facts.
        how: How the new facts are read.
        options: Values of the fields of all queries.
        errors: What happens to rows that cannot be answered.

    Raises:
        InputError: If a file cannot be read, or is standard input, which a part cannot be compared with.
    """
    return {
        "run": run_identity(RunFolder(run).updated()),
        "questions": _file_digest(questions, "--questions"),
        "facts": None if facts is None else _file_digest(facts, "--facts"),
        "how": json.dumps(dict(how), sort_keys=True, default=str),
        "options": json.dumps(dict(options), sort_keys=True, default=str),
        "errors": errors,
        "version": fitcarl.__version__,
    }


def existing_part(job: AnswerJob, shard: Shard) -> AnsweredPart | None:
    """A part that was computed already; None if there is none.

    Args:
        job: The queries.
        shard: The part.

    Raises:
        InputError: If it was computed from another run, other queries, facts or options.
    """
    file = shard.path(job.out)
    if not file.exists():
        return None
    about = read_record(file) or {}
    hint = "--overwrite computes it again, or use another --out"
    check_record(file, about.get("computed_from"), job.record_of(shard), hint)
    try:
        return AnsweredPart(file, int(about["queries"]), int(about["failed"]), about["first_error"])
    except (KeyError, TypeError, ValueError):
        raise InputError("is damaged", file=file, expected="a part that fitcarl wrote", hint=hint) from None


def answer_part(
    job: AnswerJob, shard: Shard, predictor: Predictor | None = None, on_progress: OnProgress | None = None
) -> AnsweredPart:
    """Answers a part of the queries; the file of the part appears when all of its answers are written.

    Args:
        job: The queries.
        shard: The part.
        predictor: The predictor of the run; by default it is loaded, once per process.
        on_progress: Called after every batch of queries.

    Raises:
        InputError: If the queries cannot be read, or one cannot be answered and ``errors`` is ``raise``.
    """
    predictor = predictor or _loaded(job.run, str(job.record.get("run")))
    planner = predictor.planner(job.facts)
    rows = read_queries(job.questions, job.options)
    low, high = shard.bounds(len(rows))
    chosen = check_rows(planner, rows[low:high], job.errors, job.questions)
    failed = [row.error for row in chosen if row.error is not None]
    part = AnsweredPart(shard.path(job.out), len(chosen), len(failed), str(failed[0]) if failed else None)
    counts = {"queries": part.queries, "failed": part.failed, "first_error": part.first_error}
    about = None if shard.is_all else {"computed_from": job.record_of(shard), **counts}
    with table_writer(part.file, about) as writer:
        for frame in answer_frames(planner, chosen, rows, job.errors == "return", on_progress):
            writer.write(frame)
    return part


@lru_cache(maxsize=1)
def _loaded(run: Path, _identity: str) -> Predictor:
    """The predictor of a run; a process that answers several parts loads it once."""
    return Predictor.load(run)


def _file_digest(path: Path, option: str) -> str:
    """sha256 of a file."""
    if is_stdin(path):
        raise InputError("standard input has no parts", field=option, found=str(path), expected="a file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError("no such file", file=path, expected="an existing file") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, expected="a readable file") from None
