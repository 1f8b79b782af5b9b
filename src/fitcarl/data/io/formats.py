"""Readers for the four file formats of facts and for tables in memory; each returns four columns of text."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from fitcarl.data.io.columns import (
    ColumnMapping,
    FactColumns,
    check_columns,
    has_header,
    map_columns,
    missing_columns,
)
from fitcarl.data.io.layouts import find_layout, recognized_layout
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.roles import COLUMNS, ROLES, Role
from fitcarl.data.io.separators import (
    OWN,
    SEPARATOR_NAMES,
    WHITESPACE,
    is_quoted,
    likely_separators,
    parse_separator,
    split_line,
)
from fitcarl.data.io.source import COMPRESSED_ENDINGS, is_stdin, read_bytes, read_text, uncompressed_name
from fitcarl.data.io.table import Table, table_of_text
from fitcarl.data.io.timestamps import looks_like_time
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
ENDINGS: tuple[str, ...] = (*_FORMAT_OF, *COMPRESSED_ENDINGS)
"""Supported file name suffixes."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Days from 1970 to the years 1 and 9999, the range of ISO dates."""
_UNITS_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_SAMPLE = 2000
"""Rows whose values decide about the columns."""
_COMMENTS = ("#", "%")


def format_of(path: Path, given: str | None = None) -> Format:
    """The given format, or the format of the file name's suffix; standard input is CSV, or TSV if it has tabs."""
    if path.is_dir():
        raise InputError("a folder", file=path, expected="a file of facts")
    suffix = ".csv" if is_stdin(path) else uncompressed_name(path).suffix.lower()
    for format in FORMATS:
        if format == (given or _FORMAT_OF.get(suffix)):
            return format
    known = f"one of {', '.join(FORMATS)}" if given else f"a format, or a suffix of {', '.join(_FORMAT_OF)}"
    raise InputError("unknown format", file=path, found=given or path.name, expected=known)


def read_columns(path: Path, options: ReadOptions) -> FactColumns:
    """Subject, relation, object and time of a file; see ``read_facts`` for the options."""
    if options.layout is not None:
        options = options.with_layout(find_layout(options.layout))
    check_columns(path, options.columns, options.relation)
    format = format_of(path, options.format)
    if format == "parquet":
        found = _from_parquet(path, options)
    elif format == "jsonl":
        found = _from_jsonl(path, options)
    else:
        return _from_text(path, format, options)
    return found.complete() if options.skip_incomplete else found


def _from_text(path: Path, format: str, options: ReadOptions) -> FactColumns:
    """The facts of delimited text; of several possible separators, the first that gives a clear mapping."""
    own = parse_separator(options.separator) if options.separator else OWN[format]
    text = read_text(path, own, options.encoding)
    if not text:
        raise InputError("an empty file", file=path, expected="facts: subject, relation, object, time")
    lines = [line.decode() for line in text[:200_000].split(b"\n", 200)[:200]]
    data = [line for line in lines if not line.startswith(_COMMENTS)] or lines
    problem: InputError | None = None
    found: list[FactColumns] = []
    for separator in [own] if options.separator else likely_separators(data, format):
        try:
            found.append(_from_table(path, text, lines, separator, options))
        except InputError as error:
            problem = problem or error
    if not found:
        raise problem or InputError("no facts", file=path)
    return max(found, key=_has_clear_times) if len(found) > 1 else found[0]


def _has_clear_times(found: FactColumns) -> bool:
    name = "" if found.mapping.names is None else found.mapping.column("time")
    return looks_like_time(found.values[3].head(_SAMPLE).to_list(), name)


def _without_padding(text: bytes, lines: Sequence[str]) -> tuple[bytes, Sequence[str]]:
    """The text without spaces after commas, if all commas are followed by one (or all quoted fields are)."""
    quoted = b'"' in text
    comma, padded = (b'","', b'", "') if quoted else (b",", b", ")
    if padded not in text or text.count(comma) != (0 if quoted else text.count(padded)):
        return text, lines
    plain = text.replace(padded, comma)
    return plain, [line.replace(padded.decode(), comma.decode()) for line in lines]


def _comments(lines: Sequence[str], separator: str) -> int:
    """Number of comment lines at the start: marked by # or %, and with another number of fields than the data."""
    data = next((line for line in lines if not line.startswith(_COMMENTS)), None)
    if data is None:
        return 0
    width = len(split_line(data, separator))
    for count, line in enumerate(lines):
        fields = split_line(line, separator)
        lone_mark = separator == WHITESPACE and set(fields[:1]) <= set(_COMMENTS)
        if not line.startswith(_COMMENTS) or (len(fields) == width and not lone_mark):
            return count
    return 0


def _from_table(path: Path, text: bytes, lines: Sequence[str], separator: str, options: ReadOptions) -> FactColumns:
    if separator == ",":
        text, lines = _without_padding(text, lines)
    skipped = _comments(lines, separator)
    text = text.split(b"\n", skipped)[skipped]
    quoted = is_quoted(lines[skipped], separator)
    if separator == WHITESPACE:
        text = b"\n".join(b"\t".join(_blank_separated(row)) for row in text.split(b"\n"))
    table = table_of_text(path, text, "\t" if separator == WHITESPACE else separator, quoted, first_line=skipped + 1)
    first, second = table.row(0), table.row(1) if len(table) > 1 else None
    if options.layout is None and (layout := recognized_layout(first)) is not None and options.columns is None:
        options = options.with_layout(layout)
    needed = len(COLUMNS) - (options.relation is not None)
    if table.width < needed:
        raise _too_narrow(table, separator, first, needed, lines[skipped])
    unmarked = [first[0].lstrip("#% "), *first[1:]]
    if options.header == "auto":
        names = next((row for row in (first, unmarked) if has_header(row, second, options.columns)), None)
    else:
        names = unmarked if options.header else None
    skip = int(names is not None)
    if len(table) == skip:
        raise InputError("a header without facts", file=path, row=1, expected="at least one fact below it")
    mapping = map_columns(path, names, table.head(_SAMPLE, skip), options.columns, options.relation)
    values = dict(zip(mapping.positions, table.columns(list(mapping.positions.values()), skip), strict=True))
    found = _fact_columns(path, values, mapping, lambda row: table.line(row + skip))
    return found.complete() if options.skip_incomplete else found


def _blank_separated(row: bytes) -> list[bytes]:
    """The fields of a row between blanks; quoted ones may contain blanks."""
    if b'"' not in row:
        return row.split()
    return [quoted or plain for quoted, plain in re.findall(rb'"([^"]*)"|(\S+)', row)]


def _fact_columns(path: Path, values: dict[Role, pl.Series], mapping: ColumnMapping, line: Any) -> FactColumns:
    import polars as pl

    rows = len(values["subject"])
    if "clock" in values:
        values["time"] = values["time"].str.strip_chars() + " " + values["clock"].str.strip_chars()
    if mapping.relation is not None:
        values["relation"] = pl.Series("relation", [mapping.relation], dtype=pl.String).new_from_index(0, rows)
    return FactColumns(path, tuple(values[role] for role in COLUMNS), mapping, line, values.get("end"))


def _too_narrow(table: Table, separator: str, first: Sequence[str], needed: int, line: str) -> InputError:
    missing = missing_columns(first)
    named = len(missing) <= 2  # a single known name may be a coincidence: a relation can be called r
    problem = "too few columns" + (f", none for the {' and the '.join(missing)}" if named else "")
    expected, hint = f"at least {needed}, separated by {SEPARATOR_NAMES[separator]}", ""
    if table.width == len(COLUMNS) - 1:
        hint = "if all facts have the same relation, name it with --relation NAME"
    elif table.width == 1 and any(mark in line for mark in SEPARATOR_NAMES if mark != separator):
        hint = "for another separator use --separator"
    return InputError(problem, file=table.file, row=table.first_line, found=table.width, expected=expected, hint=hint)


def _from_jsonl(path: Path, options: ReadOptions) -> FactColumns:
    text = read_text(path, encoding=options.encoding).decode()
    if not text:
        raise InputError("an empty file", file=path, expected="one JSON object per line")
    lines = text.split("\n")
    first = _record(path, 1, lines[0])
    names = list(first) if isinstance(first, dict) else None
    mapping = map_columns(path, names, _jsonl_sample(lines, first, names), options.columns, options.relation)
    positions = list(mapping.positions.values())
    keys: tuple[Any, ...] = tuple(positions) if names is None else tuple(names[position] for position in positions)
    fields = dict(zip(ROLES, FactColumns(path, (), mapping, int).fields, strict=True))
    labels = [fields[role] for role in mapping.positions]
    optional = tuple(role == "end" or options.skip_incomplete for role in mapping.positions)

    # This loop dominates the cost of reading JSONL; unusual lines are handled by the slower ``_jsonl_row``.
    decode, pick, kind, kinds = json.JSONDecoder().raw_decode, itemgetter(*keys), type(first), {str, int, float}
    rows: list[tuple[str | float, ...]] = []
    for number, line in enumerate(lines, start=1):
        try:
            record, end = decode(line)
            row = pick(record)
            usual = end == len(line) and type(record) is kind and kinds.issuperset(map(type, row))
        except (ValueError, LookupError, TypeError, RecursionError):
            usual = False
        rows.append(row if usual else _jsonl_row(path, number, line, kind, keys, labels, optional))
    times = [role in ("time", "end") for role in mapping.positions]
    columns = [
        _jsonl_texts(path, column, label, is_time)
        for column, label, is_time in zip(zip(*rows, strict=True), labels, times, strict=True)
    ]
    values = dict(zip(mapping.positions, _series(path, labels, columns), strict=True))
    return _fact_columns(path, values, mapping, lambda row: row + 1)


def _jsonl_sample(lines: Sequence[str], first: Any, names: Sequence[str] | None) -> list[list[str]]:
    """Values of the first records, by column."""
    keys: Sequence[Any] = range(len(first)) if names is None else names
    sample: list[list[str]] = [[] for _ in keys]
    for line in lines[:_SAMPLE]:
        try:
            record = json.loads(line)
            for column, key in zip(sample, keys, strict=True):
                value = record[key]
                if isinstance(value, str | int | float):
                    column.append(value if isinstance(value, str) else _number_text(value))
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
    return sample


def _number_text(value: float) -> str:
    return repr(value) if isinstance(value, int) or not value.is_integer() else str(int(value))


def _jsonl_texts(path: Path, column: Sequence[str | float], label: str, is_time: bool) -> list[str]:
    """A column as text; decimal numbers are times only."""
    if not is_time and (row := next((i for i, value in enumerate(column) if type(value) is float), -1)) >= 0:
        problem, found = "a value of the wrong type", json.dumps(column[row])
        raise InputError(problem, file=path, row=row + 1, field=label, found=found, expected="text or an integer")
    return [value if type(value) is str else _number_text(value) for value in column]  # type: ignore[arg-type]


def _record(path: Path, number: int, line: str) -> Any:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("not JSON", file=path, row=number, found=line, expected="one JSON object per line") from None
    if not isinstance(record, dict | list):
        raise InputError("not a record", file=path, row=number, found=line, expected="a JSON object or array")
    return record


def _jsonl_row(
    path: Path, number: int, line: str, kind: type, keys: Sequence[Any], fields: Sequence[str], optional: Sequence[bool]
) -> tuple[str | float, ...]:
    """The values of a line; an InputError if there are none."""
    record = _record(path, number, line)
    if not isinstance(record, kind):
        expected = f"a JSON {'object' if kind is dict else 'array'}, as in row 1"
        raise InputError("a record of another type", file=path, row=number, found=line, expected=expected)
    values: list[str | float] = []
    for key, field, may_miss in zip(keys, fields, optional, strict=True):
        try:
            value = record[key]  # type: ignore[index]
        except LookupError:
            if not may_miss:
                missing = InputError("no value", file=path, row=number, field=field, found=line, expected="a value")
                raise missing from None
            value = None
        if value is None and may_miss:
            value = ""
        if type(value) not in (str, int, float):
            problem, found = "a value of the wrong type", json.dumps(value)
            raise InputError(problem, file=path, row=number, field=field, found=found, expected="text or an integer")
        values.append(value)
    return tuple(values)


def _series(path: Path, fields: Sequence[str], values: Sequence[list[str]]) -> tuple[pl.Series, ...]:
    import polars as pl

    try:
        return tuple(pl.Series(name, column, dtype=pl.String) for name, column in zip(fields, values, strict=True))
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


def _from_parquet(path: Path, options: ReadOptions) -> FactColumns:
    import polars as pl

    content = read_bytes(path)
    if content[:4] != b"PAR1":
        raise InputError("not a Parquet file", file=path, found=content[:4], expected="a file that starts with PAR1")
    if content[-4:] != b"PAR1" or len(content) < 12:
        raise InputError("a truncated Parquet file", file=path, found=content[-4:], expected="PAR1 at its end")
    try:
        with _silent_stderr():  # polars prints long messages about some kinds of damage
            names = list(pl.read_parquet_schema(io.BytesIO(content)))
            sample = pl.read_parquet(io.BytesIO(content), n_rows=_SAMPLE)
            mapping = map_frame(path, sample, options)
            kept = [names[position] for position in mapping.positions.values()]
            frame = pl.read_parquet(io.BytesIO(content), columns=kept)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"a damaged Parquet file ({reason})", file=path, expected="a readable file") from None
    return columns_of_frame(path, frame, mapping, options)


def map_frame(path: Path, frame: pl.DataFrame, options: ReadOptions) -> ColumnMapping:
    """The mapping of the columns of a table in memory."""
    if not len(frame):
        raise InputError("no facts", file=path, expected="at least one row")
    sample = [_sample_text(frame[name].head(_SAMPLE).drop_nulls()) for name in frame.columns]
    return map_columns(path, frame.columns, sample, options.columns, options.relation)


def _sample_text(series: pl.Series) -> list[str]:
    import polars as pl

    if series.dtype in (pl.Date, pl.Datetime):
        series = series.filter(~_out_of_range(series))
        return series.dt.strftime("%Y-%m-%d" if series.dtype == pl.Date else "%Y-%m-%dT%H:%M:%S").to_list()
    try:
        return [text for text in series.cast(pl.String).to_list() if text is not None]
    except pl.exceptions.PolarsError:  # nested types and binary data are no columns of facts
        return []


def _out_of_range(series: pl.Series) -> pl.Series:
    """Which dates or datetimes are outside the years 1 to 9999."""
    kind = series.dtype
    unit = getattr(kind, "time_unit", None)
    days = series.to_physical() // (_UNITS_PER_DAY[unit] if unit else 1)
    return (days < _FIRST_DAY) | (days > _LAST_DAY)


def columns_of_frame(path: Path, frame: pl.DataFrame, mapping: ColumnMapping, options: ReadOptions) -> FactColumns:
    """Subject, relation, object and time of a table in memory that has at least these columns."""
    names = mapping.names or ()
    raw = FactColumns(path, (), mapping, lambda row: row + 1)
    values: dict[Role, pl.Series] = {
        role: _text_of(raw, role, frame[names[position]], options.skip_incomplete or role == "end")
        for role, position in mapping.positions.items()
    }
    return _fact_columns(path, values, mapping, raw.line)


def _text_of(raw: FactColumns, role: Role, series: pl.Series, optional: bool) -> pl.Series:
    """A column as text: names and integers unchanged, dates and datetimes (in UTC) as ISO 8601, nulls as blanks."""
    import polars as pl

    column, is_time = ROLES.index(role), role in ("time", "end")
    if series.null_count() and not optional:
        row = int(series.is_null().arg_max() or 0)
        raise raw.error("no value", column, row, "null", "no nulls")
    kind = series.dtype
    if kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum):
        return series.cast(pl.String).fill_null("")
    if is_time and kind.is_float():
        return pl.Series(series.name, [_float_text(value) for value in series.to_list()], dtype=pl.String)
    if kind == pl.Null and optional:
        return series.cast(pl.String).fill_null("")
    if not is_time or kind not in (pl.Date, pl.Datetime):
        types = "text or integers" + (", dates or datetimes" if is_time else "")
        raise raw.error("a column of the wrong type", column, 0, str(kind), types)
    outside = _out_of_range(series)
    if outside.any():
        row = int(outside.arg_max() or 0)
        found = f"{series.to_physical()[row]} {getattr(kind, 'time_unit', 'days')} since 1970"
        raise raw.error("a time out of range", column, row, found, "a year from 1 to 9999")
    if isinstance(kind, pl.Datetime):
        in_utc = series if kind.time_zone is None else series.dt.convert_time_zone("UTC")
        return in_utc.dt.strftime("%Y-%m-%dT%H:%M:%S%.f").fill_null("")
    return series.cast(pl.String).fill_null("")


def _float_text(value: float | None) -> str:
    return "" if value is None or value != value else _number_text(value)
