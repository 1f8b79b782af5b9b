"""Readers for the four file formats of facts; each returns four columns of text."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from fitcarl.data.io.columns import (
    COLUMNS,
    FactColumns,
    check_columns,
    field_names,
    find_columns,
    has_header,
    missing_columns,
)
from fitcarl.data.io.table import Table, read_bytes, read_table, read_text
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Format = Literal["tsv", "csv", "parquet", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
_FORMAT_OF: dict[str, Format] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
ENDINGS: tuple[str, ...] = tuple(_FORMAT_OF)
"""Supported file name suffixes."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Days from 1970 to the years 1 and 9999, the range of ISO dates."""
_UNITS_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def format_of(path: Path, given: str | None = None) -> Format:
    """The given format, or the format of the file name's suffix."""
    if path.is_dir():
        raise InputError("a folder", file=path, expected="a file of facts")
    for format in FORMATS:
        if format == (given or _FORMAT_OF.get(path.suffix.lower())):
            return format
    known = f"one of {', '.join(FORMATS)}" if given else f"a format, or a suffix of {', '.join(_FORMAT_OF)}"
    raise InputError("unknown format", file=path, found=given or path.name, expected=known)


def read_columns(
    path: Path, format: Format, header: bool | Literal["auto"], columns: Sequence[str | int] | None
) -> FactColumns:
    """Subject, relation, object and time of a file; see ``read_facts`` for the arguments."""
    check_columns(path, columns)
    if format == "parquet":
        return _from_parquet(path, columns)
    if format == "jsonl":
        return _from_jsonl(path, columns)
    return _from_table(path, format == "csv", header, columns)


def _from_table(
    path: Path, comma: bool, header: bool | Literal["auto"], columns: Sequence[str | int] | None
) -> FactColumns:
    table = read_table(path, "," if comma else "\t", quoted=comma)
    if not len(table):
        raise InputError("an empty file", file=path, expected="facts: subject, relation, object, time")
    if table.width < len(COLUMNS):
        kind, missing = "commas" if comma else "tabs", missing_columns(table.row(0))
        named = len(missing) <= 2  # a single known name may be a coincidence: a relation can be called r
        problem = "too few columns" + (f", none for the {' and the '.join(missing)}" if named else "")
        expected, hint = f"at least 4, separated by {kind}", _other_separator(table)
        raise InputError(problem, file=path, row=1, found=table.width, expected=expected, hint=hint)
    first, second = table.row(0), table.row(1) if len(table) > 1 else None
    headed = has_header(first, second, columns) if header == "auto" else header
    names = first if headed else None
    positions = find_columns(path, names, table.width, columns)
    skip = int(headed)
    if len(table) == skip:
        raise InputError("a header without facts", file=path, row=1, expected="at least one fact below it")
    fields = field_names(positions, names)
    return FactColumns(path, tuple(table.columns(positions, skip)), fields, lambda row: table.line(row + skip))


def _other_separator(table: Table) -> str:
    """A hint if the first row contains enough of another common separator."""
    first = table.text.split(b"\n", 1)[0]
    for mark, name, advice in (
        (b"\t", "tabs", "read it with --format tsv"),
        (b",", "commas", "read it with --format csv"),
        (b";", "semicolons", "save it with commas or tabs"),
    ):
        if mark != table.separator.encode() and first.count(mark) >= len(COLUMNS) - 1:
            return f"the fields seem to be separated by {name}: {advice}"
    return ""


def _from_jsonl(path: Path, columns: Sequence[str | int] | None) -> FactColumns:
    text = read_text(path).decode()
    if not text:
        raise InputError("an empty file", file=path, expected="one JSON object per line")
    lines = text.split("\n")
    first = _record(path, 1, lines[0])
    names = list(first) if isinstance(first, dict) else None
    positions = find_columns(path, names, len(first), columns, ordered=names is None)
    keys: tuple[Any, ...] = positions if names is None else tuple(names[position] for position in positions)
    fields = field_names(positions, names)

    # This loop dominates the cost of reading JSONL; unusual lines are handled by the slower ``_jsonl_row``.
    decode, pick, kind, kinds = json.JSONDecoder().raw_decode, itemgetter(*keys), type(first), {str, int}
    rows: list[tuple[str | int, ...]] = []
    for number, line in enumerate(lines, start=1):
        try:
            record, end = decode(line)
            row = pick(record)
            usual = end == len(line) and type(record) is kind and kinds.issuperset(map(type, row))
        except (ValueError, LookupError, TypeError, RecursionError):
            usual = False
        rows.append(row if usual else _jsonl_row(path, number, line, kind, keys, fields))
    values = [[value if type(value) is str else str(value) for value in column] for column in zip(*rows, strict=True)]
    return FactColumns(path, _series(path, fields, values), fields, lambda row: row + 1)


def _record(path: Path, number: int, line: str) -> Any:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("not JSON", file=path, row=number, found=line, expected="one JSON object per line") from None
    if not isinstance(record, dict | list):
        raise InputError("not a record", file=path, row=number, found=line, expected="a JSON object or array")
    return record


def _jsonl_row(
    path: Path, number: int, line: str, kind: type, keys: Sequence[Any], fields: Sequence[str]
) -> tuple[str | int, ...]:
    """The four values of a line; an InputError if there are none."""
    record = _record(path, number, line)
    if not isinstance(record, kind):
        expected = f"a JSON {'object' if kind is dict else 'array'}, as in row 1"
        raise InputError("a record of another type", file=path, row=number, found=line, expected=expected)
    values: list[str | int] = []
    for key, field in zip(keys, fields, strict=True):
        try:
            value = record[key]  # type: ignore[index]
        except LookupError:
            raise InputError("no value", file=path, row=number, field=field, found=line, expected="a value") from None
        if type(value) not in (str, int):
            problem, found = "a value of the wrong type", json.dumps(value)
            raise InputError(problem, file=path, row=number, field=field, found=found, expected="text or an integer")
        values.append(value)
    return tuple(values)


def _series(path: Path, fields: Sequence[str], values: Sequence[list[str]]) -> tuple[pl.Series, ...]:
    import polars as pl

    try:
        return tuple(pl.Series(name, column, dtype=pl.String) for name, column in zip(COLUMNS, values, strict=True))
    except UnicodeEncodeError as error:
        # A JSON escape can encode an unpaired surrogate, which is not valid UTF-8.
        half = error.object
        position, row = next((position, column.index(half)) for position, column in enumerate(values) if half in column)
        raise InputError(
            "an unpaired surrogate", file=path, row=row + 1, field=fields[position], found=half, expected="Unicode text"
        ) from None


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Discards what compiled code writes to stderr; replacing ``sys.stderr`` does not affect it."""
    sys.stderr.flush()
    stderr_copy, devnull = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, 2)
        yield
    finally:
        os.dup2(stderr_copy, 2)
        os.close(stderr_copy)
        os.close(devnull)


def _from_parquet(path: Path, columns: Sequence[str | int] | None) -> FactColumns:
    import polars as pl

    content = read_bytes(path)
    if content[:4] != b"PAR1":
        raise InputError("not a Parquet file", file=path, found=content[:4], expected="a file that starts with PAR1")
    if content[-4:] != b"PAR1" or len(content) < 12:
        raise InputError("a truncated Parquet file", file=path, found=content[-4:], expected="PAR1 at its end")
    try:
        with _silent_stderr():  # polars prints long messages about some kinds of damage
            names = list(pl.read_parquet_schema(io.BytesIO(content)))
            positions = find_columns(path, names, len(names), columns)
            frame = pl.read_parquet(io.BytesIO(content), columns=[names[position] for position in positions])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"a damaged Parquet file ({reason})", file=path, expected="a readable file") from None
    if not len(frame):
        raise InputError("no facts", file=path, expected="at least one row")
    fields = field_names(positions, names)
    raw = FactColumns(path, tuple(frame[names[position]] for position in positions), fields, lambda row: row + 1)
    return FactColumns(path, tuple(_text_of(raw, column) for column in range(len(COLUMNS))), fields, raw.line)


def _text_of(raw: FactColumns, column: int) -> pl.Series:
    """A Parquet column as text: names and integers unchanged, dates and datetimes (in UTC) as ISO 8601."""
    import polars as pl

    series = raw.values[column]
    if series.null_count():
        row = int(series.is_null().arg_max() or 0)
        raise raw.error("no value", column, row, "null", "no nulls")
    kind = series.dtype
    if kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if COLUMNS[column] != "time" or kind not in (pl.Date, pl.Datetime):
        types = "text or integers" + (", dates or datetimes" if COLUMNS[column] == "time" else "")
        raise raw.error("a column of the wrong type", column, 0, str(kind), types)
    days = series.to_physical() // (_UNITS_PER_DAY[kind.time_unit] if isinstance(kind, pl.Datetime) else 1)
    outside = (days < _FIRST_DAY) | (days > _LAST_DAY)
    if outside.any():
        row = int(outside.arg_max() or 0)
        raise raw.error("a time out of range", column, row, f"day {days[row]} since 1970", "a year from 1 to 9999")
    if isinstance(kind, pl.Datetime):
        in_utc = series if kind.time_zone is None else series.dt.convert_time_zone("UTC")
        return in_utc.dt.strftime("%Y-%m-%dT%H:%M:%S%.f")
    return series.cast(pl.String)
