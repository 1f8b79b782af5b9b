"""The four columns of facts: which columns of a file they are, and where a value of them stands."""

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
"""How people call the four columns, without case, spaces, hyphens and the endings ``_id`` and ``_name``."""
_COLUMN_OF = {name: role for role, names in _ALIASES.items() for name in names.split()}
_NO_VALUE = ("na", "nan", "nat", "n/a", "null", "none", "nil", "unknown")
_GIVE_COLUMNS = "--columns (in Python columns=) with four names or positions from 1: subject, relation, object, time"
_CLEARLY_NAMED = 3


@dataclass(frozen=True, eq=False)
class FactColumns:
    """Subject, relation, object and time of every row, as text."""

    file: Path
    values: tuple[pl.Series, ...]
    """Four series of strings of equal length, without nulls."""
    fields: tuple[str, ...]
    """What errors call the four columns."""
    line: Callable[[int], int]
    """The line of the file (the record of a Parquet file), counted from 1, of a row counted from 0."""

    def error(self, problem: str, column: int, row: int, found: object, expected: str | None) -> InputError:
        """An InputError about one value."""
        return InputError(
            problem, file=self.file, row=self.line(row), field=self.fields[column], found=found, expected=expected
        )


def has_header(first: Sequence[str], second: Sequence[str] | None, columns: Sequence[str | int] | None) -> bool:
    """Whether the first row of a file names its columns rather than being a fact.

    It does where columns are asked for by name, where it holds a known name for each of the four, or where its time is
    a word and either three of the four have known names or the next row's time is one. A first row whose time is a
    broken date is a fact, and an error.
    """
    if columns is not None and not all(_position(column) for column in columns):
        return True
    if columns is None and set(COLUMNS) <= {_role(name) for name in first}:
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
    """Those of subject, relation, object and time for which none of these is a known name."""
    there = {_role(name) for name in names}
    return [role for role in COLUMNS if role not in there]


def check_columns(file: Path, columns: Sequence[str | int] | None) -> None:
    """Raises an InputError unless four columns are asked for, or none."""
    if columns is not None and len(columns) != len(COLUMNS):
        raise _not_four(file, columns)


def _not_four(file: Path, columns: Sequence[str | int]) -> InputError:
    found = ", ".join(map(str, columns))
    return InputError("not four different columns", file=file, found=found, expected=_GIVE_COLUMNS)


def find_columns(
    file: Path, names: Sequence[str] | None, width: int, columns: Sequence[str | int] | None, ordered: bool = True
) -> tuple[int, ...]:
    """Where the four columns are, from 0: as asked for, or by their names, or else (if ``ordered``) the first four.

    The first four are taken only where no column has a known name: a header that names some of the four leaves open
    whether another column is the missing one or something else, such as a weight.
    """
    if columns is not None:
        places = tuple(_find_column(file, column, names, width) for column in columns)
        if len(set(places)) < len(COLUMNS):
            raise _not_four(file, columns)
        return places
    roles = [_role(name) for name in names or ()]
    if all(roles.count(role) == 1 for role in COLUMNS):
        return tuple(roles.index(role) for role in COLUMNS)
    if ordered and not any(roles) and width >= len(COLUMNS):
        return (0, 1, 2, 3)
    unclear = next((role for role in COLUMNS if roles.count(role) != 1), COLUMNS[0])
    raise InputError(
        f"cannot tell which column is the {unclear}", file=file, found=", ".join(names or ()), expected=_GIVE_COLUMNS
    )


def field_names(places: Sequence[int], names: Sequence[str] | None) -> tuple[str, ...]:
    """What errors call the four columns: their roles, with their names in the file where those differ."""
    if names is None:
        return COLUMNS
    called = zip(COLUMNS, (names[place] for place in places), strict=True)
    return tuple(role if name.lower() == role else f"{role} ({name})" for role, name in called)


def _find_column(file: Path, column: str | int, names: Sequence[str] | None, width: int) -> int:
    if isinstance(column, str) and column in (names or ()):
        places = [place for place, name in enumerate(names or ()) if name == column]
        if len(places) > 1:
            raise InputError("two columns have this name", file=file, found=column, expected="a position from 1")
        return places[0]
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
    """A column's position from 1, also where it is written as text; 0 where it is a name (or no position)."""
    if isinstance(column, int):
        return max(column, 0)
    return int(column) if re.fullmatch(r"[0-9]{1,6}", column) else 0


def _role(name: str) -> str | None:
    plain = re.sub(r"[ _-](id|name)$", "", name.strip().lower())
    return _COLUMN_OF.get(re.sub(r"[ _-]", "", plain))
