"""Columns that the user requests, by name or by position."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from fitcarl.data.io.columns import ColumnNames
from fitcarl.data.io.roles import COLUMNS, ROLES, Role
from fitcarl.errors import InputError, did_you_mean, listed

GIVE_COLUMNS = "--columns (in Python columns=) with four names or positions from 1: subject, relation, object, time"
"""What is expected if the mapping is not clear."""


def requested_columns(columns: ColumnNames) -> list[str | int]:
    """All requested columns."""
    return list(columns.values()) if isinstance(columns, Mapping) else list(columns)


def check_columns(file: Path, columns: ColumnNames | None, relation: str | None = None) -> None:
    """Raises an InputError unless the requested columns are the right number of roles, or none are requested."""
    if columns is None:
        return
    if isinstance(columns, Mapping):
        unknown = [role for role in columns if role not in ROLES]
        if unknown:
            expected = f"some of {', '.join(ROLES)}"
            raise InputError("unknown role of a column", file=file, found=unknown[0], expected=expected)
        missing = [role for role in COLUMNS if role not in columns and (role != "relation" or relation is None)]
        if missing:
            raise InputError(f"no column for the {' and the '.join(missing)}", file=file, expected=GIVE_COLUMNS)
        return
    needed = len(COLUMNS) - (relation is not None)
    if len(columns) not in (needed, needed + 1):
        raise _not_different(file, columns, relation)


def _not_different(file: Path, columns: ColumnNames, relation: str | None) -> InputError:
    found = ", ".join(map(str, requested_columns(columns)))
    if relation is not None:
        expected = "--columns with subject, object and time, as --relation is given"
        return InputError("not three different columns", file=file, found=found, expected=expected)
    return InputError("not four different columns", file=file, found=found, expected=GIVE_COLUMNS)


def find_requested(
    file: Path, columns: ColumnNames, names: Sequence[str] | None, width: int, relation: str | None
) -> dict[Role, int]:
    """Positions of the requested columns."""
    if isinstance(columns, Mapping):
        requested = {cast(Role, role): column for role, column in columns.items()}
    else:
        order: list[Role] = [role for role in ROLES if role != "relation" or relation is None]
        requested = dict(zip(order, columns, strict=False))
    positions = {role: _find_column(file, column, names, width) for role, column in requested.items()}
    if len(set(positions.values())) < len(positions):
        raise _not_different(file, columns, relation)
    return positions


def _find_column(file: Path, column: str | int, names: Sequence[str] | None, width: int) -> int:
    if isinstance(column, str) and column in (names or ()):
        positions = [index for index, name in enumerate(names or ()) if name == column]
        if len(positions) > 1:
            raise InputError("two columns have this name", file=file, found=column, expected="a position from 1")
        return positions[0]
    position = position_of(column)
    if 1 <= position <= width:
        return position - 1
    if position or isinstance(column, int):
        raise InputError("no such column", file=file, found=column, expected=f"a position from 1 to {width}")
    if names is None:
        raise InputError("no such column, as there is no header", file=file, found=column, expected="a position from 1")
    known = f"one of {listed(names)}"
    hint = did_you_mean(column, names)
    raise InputError("no such column", file=file, found=column, expected=f"{known} ({hint})" if hint else known)


def position_of(column: str | int) -> int:
    """The position of a column from 1, given as a number or as text; 0 for a name."""
    if isinstance(column, int):
        return max(column, 0)
    return int(column) if re.fullmatch(r"[0-9]{1,6}", column) else 0
