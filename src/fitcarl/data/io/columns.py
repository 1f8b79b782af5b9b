"""Mapping of the columns of a file to subject, relation, object and time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fitcarl.data.io.timestamps import is_time
from fitcarl.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("subject", "relation", "object", "time")
_ALIASES = {
    "subject": "subject subj sub s head h source src from actor actor1 entity1",
    "relation": "relation rel r predicate pred p relationship verb event eventtype edge",
    "object": "object obj o tail target tgt to destination dst dest actor2 entity2 recipient",
    "time": "time t date timestamp ts datetime day month year when tick eventdate",
}
"""Common names of the four columns, without case, spaces, hyphens and the suffixes ``_id`` and ``_name``."""
_COLUMN_OF = {name: column for column, names in _ALIASES.items() for name in names.split()}
_NO_VALUE = ("na", "nan", "nat", "n/a", "null", "none", "nil", "unknown")
_GIVE_COLUMNS = "--columns (in Python columns=) with four names or positions from 1: subject, relation, object, time"
_CLEARLY_NAMED = 3


@dataclass(frozen=True, eq=False)
class FactColumns:
    """Subject, relation, object and time of every row as text."""

    file: Path
    values: tuple[pl.Series, ...]
    """Four series of strings of equal length, without nulls."""
    fields: tuple[str, ...]
    """Names of the four columns in error messages."""
    line: Callable[[int], int]
    """Line of the file (record of a Parquet file), counted from 1, of a row counted from 0."""

    def error(self, problem: str, column: int, row: int, found: object, expected: str | None) -> InputError:
        """An InputError about one value."""
        return InputError(
            problem, file=self.file, row=self.line(row), field=self.fields[column], found=found, expected=expected
        )


def has_header(first: Sequence[str], second: Sequence[str] | None, columns: Sequence[str | int] | None) -> bool:
    """Whether the first row of a file is a header rather than a fact.

    It is a header if columns are requested by name, if it contains a known name for each of the four columns, or if its
    time is a word and either three of the four columns have known names or the time of the second row is valid. A first
    row with an invalid date is a fact, and an error.
    """
    if columns is not None and not all(_position(column) for column in columns):
        return True
    if columns is None and set(COLUMNS) <= {_column_of(name) for name in first}:
        return True
    time = 3 if columns is None else _position(columns[3]) - 1
    if time >= len(first):
        return False
    word = first[time].strip()
    if not word[:1].isalpha() or word.lower() in _NO_VALUE:
        return False
    if columns is None and len(COLUMNS) - len(missing_columns(first)) >= _CLEARLY_NAMED:
        return True
    return second is not None and is_time(second[time])


def missing_columns(names: Sequence[str]) -> list[str]:
    """Those of subject, relation, object and time that none of these names stands for."""
    found = {_column_of(name) for name in names}
    return [column for column in COLUMNS if column not in found]


def check_columns(file: Path, columns: Sequence[str | int] | None) -> None:
    """Raises an InputError unless four columns are requested, or none."""
    if columns is not None and len(columns) != len(COLUMNS):
        raise _not_four(file, columns)


def _not_four(file: Path, columns: Sequence[str | int]) -> InputError:
    found = ", ".join(map(str, columns))
    return InputError("not four different columns", file=file, found=found, expected=_GIVE_COLUMNS)


def find_columns(
    file: Path, names: Sequence[str] | None, width: int, columns: Sequence[str | int] | None, ordered: bool = True
) -> tuple[int, ...]:
    """Positions of the four columns, from 0: as requested, by name, or (if ``ordered``) the first four.

    The first four are used only if no column has a known name: if the header names only some of the four, an unnamed
    column may be the missing one or something else, such as a weight.
    """
    if columns is not None:
        positions = tuple(_find_column(file, column, names, width) for column in columns)
        if len(set(positions)) < len(COLUMNS):
            raise _not_four(file, columns)
        return positions
    found = [_column_of(name) for name in names or ()]
    if all(found.count(column) == 1 for column in COLUMNS):
        return tuple(found.index(column) for column in COLUMNS)
    if ordered and not any(found) and width >= len(COLUMNS):
        return (0, 1, 2, 3)
    unclear = next((column for column in COLUMNS if found.count(column) != 1), COLUMNS[0])
    raise InputError(
        f"cannot determine the column of the {unclear}", file=file, found=", ".join(names or ()), expected=_GIVE_COLUMNS
    )


def field_names(positions: Sequence[int], names: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the four columns in error messages, followed by their names in the file if those differ."""
    if names is None:
        return COLUMNS
    pairs = zip(COLUMNS, (names[position] for position in positions), strict=True)
    return tuple(column if name.lower() == column else f"{column} ({name})" for column, name in pairs)


def _find_column(file: Path, column: str | int, names: Sequence[str] | None, width: int) -> int:
    if isinstance(column, str) and column in (names or ()):
        positions = [index for index, name in enumerate(names or ()) if name == column]
        if len(positions) > 1:
            raise InputError("two columns have this name", file=file, found=column, expected="a position from 1")
        return positions[0]
    position = _position(column)
    if 1 <= position <= width:
        return position - 1
    if position or isinstance(column, int):
        raise InputError("no such column", file=file, found=column, expected=f"a position from 1 to {width}")
    if names is None:
        raise InputError("no such column, as there is no header", file=file, found=column, expected="a position from 1")
    known = f"one of {', '.join(names)}"
    hint = did_you_mean(column, names)
    raise InputError("no such column", file=file, found=column, expected=f"{known} ({hint})" if hint else known)


def _position(column: str | int) -> int:
    """The position of a column from 1, given as a number or as text; 0 for a name."""
    if isinstance(column, int):
        return max(column, 0)
    return int(column) if re.fullmatch(r"[0-9]{1,6}", column) else 0


def _column_of(name: str) -> str | None:
    plain = re.sub(r"[ _-](id|name)$", "", name.strip().lower())
    return _COLUMN_OF.get(re.sub(r"[ _-]", "", plain))
