"""Delimited text files as columns of strings, with line numbers for error messages."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.io.separators import SEPARATOR_NAMES
from fitcarl.data.io.source import BOM, read_text
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_NEWLINE, _QUOTE = 10, 34


def _row_at(text: bytes, byte: int) -> int:
    return 1 + text.count(b"\n", 0, byte)


def _blank_at(text: bytes, byte: int) -> bool:
    """Whether the line that starts at this byte is blank."""
    end = text.find(b"\n", byte)
    return not text[byte : end if end >= 0 else len(text)].strip(b" ")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows with the same number of fields. Rows are numbered from 0; ``line`` gives the line in the file."""

    file: Path
    text: bytes
    separator: str
    quoted: bool
    """Whether fields are quoted as in RFC 4180; otherwise quotation marks have no meaning."""
    starts: NDArray[np.int64]
    """int64 [rows], the byte of ``text`` where each row starts."""
    width: int
    """Number of fields per row."""
    first_line: int = 1
    """Line of the file where the text starts."""

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, row: int) -> int:
        """The line of the file, counted from 1, where a row starts."""
        return self.first_line - 1 + _row_at(self.text, int(self.starts[row]))

    def head(self, rows: int, skip: int = 0) -> list[list[str]]:
        """The fields of the first rows after ``skip``, by column."""
        end = int(self.starts[skip + rows]) - 1 if skip + rows < len(self) else len(self.text)
        if skip >= len(self):
            return [[] for _ in range(self.width)]
        return [column.to_list() for column in self._parsed(self.text[int(self.starts[skip]) : end], range(self.width))]

    def row(self, row: int) -> list[str]:
        """The fields of one row."""
        end = int(self.starts[row + 1]) - 1 if row + 1 < len(self) else len(self.text)
        return [column[0] for column in self._parsed(self.text[int(self.starts[row]) : end], range(self.width))]

    def columns(self, places: Sequence[int], skip: int = 0) -> list[pl.Series]:
        """The fields at these positions (from 0) of all rows after the first ``skip``, as strings without nulls."""
        if skip >= len(self):
            import polars as pl

            return [pl.Series(str(place), [], dtype=pl.String) for place in places]
        columns = self._parsed(self.text[int(self.starts[skip]) :], places)
        if len(columns[0]) != len(self) - skip:
            raise RuntimeError(f"{self.file}: {len(self) - skip} rows counted but {len(columns[0])} parsed")
        return columns

    def error(self, problem: str, row: int, field: str, found: object, expected: str) -> InputError:
        """An InputError about one field of one row."""
        return InputError(problem, file=self.file, row=self.line(row), field=field, found=found, expected=expected)

    def _parsed(self, text: bytes, places: Sequence[int]) -> list[pl.Series]:
        import polars as pl

        distinct = sorted(set(places))
        if not text.strip(b"\n"):  # blank rows of one column, which polars takes for no data
            return [pl.Series(str(place), [""] * (1 + text.count(b"\n"))) for place in places]
        frame = pl.read_csv(
            io.BytesIO(BOM + text if text.startswith(BOM) else text),  # polars drops the first byte-order mark
            has_header=False,
            separator=self.separator,
            quote_char='"' if self.quoted else None,
            infer_schema_length=0,
            columns=distinct,
        )
        columns = dict(zip(distinct, frame.fill_null("").get_columns(), strict=True))
        return [columns[place] for place in places]


def read_table(path: Path, separator: str = "\t", quoted: bool = False, width: int | None = None) -> Table:
    """The rows of a delimited text file; an InputError names the first row with a wrong number of fields."""
    return table_of_text(path, read_text(path, separator), separator, quoted, width)


def table_of_text(
    path: Path, text: bytes, separator: str, quoted: bool, width: int | None = None, first_line: int = 1
) -> Table:
    """The rows of a text; an InputError names the first row with a wrong number of fields.

    Row boundaries are found here and not by a parser, because error messages need line numbers of the file: parsers
    fill short rows, drop blank ones, or count records instead of lines.

    Args:
        path: The file, for error messages.
        text: UTF-8 with LF line ends.
        separator: One character.
        quoted: Whether fields are quoted as in RFC 4180.
        width: Fields per row; by default those of the first row.
        first_line: Line of the file where the text starts.
    """
    if not text:
        return Table(path, text, separator, quoted, np.empty(0, np.int64), width or 0, first_line)
    characters = np.frombuffer(text, dtype=np.uint8)
    structural = (characters == ord(separator)) | (characters == _NEWLINE)
    if quoted and b'"' in text:
        _check_quotes(path, text, characters, separator, first_line)
        structural &= np.cumsum(characters == _QUOTE, dtype=np.uint8) & 1 == 0
    marks = np.flatnonzero(structural)
    ends = np.flatnonzero(characters[marks] == _NEWLINE)
    starts = np.append(0, marks[ends] + 1)
    fields = np.diff(ends, prepend=-1, append=len(marks))

    expected = int(fields[0]) if width is None else width
    ragged = np.flatnonzero(fields != expected)
    if len(ragged):
        row = 0 if _blank_at(text, 0) else int(ragged[0])
        if _blank_at(text, int(starts[row])):
            line = first_line - 1 + _row_at(text, int(starts[row]))
            raise InputError("a blank line", file=path, row=line, expected="no blank line before the last row")
        count = int(fields[row])
        kind = SEPARATOR_NAMES.get(separator, repr(separator))
        raise InputError(
            "too few fields" if count < expected else "too many fields",
            file=path,
            row=first_line - 1 + _row_at(text, int(starts[row])),
            found=count,
            expected=f"{expected} fields separated by {kind}" + (", as in row 1" if width is None else ""),
        )
    return Table(path, text, separator, quoted, starts, expected, first_line)


def _check_quotes(path: Path, text: bytes, characters: NDArray[np.uint8], separator: str, first_line: int) -> None:
    """Raises unless every quotation mark opens a field, closes one, or is doubled inside a quoted field."""
    quotes = np.flatnonzero(characters == _QUOTE)
    padded = np.pad(characters, 1, constant_values=_NEWLINE)
    fits = np.zeros(256, dtype=np.bool_)
    fits[[ord(separator), _NEWLINE, _QUOTE]] = True
    opening, closing = quotes[0::2], quotes[1::2]
    unexpected = opening[~fits[padded[opening]]]
    unclosed = opening[: len(closing)][~fits[padded[closing + 2]]]
    if len(quotes) % 2:
        unclosed = np.append(unclosed, opening[-1])
    if len(unexpected) or len(unclosed):
        first = int(min(*unexpected[:1], *unclosed[:1], len(text)))
        raise InputError(
            "a quotation mark inside an unquoted field" if first in unexpected else "an unterminated quoted field",
            file=path,
            row=first_line - 1 + _row_at(text, first),
            expected='the whole field quoted and each quotation mark doubled: "say ""hello"""',
        )
