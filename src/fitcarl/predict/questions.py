"""Tables of queries: files, data frames and records with the columns subject, relation, object and at."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitcarl.data.io.formats import Format, format_of
from fitcarl.data.io.frames import is_frame, to_polars
from fitcarl.data.io.limits import check_decoded_size
from fitcarl.data.io.parquet import damage_as_input_error
from fitcarl.data.io.parquet_footer import read_footer
from fitcarl.data.io.separators import OWN, WHITESPACE, likely_separators
from fitcarl.data.io.source import read_bytes, read_text
from fitcarl.data.io.table import table_of_text
from fitcarl.data.moments import time_text
from fitcarl.data.name_rules import is_unicode, name_problem
from fitcarl.errors import InputError, did_you_mean
from fitcarl.predict.query import Query

if TYPE_CHECKING:
    import polars as pl

Cell = str | int | None
"""A value of a table; None if it is empty."""

_NAMES = ("subject", "relation", "object")
_TIMES = ("at", "as_of", "horizon")
_IDS = ("id", "question")
_ALIASES = {"time": "at"}
COLUMNS = (*_NAMES, *_TIMES, *_IDS)
"""Columns of a table of queries that are read."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Columns:
    """Columns of a table by name."""

    values: Mapping[str, Sequence[Cell]]
    rows: int
    file: Path | None = None
    line: Callable[[int], int] = field(default=lambda row: row + 1)
    """Line of the file (record of a Parquet file or of a data frame), counted from 1, of a row counted from 0."""

    def get(self, column: str, row: int) -> Cell:
        """A value; None if it is empty or there is no such column."""
        return self.values[column][row] if column in self.values else None

    def locate(self, error: InputError, row: int) -> InputError:
        """The same error with the file and the row."""
        return locate(error, self.file, self.line(row))


def locate(error: InputError, file: Path | str | None, row: int) -> InputError:
    """The same error with a file and a row.

    Args:
        error: The error.
        file: The file, if there is one.
        row: The row, counted from 1.
    """
    about = {"field": error.field, "found": error.found, "expected": error.expected, "hint": error.hint}
    return InputError(error.problem, file=file, row=row, **about)  # type: ignore[arg-type]


@dataclass(frozen=True)
class QueryRow:
    """One row of a table of queries."""

    id: str | int
    """Value of the column ``id`` or ``question``, otherwise the number of the row, from 1."""
    line: int
    """Where the row is: line of a file, or number of the row, from 1."""
    query: Query | None
    """None if the row is not a query."""
    error: InputError | None = None
    """Why the query cannot be answered."""
    given: Mapping[str, Cell] = field(default_factory=dict)
    """The values of the row, for rows without a query."""

    def text(self, column: str) -> str | None:
        """The value of a column; None if it is empty."""
        value = self.given.get(column) if self.query is None else getattr(self.query, column)
        return None if value is None else str(value)


QueryOptions = Mapping[str, Any]
"""Values of the fields of ``Query`` that a table does not have, or where a cell is empty."""


def read_queries(file: Path, options: QueryOptions, format: str | None = None) -> list[QueryRow]:
    """The queries of a CSV, TSV, JSONL or Parquet file; rows that are no query have an error.

    Args:
        file: The file; the first row of a CSV or TSV file names the columns.
        options: Fields of all queries, such as ``top``.
        format: ``csv``, ``tsv``, ``jsonl`` or ``parquet``; by default by the suffix.

    Raises:
        InputError: If the file cannot be read, or a required column is missing.
    """
    return _parse(read_query_columns(file, COLUMNS, format_of(file, format)), options)


def parse_queries(given: Any, options: QueryOptions) -> list[QueryRow]:
    """The queries of a data frame or of a sequence; rows that are no query have an error.

    Args:
        given: A data frame (polars, pandas, pyarrow, or anything with ``__arrow_c_stream__``), or a sequence of
            mappings or of ``Query`` objects.
        options: Fields of all queries; ``Query`` objects are not changed.

    Raises:
        InputError: If a required column is missing.
    """
    if not is_frame(given):
        given = list(given)
        if all(isinstance(row, Query) for row in given):
            return [QueryRow(number, number, query) for number, query in enumerate(given, 1)]
    return _parse(given_columns(given, COLUMNS), options)


def given_columns(given: Any, known: Sequence[str]) -> Columns:
    """The known columns of a data frame or of a sequence of mappings.

    Args:
        given: The data frame or the mappings.
        known: Columns that are read; others are ignored, and a message names them.
    """
    if is_frame(given):
        return _from_frame(to_polars(given), known, None)
    rows = list(given)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            expected = "a mapping with the keys subject, relation, object and at, or only Query objects"
            raise InputError("not a query", row=number, found=str(row), expected=expected)
    return _from_records(rows, known, None)


def read_query_columns(file: Path, known: Sequence[str], format: Format) -> Columns:
    """The known columns of a file with a header.

    Args:
        file: The file.
        known: Columns that are read; others are ignored, and a message names them.
        format: The format of the file.
    """
    if format == "parquet":
        return _from_frame(_read_parquet(file), known, file)
    if format == "jsonl":
        records = read_text(file).decode()
        rows = [_record(file, *row) for row in enumerate(records.split("\n"), 1) if records]
        return _from_records(rows, known, file)
    text = read_text(file)
    lines = [line.decode() for line in text.split(b"\n", 50)[:50]]
    separator = next(mark for mark in (*likely_separators(lines, format), OWN[format]) if mark != WHITESPACE)
    table = table_of_text(file, text, separator, quoted=separator != "\t")
    if not len(table):
        raise InputError("an empty file", file=file, expected="a header and one row per query")
    places = _places(table.row(0), known, file)
    columns = table.columns(list(places.values()), skip=1)
    values = {name: [cell or None for cell in column.to_list()] for name, column in zip(places, columns, strict=True)}
    return Columns(values, len(table) - 1, file, lambda row: table.line(row + 1))


def _places(names: Sequence[str], known: Sequence[str], file: Path | None) -> dict[str, int]:
    """Known column → its position."""
    places: dict[str, int] = {}
    ignored = []
    for position, name in enumerate(names):
        plain = name.strip().lower()
        column = plain if plain in known else _ALIASES.get(plain, plain)
        if column not in known:
            ignored.append(name)
        elif column in places:
            raise InputError("two columns for one field", file=file, field=column, found=name, expected="one of them")
        else:
            places[column] = position
    if not places:
        hint = did_you_mean(names[0], known) if names else ""
        expected = f"a header with some of {', '.join(known)}"
        raise InputError("no known column", file=file, found=", ".join(names), expected=expected, hint=hint)
    if ignored:
        _log.info("%signored columns: %s", f"{file}: " if file else "", ", ".join(ignored))
    return places


def _from_frame(frame: pl.DataFrame, known: Sequence[str], file: Path | None) -> Columns:
    places = _places(frame.columns, known, file)
    values = {name: _cells(frame.to_series(position), name, file) for name, position in places.items()}
    return Columns(values, len(frame), file)


def _cells(series: pl.Series, name: str, file: Path | None) -> list[Cell]:
    """A column as text or integers; dates and datetimes as ISO 8601."""
    import polars as pl

    kind = series.dtype
    if kind in (pl.Null, pl.Categorical, pl.Enum) or kind.is_integer():
        series = series if kind.is_integer() else series.cast(pl.String)
    elif kind == pl.Date:
        series = series.cast(pl.String)
    elif isinstance(kind, pl.Datetime):
        series = series.dt.convert_time_zone("UTC") if kind.time_zone else series
        midnight = bool((series.drop_nulls().dt.truncate("1d") == series.drop_nulls()).all())
        series = series.dt.strftime("%Y-%m-%d" if midnight else "%Y-%m-%dT%H:%M:%S")
    elif kind != pl.String:
        expected = "text, integers or dates"
        raise InputError("a column of the wrong type", file=file, field=name, found=str(kind), expected=expected)
    return [None if cell == "" else cell for cell in series.to_list()]


def _from_records(records: Sequence[Mapping[Any, Any]], known: Sequence[str], file: Path | None) -> Columns:
    names = list(dict.fromkeys(str(key) for record in records for key in record))
    if not records:
        return Columns({}, 0, file)
    places = _places(names, known, file)
    values: dict[str, list[Cell]] = {}
    for column, position in places.items():
        values[column] = [_cell(record.get(names[position]), column, file, row) for row, record in enumerate(records)]
    return Columns(values, len(records), file)


def _cell(value: Any, column: str, file: Path | None, row: int) -> Cell:
    if isinstance(value, str) and not is_unicode(value):
        problem, expected = "an unpaired surrogate", "Unicode text"
        raise InputError(problem, file=file, row=row + 1, field=column, found=value, expected=expected)
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return None if value == "" else value
    if column in ("at", "as_of"):
        with suppress(InputError):
            return time_text(value)
    expected = "text, an integer or nothing"
    raise InputError(
        "a value of the wrong type", file=file, row=row + 1, field=column, found=str(value), expected=expected
    )


def _record(file: Path, row: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise InputError("not a JSON object", file=file, row=row, found=line, expected="one JSON object per line")
    return record


def _read_parquet(file: Path) -> pl.DataFrame:
    import polars as pl

    content = read_bytes(file)
    footer = read_footer(file, content)
    check_decoded_size(file, footer.rows, footer.check_pages(footer.columns))
    with damage_as_input_error(file):
        return pl.read_parquet(io.BytesIO(content))


def row_ids(columns: Columns) -> list[str | int]:
    """The column ``id`` or ``question``, or the numbers of the rows from 1.

    Raises:
        InputError: If there are both, or an id is missing or repeated.
    """
    named = [name for name in _IDS if name in columns.values]
    if not named:
        return list(range(1, columns.rows + 1))
    if len(named) > 1:
        raise InputError("two columns of ids", file=columns.file, found=" and ".join(named), expected="one of them")
    values = columns.values[named[0]]
    ids: dict[str | int, None] = {}
    text = any(isinstance(value, str) for value in values)
    for row, value in enumerate(values):
        if value is None or (str(value) if text else value) in ids:
            problem = "an empty id" if value is None else "a repeated id"
            error = InputError(problem, field=named[0], found=value, expected="a different id in each row")
            raise columns.locate(error, row)
        ids[str(value) if text else value] = None
    return list(ids)


def _parse(columns: Columns, options: QueryOptions) -> list[QueryRow]:
    """The rows of a table as queries."""
    if columns.rows and not {"subject", "object"} & columns.values.keys():
        found = ", ".join(columns.values)
        raise InputError("no column for the entity", file=columns.file, found=found, expected="subject or object")
    if columns.rows and "at" not in columns.values and options.get("at") is None:
        found = ", ".join(columns.values)
        raise InputError("no column for the time", file=columns.file, found=found, expected="at")
    rows = []
    for row, id in enumerate(row_ids(columns)):
        given = {name: columns.get(name, row) for name in (*_NAMES, *_TIMES)}
        try:
            query, error = make_query(given, options), None
        except InputError as problem:
            query, error = None, columns.locate(problem, row)
        rows.append(QueryRow(id, columns.line(row), query, error, given))
    return rows


def make_query(given: Mapping[str, Cell], options: QueryOptions) -> Query:
    """A query from the values of a row.

    Args:
        given: Values by column; None if a cell is empty.
        options: Values of further fields, and of empty cells.
    """
    values = {name: None if value is None else str(value) for name, value in given.items()}
    values = {name: options.get(name) if value is None else value for name, value in values.items()}
    check_names({name: values.get(name) for name in _NAMES})
    if values.get("at") is None:
        raise InputError("no value", field="at", expected="a time")
    return Query(**{**options, **values})


def check_names(names: Mapping[str, str | None]) -> None:
    """Raises an InputError if a given name is not valid in a table."""
    for name, value in names.items():
        if value is not None and (problem := name_problem(value)):
            raise InputError(problem, field=name, found=value, expected="a name on one line")


def checked(rows: Iterable[QueryRow], check: Callable[[Query], None], file: Path | None) -> list[QueryRow]:
    """The rows, with an error where ``check`` raises one.

    Args:
        rows: The rows.
        check: Raises an InputError if a query cannot be answered.
        file: The file that errors name.
    """
    found = []
    for row in rows:
        if row.query is not None and row.error is None:
            try:
                check(row.query)
            except InputError as error:
                row = QueryRow(row.id, row.line, row.query, locate(error, file, row.line), row.given)
        found.append(row)
    return found
