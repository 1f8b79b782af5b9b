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
    """Rows that repeated an earlier row exactly, its time included, and were merged into it."""
    self_loops: int
    """Distinct facts whose subject is their object; they are kept."""
    times_cut: int = 0
    """Rows whose time was finer than the calendar's granules and was cut down to one."""
    merged_by_cut: int = 0
    """Rows that became equal to an earlier one only because times were cut, and were merged into it."""
    concept_rows: int = 0
    """Pairs of entity and concept in the source of concepts."""
    concept_rows_used: int = 0
    """Those of them whose entity is in the facts."""
