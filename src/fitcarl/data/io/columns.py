"""The columns of facts in a file: which column is what, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fitcarl.data.io.roles import COLUMNS, ROLES, Role
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

ColumnNames = Sequence[str | int] | Mapping[str, str | int]
"""Columns of subject, relation, object and time (and end), in this order or by role; names, or positions from 1."""
NO_VALUE = (
    *("", "na", "nan", "nat", "n/a", "null", "none", "nil", "unknown", "-", "\\n", "<na>"),
    *("####-##-##", "0000-00-00"),
)
"""Texts that stand for a missing value."""
OPEN_END = (*NO_VALUE, "present", "now", "current", "ongoing", "today", "9999-12-31")
"""Texts that stand for the end of an interval that has not ended."""
SAMPLE_ROWS = 2000
"""Rows whose values decide about the columns."""


@dataclass(frozen=True)
class ColumnMapping:
    """Which column of a file is what."""

    positions: dict[Role, int]
    """Role → position from 0."""
    names: tuple[str, ...] | None
    """All columns of the file; None if it has no header."""
    width: int
    relation: str | None = None
    """The relation of all facts, if no column has it."""
    guessed: tuple[Role, ...] = ()
    """Roles that follow from the contents of a column and not from its name."""

    def column(self, role: Role) -> str:
        """The name of a column, or its position from 1."""
        if role == "relation" and self.relation is not None:
            return f"{self.relation} (the same for all facts)"
        position = self.positions[role]
        return f"column {position + 1}" if self.names is None else self.names[position]

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(role for role in ROLES if role in self.positions or (role == "relation" and self.relation))

    def to_json(self) -> dict[str, str]:
        """Role → name of the column, or its position from 1."""
        return {role: self.column(role) for role in self.roles}

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that are not used."""
        used = set(self.positions.values())
        names = self.names or [f"column {position + 1}" for position in range(self.width)]
        return tuple(name for position, name in enumerate(names) if position not in used)

    @property
    def text(self) -> str:
        """The mapping in one line."""
        parts = [f"{role} = {self.column(role)}" for role in self.roles]
        line = ", ".join(parts)
        if self.guessed:
            line += f" ({' and '.join(self.guessed)} by content)"
        if self.ignored:
            shown = ", ".join(self.ignored[:6]) + (
                f" and {len(self.ignored) - 6} more" if len(self.ignored) > 6 else ""
            )
            line += f"; ignored: {shown}"
        return line


@dataclass(frozen=True, eq=False)
class FactColumns:
    """Subject, relation, object and time of every row as text."""

    file: Path
    values: tuple[pl.Series, ...]
    """Four series of strings of equal length, without nulls."""
    mapping: ColumnMapping
    line: Callable[[int], int]
    """Line of the file (record of a Parquet file), counted from 1, of a row counted from 0."""
    end: pl.Series | None = None
    """Strings: end of the interval that starts at the time; empty if it is open."""
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    """int64 [rows]: row of the file of each row, if some were left out."""
    incomplete: int = 0
    """Rows that were left out because a value is missing."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the columns in error messages, followed by their names in the file if those differ."""
        return tuple(_field_name(self.mapping, role) for role in ROLES)

    def line_of(self, row: int) -> int:
        """Line of the file of a row, also if some rows were left out."""
        return self.line(row if self.rows is None else int(self.rows[row]))

    def error(self, problem: str, column: int, row: int, found: object, expected: str | None) -> InputError:
        """An InputError about one value."""
        return InputError(
            problem, file=self.file, row=self.line_of(row), field=self.fields[column], found=found, expected=expected
        )

    def complete(self) -> FactColumns:
        """The rows in which subject, relation, object and time are given; the others are counted."""
        import polars as pl

        given = pl.Series([True]).new_from_index(0, len(self.values[0]))
        for column in self.values:
            given &= ~column.str.strip_chars().str.to_lowercase().is_in(NO_VALUE)
        if given.all():
            return self
        kept = given.arg_true().to_numpy().astype(np.int64)
        values = tuple(series.filter(given) for series in self.values)
        end = None if self.end is None else self.end.filter(given)
        return replace(self, values=values, end=end, rows=kept, incomplete=len(given) - len(kept))


def _field_name(mapping: ColumnMapping, role: Role) -> str:
    if role not in mapping.positions or mapping.names is None:
        return role
    name = mapping.names[mapping.positions[role]]
    return role if name.lower() == role else f"{role} ({name})"


def fact_columns(path: Path, values: dict[Role, pl.Series], mapping: ColumnMapping, line: Any) -> FactColumns:
    """The columns of facts from the values of a file: with a constant relation, and dates joined with their clock."""
    import polars as pl

    rows = len(values["subject"])
    if "clock" in values:
        values["time"] = values["time"].str.strip_chars() + " " + values["clock"].str.strip_chars()
    if mapping.relation is not None:
        values["relation"] = pl.Series("relation", [mapping.relation], dtype=pl.String).new_from_index(0, rows)
    return FactColumns(path, tuple(values[role] for role in COLUMNS), mapping, line, values.get("end"))


def number_text(value: float) -> str:
    """A number as text; whole numbers have no decimals."""
    return repr(value) if isinstance(value, int) or not value.is_integer() else str(int(value))
