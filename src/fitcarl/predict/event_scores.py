"""Scores of given facts: how likely each was as the answer to its own query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.progress import OnProgress, Progress
from fitcarl.data.io.formats import format_of
from fitcarl.errors import InputError
from fitcarl.predict.answering import ROWS, check_rows
from fitcarl.predict.batch import AnsweredBatch
from fitcarl.predict.planner import QueryPlanner
from fitcarl.predict.predictions import OnError, RowError
from fitcarl.predict.query import Query
from fitcarl.predict.questions import Columns, QueryRow, check_names, given_columns, locate, read_query_columns, row_ids

if TYPE_CHECKING:
    import polars as pl

End = Literal["object", "subject"]
"""The end of a fact that is predicted from the other one."""
_KNOWN = ("subject", "relation", "object", "at", "id", "question")
_FACT = ("subject", "relation", "object", "at")


@dataclass(frozen=True)
class EventScore:
    """How likely a given fact was, from the facts that its query may use; the fact itself is never among them."""

    share: float
    """Calibrated probability of the entity; 0 if the model does not list it."""
    rank: int | None
    """Rank among all listed entities, from 1; None if the model does not list the entity."""
    candidates: int
    """Number of entities that the model lists."""
    percentile: float
    """From 0 to 100: the probability, by the shares, of an answer that is at most as likely as this one. 100 for the
    most likely answer; small values are surprising."""
    validation_percentile: float | None = None
    """From 0 to 100: facts of meta-validation whose share was at most this one; None if not compared."""


@dataclass(frozen=True)
class EventScores:
    """The scores of a table of facts."""

    rows: tuple[QueryRow, ...]
    """All rows of the table."""
    scores: tuple[EventScore | None, ...]
    """The score of each row; None if it has an error."""
    with_errors: bool = False
    """Whether ``to_frame`` has a column ``error``, and a row for each fact that cannot be scored."""

    @property
    def errors(self) -> tuple[RowError, ...]:
        """The rows that cannot be scored."""
        return tuple(RowError(row.id, row.line, row.error) for row in self.rows if row.error is not None)

    def to_frame(self) -> pl.DataFrame:
        """One row per fact: event, subject, relation, object, time, share, rank, candidates and percentiles."""
        import polars as pl

        kept = [pair for pair in zip(self.rows, self.scores, strict=True) if pair[1] is not None or self.with_errors]
        numbered = all(isinstance(row.id, int) for row in self.rows)
        columns: dict[str, tuple[Any, list[Any]]] = {
            "event": (pl.Int64 if numbered else pl.String, [row.id for row, _ in kept])
        }
        for name in _FACT:
            given = [row.given[name] for row, _ in kept]
            texts = [None if value is None else str(value) for value in given]
            columns["time" if name == "at" else name] = pl.String, texts
        kinds = {"share": pl.Float64, "rank": pl.Int64, "candidates": pl.Int64}
        kinds |= dict.fromkeys(("percentile", "validation_percentile"), pl.Float64)
        for name, kind in kinds.items():
            columns[name] = kind, [None if score is None else getattr(score, name) for _, score in kept]
        if self.with_errors:
            columns["error"] = pl.String, [None if row.error is None else str(row.error) for row, _ in kept]
        schema = {name: kind for name, (kind, _) in columns.items()}
        return pl.DataFrame({name: values for name, (_, values) in columns.items()}, schema=schema)


def read_events(file: Path, predict: End, options: Mapping[str, Any], format: str | None = None) -> list[QueryRow]:
    """The queries of the facts of a file; rows that are no fact have an error.

    Args:
        file: A CSV, TSV, JSONL or Parquet file with the columns subject, relation, object and time.
        predict: The end that is predicted.
        options: Fields of all queries.
        format: The format; by default by the suffix.
    """
    return _rows(read_query_columns(file, _KNOWN, format_of(file, format)), predict, options)


def parse_events(given: Any, predict: End, options: Mapping[str, Any]) -> list[QueryRow]:
    """The queries of the facts of a data frame or of a sequence; rows that are no fact have an error.

    Args:
        given: A data frame, or a sequence of mappings or of facts.
        predict: The end that is predicted.
        options: Fields of all queries.
    """
    if isinstance(given, Sequence):
        named = (dict(zip(_FACT, row, strict=False)) if isinstance(row, tuple | list) else row for row in given)
        given = list(named)
    return _rows(given_columns(given, _KNOWN), predict, options)


def _rows(columns: Columns, predict: End, options: Mapping[str, Any]) -> list[QueryRow]:
    if predict not in get_args(End):
        raise InputError("unknown value", field="predict", found=predict, expected="object or subject")
    missing = [name for name in _FACT if name not in columns.values]
    if columns.rows and missing:
        names = ("time" if name == "at" else name for name in missing)
        found = ", ".join(columns.values)
        raise InputError(f"no column for the {' and the '.join(names)}", file=columns.file, found=found)
    rows = []
    for row, id in enumerate(row_ids(columns)):
        given = {name: columns.get(name, row) for name in _FACT}
        line = columns.line(row)
        try:
            rows.append(QueryRow(id, line, _query(given, predict, options), None, given))
        except InputError as error:
            rows.append(QueryRow(id, line, None, locate(error, columns.file, line), given))
    return rows


def _query(given: Mapping[str, Any], predict: End, options: Mapping[str, Any]) -> Query:
    texts = {name: None if value is None else str(value) for name, value in given.items()}
    for name, value in texts.items():
        if value is None:
            field = "time" if name == "at" else name
            raise InputError("no value", field=field, expected="a fact: subject, relation, object and time")
    check_names({name: texts[name] for name in ("subject", "relation", "object")})
    return Query(**{**options, **texts, predict: None})


def score_events(
    planner: QueryPlanner,
    rows: Sequence[QueryRow],
    errors: OnError,
    predict: End,
    validation: NDArray[np.float64] | None = None,
    file: Path | None = None,
    on_progress: OnProgress | None = None,
) -> EventScores:
    """Scores the facts of a table in batches.

    Args:
        planner: The planner of the call.
        rows: The rows.
        errors: What happens to rows that cannot be scored.
        predict: The end that is predicted.
        validation: float64, ascending: shares of true answers to compare with.
        file: The file that errors name.
        on_progress: Called after every batch of queries.
    """
    checked = check_rows(planner, rows, errors, file)
    scores: list[EventScore | None] = []
    for low in range(0, len(checked), ROWS):
        chunk = checked[low : low + ROWS]
        usable = [index for index, row in enumerate(chunk) if row.error is None]
        found: list[EventScore | None] = [None] * len(chunk)
        for batch in planner.answer_in_batches([chunk[index].query for index in usable]):  # type: ignore[misc]
            for place, index in enumerate(batch.indices):
                row = usable[index]
                name = str(chunk[row].given[predict])
                found[row] = _score(batch, place, planner.entities.find(name), validation)
        scores += found
        if on_progress is not None:
            on_progress(Progress("facts", low + len(chunk), len(checked), "facts"))
    return EventScores(tuple(checked), tuple(scores), errors == "return")


def _score(batch: AnsweredBatch, row: int, entity: int | None, validation: NDArray[np.float64] | None) -> EventScore:
    listed, _, shares = batch.ranked(row)
    place = np.flatnonzero(listed == entity) if entity is not None else np.empty(0, np.int64)
    rank = int(place[0]) if len(place) else None
    share = 0.0 if rank is None else float(shares[rank])
    # Everything that is more likely: those with a larger share, so that equal ones count as equally likely.
    above = float(shares[shares > share].sum())
    compared = (
        None if validation is None else 100 * float(np.searchsorted(validation, share, "right")) / len(validation)
    )
    return EventScore(share, None if rank is None else rank + 1, len(listed), 100 * max(0.0, 1 - above), compared)
