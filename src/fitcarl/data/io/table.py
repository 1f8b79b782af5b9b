"""Delimited text files as columns of strings, with line numbers for error messages."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_NEWLINE, _QUOTE = 10, 34
_BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; an InputError if it cannot be read."""
    if path.is_dir():
        raise InputError("a folder", file=path, expected="a file")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", file=path, expected="an existing file") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, expected="a readable file") from None


def read_text(path: Path, separator: str | None = None) -> bytes:
    """A text file as valid UTF-8 with LF line ends, without byte-order mark and trailing blank lines."""
    text = read_bytes(path)
    try:
        text.decode()
        bad = text.find(b"\0")
    except UnicodeDecodeError as error:
        bad = error.start
    if bad >= 0:
        line = text[text.rfind(b"\n", 0, bad) + 1 : bad]
        raise InputError(
            "not UTF-8 text",
            file=path,
            row=_row_at(text, bad),
            field=None if separator is None else str(1 + line.count(separator.encode())),
            found=f"byte 0x{text[bad]:02x}",
            expected="UTF-8 without NUL bytes (convert other encodings first)",
        )
    return text.removeprefix(_BOM).replace(b"\r\n", b"\n").rstrip(b"\r\n")


def name_problem(name: str) -> str | None:
    """Why a text is not a valid name in a table, or None. A name is not blank and has no tab or line break."""
    if not name.strip():
        return "an empty name"
    if any(mark in name for mark in "\t\n\r\0"):
        return "a name with a tab or a line break"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "a name with an unpaired surrogate"
    return None


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

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, row: int) -> int:
        """The line of the file, counted from 1, where a row starts."""
        return _row_at(self.text, int(self.starts[row]))

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
        frame = pl.read_csv(
            io.BytesIO(text),
            has_header=False,
            separator=self.separator,
            quote_char='"' if self.quoted else None,
            infer_schema_length=0,
            columns=distinct,
        )
        columns = dict(zip(distinct, frame.get_columns(), strict=True))
        return [columns[place].fill_null("") for place in places]


def read_table(path: Path, separator: str = "\t", quoted: bool = False, width: int | None = None) -> Table:
    """The rows of a delimited text file; an InputError names the first row with a wrong number of fields.

    Row boundaries are found here and not by a parser, because error messages need line numbers of the file: parsers
    fill short rows, drop blank ones, or count records instead of lines.
    """
    text = read_text(path, separator)
    if not text:
        return Table(path, text, separator, quoted, np.empty(0, np.int64), width or 0)
    characters = np.frombuffer(text, dtype=np.uint8)
    structural = (characters == ord(separator)) | (characters == _NEWLINE)
    if quoted and b'"' in text:
        _check_quotes(path, text, characters, separator)
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
            line = _row_at(text, int(starts[row]))
            raise InputError("a blank line", file=path, row=line, expected="no blank line before the last row")
        count = int(fields[row])
        kind = {"\t": "tabs", ",": "commas"}.get(separator, repr(separator))
        raise InputError(
            "too few fields" if count < expected else "too many fields",
            file=path,
            row=_row_at(text, int(starts[row])),
            found=count,
            expected=f"{expected} fields separated by {kind}" + (", as in row 1" if width is None else ""),
        )
    return Table(path, text, separator, quoted, starts, expected)


def _check_quotes(path: Path, text: bytes, characters: NDArray[np.uint8], separator: str) -> None:
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
            row=_row_at(text, first),
            expected='the whole field quoted and each quotation mark doubled: "say ""hello"""',
        )
