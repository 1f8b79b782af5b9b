"""Facts as they come out of a file: ids, names, calendar, and what was noticed on the way."""

from __future__ import annotations

from dataclasses import dataclass

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class Facts:
    """All facts of one source, exact duplicates merged, in the order of their first appearance."""

    name: str
    quadruples: Quadruples
    vocabulary: Vocabulary
    calendar: Calendar
    concepts: Concepts
    rows: int
    """Rows of the source, duplicates included."""
    duplicates: int
    """Rows that repeated an earlier row exactly and were merged into it."""
    self_loops: int
    """Distinct facts whose subject is their object; they are kept."""
    times_cut: int = 0
    """Rows whose time was finer than the calendar's granules and was cut down to one."""
