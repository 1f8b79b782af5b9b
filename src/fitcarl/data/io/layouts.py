"""Files of public sources whose columns are known: event exports, benchmark edge lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fitcarl.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Layout:
    """What is known about the files of a public source."""

    name: str
    title: str
    columns: Mapping[str, str | int] | None = None
    """Role → name of the column, or its position from 1 in files without a header."""
    header: bool | Literal["auto"] = "auto"
    separator: str | None = None
    relation: str | None = None
    """The relation of all facts, if no column has it."""
    skip_incomplete: bool = True
    """Whether rows without an entity are usual, so that they are left out and counted."""
    widths: tuple[int, ...] = field(default=())
    """Numbers of columns by which files without a header are recognized."""


_GDELT = {"subject": "Actor1Name", "relation": "EventCode", "object": "Actor2Name", "time": "SQLDATE"}
_GDELT_POSITIONS = {"subject": 7, "relation": 27, "object": 17, "time": 2}
_GDELT_WIDTHS = 57, 58, 61

LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout("gdelt", "GDELT events with a header", _GDELT),
        Layout("gdelt-export", "GDELT event export (.export.CSV)", _GDELT_POSITIONS, False, "\t", widths=_GDELT_WIDTHS),
        Layout(
            "acled",
            "ACLED export",
            {"subject": "actor1", "relation": "event_type", "object": "actor2", "time": "event_date"},
        ),
        Layout(
            "icews-export",
            "ICEWS coded event data",
            {"subject": "Source Name", "relation": "Event Text", "object": "Target Name", "time": "Event Date"},
        ),
        Layout("tkgl", "TGB temporal knowledge graph edge list", skip_incomplete=False),
        Layout(
            "snap",
            "SNAP temporal edges: source, target, seconds since 1970",
            None,
            "auto",
            " ",
            "interacts with",
            False,
        ),
    )
}
"""Layouts by name."""


def find_layout(name: str) -> Layout:
    """The layout of this name."""
    if name not in LAYOUTS:
        hint, expected = did_you_mean(name, LAYOUTS), f"one of {', '.join(LAYOUTS)}"
        raise InputError("unknown layout", field="layout", found=name, expected=expected, hint=hint)
    return LAYOUTS[name]


def recognized_layout(first: Sequence[str]) -> Layout | None:
    """The layout of a file by its first row: all names of a header, or the width and first values of an export."""
    names = set(first)
    for layout in LAYOUTS.values():
        if layout.columns and not layout.widths and names >= set(layout.columns.values()):
            return layout
        if len(first) in layout.widths and first[0].isdigit() and len(first[1]) == 8 and first[1].isdigit():
            return layout
    return None
