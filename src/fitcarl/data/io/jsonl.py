"""Facts of JSONL files: an object or an array per line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitcarl.data.io.column_detection import map_columns
from fitcarl.data.io.columns import FactColumns, fact_columns, number_text
from fitcarl.data.io.limits import check_column_count, sample_rows
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.roles import ROLES
from fitcarl.data.io.source import read_text
from fitcarl.data.name_rules import is_unicode
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def read_jsonl(path: Path, options: ReadOptions) -> FactColumns:
    text = read_text(path, encoding=options.encoding).decode()
    if not text:
        raise InputError("an empty file", file=path, expected="one JSON object per line")
    lines = text.split("\n")
    first = _record(path, 1, lines[0])
    names = _names(path, first)
    check_column_count(path, len(first))
    mapping = map_columns(
        path, names, _jsonl_sample(lines, first, names), options.columns, options.relation, options.judge
    )
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
    return fact_columns(path, values, mapping, lambda row: row + 1)


def _names(path: Path, first: Any) -> list[str] | None:
    """The keys of the first record; None if it is an array."""
    if not isinstance(first, dict):
        return None
    bad = next((name for name in first if not is_unicode(name)), None)
    if bad is not None:
        problem = "a name of a column with an unpaired surrogate"
        raise InputError(problem, file=path, row=1, found=bad, expected="Unicode text")
    return list(first)


def _jsonl_sample(lines: Sequence[str], first: Any, names: Sequence[str] | None) -> list[list[str]]:
    """Values of the first records, by column."""
    keys: Sequence[Any] = range(len(first)) if names is None else names
    sample: list[list[str]] = [[] for _ in keys]
    for line in lines[: sample_rows(len(keys))]:
        try:
            record = json.loads(line)
            for column, key in zip(sample, keys, strict=True):
                value = record[key]
                if isinstance(value, str | int | float):
                    column.append(value if isinstance(value, str) else number_text(value))
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
    return sample


def _jsonl_texts(path: Path, column: Sequence[str | float], label: str, is_time: bool) -> list[str]:
    """A column as text; decimal numbers are times only."""
    if not is_time and (row := next((i for i, value in enumerate(column) if type(value) is float), -1)) >= 0:
        problem, found = "a value of the wrong type", json.dumps(column[row])
        raise InputError(problem, file=path, row=row + 1, field=label, found=found, expected="text or an integer")
    return [value if type(value) is str else number_text(value) for value in column]  # type: ignore[arg-type]


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
        bad = error.object
        position, row = next((position, column.index(bad)) for position, column in enumerate(values) if bad in column)
        raise InputError(
            "an unpaired surrogate", file=path, row=row + 1, field=fields[position], found=bad, expected="Unicode text"
        ) from None
