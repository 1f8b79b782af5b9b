"""How a file of facts is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from fitcarl.data.io.columns import ColumnNames
from fitcarl.data.io.layouts import Layout, find_layout
from fitcarl.data.io.separators import parse_separator
from fitcarl.data.io.source import is_utf8
from fitcarl.data.name_rules import name_problem
from fitcarl.data.reading import INTERVALS, MAX_EXPANSION, Intervals
from fitcarl.errors import InputError


class ReadKeywords(TypedDict, total=False):
    """The options of ``read_facts`` about the file itself, as keyword arguments."""

    format: str | None
    separator: str | None
    encoding: str | None
    header: bool | Literal["auto"]
    columns: ColumnNames | None
    relation: str | None
    layout: str | None
    skip_incomplete: bool
    intervals: Intervals | None
    max_expansion: int


@dataclass(frozen=True)
class ReadOptions:
    """Options of ``read_facts`` about the file itself; see there."""

    format: str | None = None
    separator: str | None = None
    encoding: str | None = None
    header: bool | Literal["auto"] = "auto"
    columns: ColumnNames | None = None
    relation: str | None = None
    layout: str | None = None
    skip_incomplete: bool = False
    intervals: Intervals | None = None
    max_expansion: int = MAX_EXPANSION
    judge: bool = True
    """Whether contents speak against a mapping; see ``map_columns``."""

    def __post_init__(self) -> None:
        if self.layout is not None:
            find_layout(self.layout)
        if self.separator is not None:
            parse_separator(self.separator)
        if self.encoding is not None:
            is_utf8(self.encoding)
        if self.relation is not None and (problem := name_problem(self.relation)):
            raise InputError(problem, field="relation", found=self.relation, expected="a name of the relation")
        if self.intervals is not None and self.intervals not in INTERVALS:
            expected = f"one of {', '.join(INTERVALS)}"
            raise InputError(
                "unknown treatment of intervals", field="intervals", found=self.intervals, expected=expected
            )
        if self.max_expansion < 1:
            raise InputError("invalid maximum", field="max_expansion", found=self.max_expansion, expected="at least 1")

    def with_layout(self, layout: Layout) -> ReadOptions:
        """These options, completed by those of a layout."""
        return replace(
            self,
            separator=self.separator or layout.separator,
            header=layout.header if self.header == "auto" else self.header,
            columns=layout.columns if self.columns is None else self.columns,
            relation=layout.relation if self.relation is None else self.relation,
            skip_incomplete=self.skip_incomplete or layout.skip_incomplete,
        )
