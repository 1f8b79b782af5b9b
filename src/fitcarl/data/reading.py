"""How the facts of a dataset were read from their source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

Intervals = Literal["events", "expand", "start"]
"""What becomes of a fact with a start and an end: two events, one fact per tick, or its start only."""
INTERVALS: tuple[Intervals, ...] = get_args(Intervals)
BEGINS, ENDS = " (begins)", " (ends)"
"""What is added to the name of a relation for the start and the end of an interval."""
MAX_EXPANSION = 50


@dataclass(frozen=True)
class Reading:
    """Columns and counts of one reading, to be shown to the user and kept with a dataset."""

    mapping: dict[str, str] = field(default_factory=dict)
    """Role → column of the source."""
    text: str = ""
    """The mapping in one line, with the columns that are ignored."""
    incomplete: int = 0
    """Rows that were left out because a value is missing."""
    coarse_times: int = 0
    """Rows whose time names a longer period than a tick, such as 1952-##-##, and was placed at its start."""
    epoch: str | None = None
    """Unit of the times if they count from 1970."""
    intervals: Intervals | None = None
    """What became of intervals; None if the facts have none."""
    open_intervals: int = 0
    """Rows without an end."""
    max_expansion: int = MAX_EXPANSION
    """Maximum number of facts per interval if intervals are expanded."""
    thinned_intervals: int = 0
    """Rows with more ticks than that, of which evenly spaced ones were kept."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Reading:
        """The inverse of ``to_json``; unknown keys are ignored."""
        known = {entry.name for entry in fields(cls)}
        return cls(**{key: value for key, value in content.items() if key in known})

    @property
    def notes(self) -> list[str]:
        """Counts in words, only of what occurred."""
        notes = []
        if self.epoch:
            notes.append(f"times are {self.epoch} since 1970, in UTC")
        if self.incomplete:
            notes.append(f"{self.incomplete:,} row{'s' if self.incomplete > 1 else ''} without a value left out")
        if self.coarse_times:
            notes.append(f"{self.coarse_times:,} partial times placed at the start of their period")
        if self.intervals == "events":
            notes.append("intervals read as two events, '… (begins)' and '… (ends)' (--intervals)")
        elif self.intervals == "expand":
            notes.append(f"intervals expanded to one fact per tick, at most {self.max_expansion}")
        elif self.intervals == "start":
            notes.append("only the start of intervals used")
        if self.open_intervals and self.intervals in ("events", "expand"):
            notes.append(f"{self.open_intervals:,} intervals without an end")
        if self.thinned_intervals:
            notes.append(f"{self.thinned_intervals:,} long intervals thinned out")
        return notes


NOT_READ = Reading()
"""The reading of facts that do not come from columns of a source."""
