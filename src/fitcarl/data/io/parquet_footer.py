"""The description of a Parquet file, read and checked before its content is decoded.

Decoders trust the numbers in a file: a damaged one lets them print messages, abort the process or allocate all memory.
Sizes of columns and pages are therefore compared with the file first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from mmap import mmap
from pathlib import Path
from typing import Any

from fitcarl.data.io.limits import MAX_COLUMNS, check_column_count
from fitcarl.data.io.thrift import ThriftReader
from fitcarl.errors import InputError

_MAGIC = b"PAR1"
_TAIL = 8
"""Bytes after the footer: its length and the magic."""
_MAX_PAGE = 2**31 - 1
_ENCODINGS = (0, 2, 3, 4, 5, 6, 7, 8, 9)
_OPTIONAL = 1
_MAX_SHIFT = 70
_MAX_PADDING = 512
"""Levels after the last value of a page that are tolerated. The format has up to seven, which fill up a group of eight.
Decoders read longer runs, too; one of 63 groups, the most that a header of one byte states, needs little memory."""
_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = range(4)


@dataclass(frozen=True)
class ColumnChunk:
    """The values of a column in a row group."""

    group: int
    name: str
    """Name of the column; of the outermost one if it is nested."""
    start: int
    length: int
    """Bytes in the file."""
    values: int
    compressed: bool
    optional: bool = False
    """Whether values may be missing, in a column that is not nested: pages then begin with levels."""


@dataclass(frozen=True)
class ParquetFooter:
    """What a file says about itself."""

    file: Path
    content: bytes | mmap
    rows: int
    columns: tuple[str, ...]
    chunks: tuple[ColumnChunk, ...]
    group_rows: tuple[int, ...]
    """Rows of each row group."""

    def check_pages(self, columns: Collection[str], rows: int | None = None) -> int:
        """Checks the pages of some columns and returns their size in bytes after decompression.

        Dictionaries and runs of equal values are still encoded then: rows are to be counted, too.

        Args:
            columns: Names of the columns.
            rows: Only the first rows are read, if given.

        Raises:
            InputError: If a page does not fit in its column.
        """
        ends = [*accumulate(self.group_rows)]
        groups = len(ends) if rows is None else 1 + sum(end < rows for end in ends)
        chosen = [chunk for chunk in self.chunks if chunk.name in columns and chunk.group < groups]
        try:
            return sum(_checked_pages(self.content, chunk) for chunk in chosen)
        except (ValueError, TypeError, AttributeError) as error:
            raise damaged(self.file, error) from None


def read_footer(path: Path, content: bytes | mmap) -> ParquetFooter:
    """Reads and checks the footer of a file.

    Args:
        path: The file, for error messages.
        content: Its bytes.

    Raises:
        InputError: If it is not a Parquet file, is damaged, or has too many columns.
    """
    if content[:4] != _MAGIC:
        raise InputError("not a Parquet file", file=path, found=content[:4], expected="a file that starts with PAR1")
    if content[-4:] != _MAGIC or len(content) < _TAIL + 4:
        raise InputError("a truncated Parquet file", file=path, found=content[-4:], expected="PAR1 at its end")
    end = len(content) - _TAIL
    start = end - int.from_bytes(content[end : end + 4], "little")
    try:
        if start < len(_MAGIC):
            raise ValueError("a footer that is longer than the file")
        found = ThriftReader(content, start, end).read_struct()
        top = _top_columns(found[2])
        names = tuple(part[4].decode() for part in top)
        check_column_count(path, len(names))
        rows = _count(found[3])
        groups: Sequence[Mapping[int, Any]] = found.get(4, [])
        optional = {part[4].decode() for part in top if part.get(3) == _OPTIONAL and not part.get(5)}
        chunks = tuple(
            _chunk(number, group, column, start, optional) for number, group in enumerate(groups) for column in group[1]
        )
        group_rows = tuple(_count(group[3]) for group in groups)
        if sum(group_rows) != rows:
            raise ValueError("row groups with another number of rows than the file")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise damaged(path, error) from None
    return ParquetFooter(path, content, rows, names, chunks, group_rows)


def damaged(path: Path, error: Exception) -> InputError:
    """The error about a damaged Parquet file.

    Args:
        path: The file.
        error: What is wrong.
    """
    reason = "a part is missing" if isinstance(error, LookupError | TypeError) else " ".join(str(error).split())[:160]
    return InputError(f"a damaged Parquet file ({reason})", file=path, expected="a readable file")


def _top_columns(schema: Sequence[Mapping[int, Any]]) -> list[Mapping[int, Any]]:
    """The outermost columns: the schema lists every node before its children."""
    columns: list[Mapping[int, Any]] = []
    place = 1
    for _ in range(min(_count(schema[0][5]), len(schema), MAX_COLUMNS + 1)):
        columns.append(schema[place])
        left = 1
        while left:
            left += _count(schema[place].get(5, 0)) - 1
            place += 1
    return columns


def _chunk(
    number: int, group: Mapping[int, Any], column: Mapping[int, Any], end: int, optional: Collection[str]
) -> ColumnChunk:
    about = column[3]
    data, dictionary = _count(about[9]), about.get(11, 0)
    start = dictionary if 0 < dictionary < data else data
    name = about[3][0].decode()
    has_levels = len(about[3]) == 1 and name in optional
    found = ColumnChunk(number, name, start, _count(about[7]), _count(about[5]), about[4] != 0, has_levels)
    if found.values and (found.start < len(_MAGIC) or found.start + found.length > end):  # an empty one has no place
        raise ValueError("a column outside the file")
    if len(about[3]) == 1 and found.values != group[3]:
        raise ValueError("a column with another number of values than rows")
    return found


def _checked_pages(content: bytes | mmap, chunk: ColumnChunk) -> int:
    """The size of the pages of a column after decompression."""
    position, end, values, size = chunk.start, chunk.start + chunk.length, 0, 0
    while values < chunk.values:
        reader = ThriftReader(content, position, end)
        header = reader.read_struct()
        try:
            kind, decoded, stored = header[1], header[2], header[3]
            about = header[{_DATA_PAGE: 5, _DICTIONARY_PAGE: 7, _DATA_PAGE_V2: 8}.get(kind, 6)]
        except KeyError:
            raise ValueError("an incomplete page header") from None
        if not (0 <= stored <= end - reader.position and 0 <= decoded <= _MAX_PAGE):
            raise ValueError("a page outside its column")
        if not chunk.compressed and stored != decoded:
            raise ValueError("a page with two sizes")
        if kind != _INDEX_PAGE:
            count = _count(about.get(1))
            limit = decoded if kind == _DICTIONARY_PAGE else chunk.values - values
            levels = [_count(about.get(field, 0)) for field in (5, 6)] if kind == _DATA_PAGE_V2 else []
            nulls = [_count(about.get(field, 0)) for field in (2, 3)] if kind == _DATA_PAGE_V2 else []
            encoding = about.get(4 if kind == _DATA_PAGE_V2 else 2)
            if encoding not in _ENCODINGS:
                raise ValueError("a page with an unknown encoding")
            if count > limit or sum(levels) > min(stored, decoded) or any(part > count for part in nulls):
                raise ValueError("a page with more values than its column")
            if chunk.optional and kind == _DATA_PAGE and not chunk.compressed:
                length = int.from_bytes(content[reader.position : reader.position + 4], "little")
                _check_levels(content, reader.position + 4, min(length, max(stored - 4, 0)), count)
            elif chunk.optional and kind == _DATA_PAGE_V2:
                _check_levels(content, reader.position + levels[1], levels[0], count)
            values += count if kind != _DICTIONARY_PAGE else 0
        size += decoded
        position = reader.position + stored
    return size


def _check_levels(content: bytes | mmap, start: int, length: int, values: int) -> None:
    """Checks that no run of levels is much longer than its page: decoders make room for a whole run.

    Args:
        content: The file.
        start: Where the levels begin: runs of equal ones (one byte) and groups of eight (one byte each).
        length: Their bytes.
        values: Values of the page.
    """
    position, end, left = start, start + length, values
    while left > 0 and position < end:
        header, shift = 0, 0
        while position < end and shift < _MAX_SHIFT:
            byte = content[position]
            header, shift, position = header | (byte & 127) << shift, shift + 7, position + 1
            if byte < 128:
                break
        count = header >> 1
        if header & 1:
            position, run = position + count, 8 * count
        else:
            position, run = position + 1, count
        if run > left + _MAX_PADDING or run == 0:
            raise ValueError("a run of levels that does not fit in its page")
        left -= run


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("a count that is not a number from 0")
    return value
