"""Answers to queries over the facts of one call, and to tables of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fitcarl.core.progress import OnProgress, Progress
from fitcarl.errors import InputError
from fitcarl.predict.answer_table import frame_schema
from fitcarl.predict.open_queries import answer_any_relation, horizon_of, predict_time
from fitcarl.predict.planner import QueryPlanner
from fitcarl.predict.prediction import Prediction
from fitcarl.predict.predictions import OnError, Predictions, has_numbers
from fitcarl.predict.query import Query
from fitcarl.predict.questions import QueryRow, checked

if TYPE_CHECKING:
    import polars as pl

ROWS = 2048
"""Rows of a table of queries that are answered at once, which bounds memory."""


def answer_queries(planner: QueryPlanner, queries: Sequence[Query]) -> list[Prediction]:
    """Answers queries over the facts of a planner.

    Args:
        planner: The planner of a call.
        queries: Queries; those that use the same facts are scored together.
    """
    found = {index: answer_any_relation(planner, query) for index, query in enumerate(queries) if query.is_open}
    for batch in planner.answer_in_batches(queries):
        for row, index in enumerate(batch.indices):
            query = queries[index]
            answers, best = batch.top_answers(row, query)
            when = None if query.horizon is None else predict_time(planner, query, query.horizon)
            found[index] = Prediction(query, answers, planner.run.config.setting, when=when, best_share=best)
    return [found[index] for index in range(len(queries))]


def check_query(planner: QueryPlanner, query: Query) -> None:
    """Raises an InputError if a query cannot be answered; nothing is scored.

    Args:
        planner: The planner of the call.
        query: The query.
    """
    planner.check(query)
    if query.horizon is not None:
        horizon_of(planner.run, query.horizon)


def check_rows(
    planner: QueryPlanner, rows: Sequence[QueryRow], errors: OnError, file: Path | None = None
) -> list[QueryRow]:
    """Checks all rows of a table of queries; those that cannot be answered get an error.

    Args:
        planner: The planner of the call.
        rows: The rows.
        errors: Whether to ``raise`` the first error.
        file: The file that errors name.

    Raises:
        InputError: The first error, if ``errors`` is ``raise``.
    """
    if errors not in get_args(OnError):
        raise InputError("unknown value", field="errors", found=errors, expected="raise, skip or return")

    found = checked(rows, partial(check_query, planner), file)
    first = next((row.error for row in found if row.error is not None), None)
    if first is not None and errors == "raise":
        raise first
    return found


def answer_rows(
    planner: QueryPlanner, rows: Sequence[QueryRow], on_progress: OnProgress | None = None
) -> Iterator[Prediction | None]:
    """Answers checked rows of a table, some at a time; None for rows with an error.

    Args:
        planner: The planner of the call.
        rows: Rows of a table of queries.
        on_progress: Called after every batch of queries.
    """
    for low in range(0, len(rows), ROWS):
        chunk = rows[low : low + ROWS]
        queries = [row.query for row in chunk if row.error is None and row.query is not None]
        found = iter(answer_queries(planner, queries))
        yield from (next(found) if row.error is None else None for row in chunk)
        if on_progress is not None:
            on_progress(Progress("queries", low + len(chunk), len(rows), "queries"))


def answer_frames(
    planner: QueryPlanner,
    rows: Sequence[QueryRow],
    table: Sequence[QueryRow],
    with_errors: bool,
    on_progress: OnProgress | None = None,
) -> Iterator[pl.DataFrame]:
    """Tables of answers to checked rows, some rows at a time; at least one table, possibly empty.

    Args:
        planner: The planner of the call.
        rows: Rows of a table of queries.
        table: All rows of the table, if ``rows`` are a part of them; they decide the types of columns.
        with_errors: Whether there is a column ``error``, and a row for each query that cannot be answered.
        on_progress: Called after every batch of queries.
    """
    import polars as pl

    schema = frame_schema(has_numbers(table), with_errors)
    predictions = answer_rows(planner, rows, on_progress)
    for low in range(0, max(len(rows), 1), ROWS):
        chunk = tuple(rows[low : low + ROWS])
        found = Predictions(chunk, tuple(next(predictions) for _ in chunk), with_errors)
        yield found.to_frame() if chunk else pl.DataFrame(schema=schema)
