"""Facts of delimited text files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fitcarl.data.io.column_detection import has_header, map_columns, missing_columns
from fitcarl.data.io.columns import SAMPLE_ROWS, ColumnMapping, FactColumns, fact_columns
from fitcarl.data.io.layouts import recognized_layout
from fitcarl.data.io.limits import check_column_count, sample_rows
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.roles import COLUMNS
from fitcarl.data.io.separators import (
    OWN,
    SEPARATOR_NAMES,
    WHITESPACE,
    is_quoted,
    likely_separators,
    parse_separator,
    split_line,
)
from fitcarl.data.io.source import read_text
from fitcarl.data.io.table import Table, table_of_text
from fitcarl.data.io.timestamps import looks_like_time
from fitcarl.errors import InputError

_COMMENTS = ("#", "%")


def read_delimited(path: Path, format: str, options: ReadOptions) -> FactColumns:
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


def layout_of_head(path: Path, format: str, options: ReadOptions, head: bytes) -> TextLayout:
    """How the rows of a large file are read, from its first lines.

    Args:
        path: The file, for error messages.
        format: ``csv`` or ``tsv``.
        options: As in ``read_facts``.
        head: The first complete lines.
    """
    own = parse_separator(options.separator) if options.separator else OWN[format]
    lines = [line.decode() for line in head[:200_000].split(b"\n", 200)[:200]]
    data = [line for line in lines if not line.startswith(_COMMENTS)] or lines
    problem: InputError | None = None
    found: list[tuple[TextLayout, FactColumns]] = []
    for separator in [own] if options.separator else likely_separators(data, format):
        try:
            columns = _from_table(path, head, lines, separator, options)
            found.append((_lay_out(path, head, lines, separator, options)[0], columns))
        except InputError as error:
            problem = problem or error
    if not found:
        raise problem or InputError("no facts", file=path)
    return max(found, key=lambda pair: _has_clear_times(pair[1]))[0] if len(found) > 1 else found[0][0]


def _has_clear_times(found: FactColumns) -> bool:
    name = "" if found.mapping.names is None else found.mapping.column("time")
    return looks_like_time(found.values[3].head(SAMPLE_ROWS).to_list(), name)


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


@dataclass(frozen=True)
class TextLayout:
    """How the rows of a text are read."""

    separator: str
    quoted: bool
    skipped: int
    """Lines before the header or the first fact."""
    header: bool
    mapping: ColumnMapping
    padded: bool
    """Whether spaces after commas were removed."""
    skip_incomplete: bool
    """Whether rows with a missing value are left out, by an option or by the layout of a public source."""


def _from_table(path: Path, text: bytes, lines: Sequence[str], separator: str, options: ReadOptions) -> FactColumns:
    layout, table = _lay_out(path, text, lines, separator, options)
    mapping, skip = layout.mapping, int(layout.header)
    values = dict(zip(mapping.positions, table.columns(list(mapping.positions.values()), skip), strict=True))
    found = fact_columns(path, values, mapping, lambda row: table.line(row + skip))
    return found.complete() if layout.skip_incomplete else found


def _lay_out(
    path: Path, text: bytes, lines: Sequence[str], separator: str, options: ReadOptions
) -> tuple[TextLayout, Table]:
    """How the rows of a text are read with this separator, and its table."""
    padded = False
    if separator == ",":
        plain, lines = _without_padding(text, lines)
        padded, text = plain is not text, plain
    skipped = _comments(lines, separator)
    text = text.split(b"\n", skipped)[skipped]
    if separator != WHITESPACE:
        check_column_count(path, 1 + text.count(separator.encode(), 0, text.find(b"\n") if b"\n" in text else None))
    quoted = is_quoted(lines[skipped], separator)
    if separator == WHITESPACE:
        text = b"\n".join(b"\t".join(_blank_separated(row)) for row in text.split(b"\n"))
    table = table_of_text(path, text, "\t" if separator == WHITESPACE else separator, quoted, first_line=skipped + 1)
    if not len(table):
        raise InputError("no facts", file=path, expected="at least one row")
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
    mapping = map_columns(
        path, names, table.head(sample_rows(table.width), skip), options.columns, options.relation, options.judge
    )
    return TextLayout(separator, quoted, skipped, bool(skip), mapping, padded, options.skip_incomplete), table


def _blank_separated(row: bytes) -> list[bytes]:
    """The fields of a row between blanks; quoted ones may contain blanks."""
    if b'"' not in row:
        return row.split()
    return [quoted or plain for quoted, plain in re.findall(rb'"([^"]*)"|(\S+)', row)]


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
