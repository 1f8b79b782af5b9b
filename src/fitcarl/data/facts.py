"""Facts as they come out of a file: ids, names, calendar, and what was noticed on the way."""

from __future__ import annotations

from dataclasses import dataclass

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
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
    times_truncated: int = 0
    """Rows whose time was finer than the calendar's granules and was cut down to one."""
    merged_by_truncation: int = 0
    """Rows that became equal to an earlier one only because times were cut, and were merged into it."""
    concept_rows: int = 0
    """Pairs of entity and concept in the source of concepts."""
    concept_rows_used: int = 0
    """Those of them whose entity is in the facts."""

    @classmethod
    def of(cls, dataset: Dataset) -> Facts:
        """All facts of a dataset, its split forgotten."""
        facts = dataset.everything
        loops = int((facts.subject == facts.object).sum())
        names = dataset.vocabulary, dataset.calendar, dataset.concepts
        return cls(dataset.name, facts, *names, rows=len(facts), duplicates=0, self_loops=loops)

    @property
    def summary(self) -> str:
        """What was noticed while they were read, for people."""
        noticed = [
            _counted(self.rows, "row"),
            f"{_counted(self.duplicates, 'exact duplicate')} merged",
            f"{_counted(self.self_loops, 'fact')} of an entity with itself kept",
        ]
        if self.times_truncated:
            unit = self.calendar.granularity
            tick = f"tick of {self.calendar.step}" if unit == "integer" else unit
            noticed.append(f"{_counted(self.times_truncated, 'time')} cut to the {tick}")
            noticed.append(f"{_counted(self.merged_by_truncation, 'fact')} merged that became equal by that")
        if self.concept_rows:
            used = f"{self.concept_rows_used:,} of {_counted(self.concept_rows, 'row')} of concepts"
            noticed.append(f"{used} {'matches' if self.concept_rows_used == 1 else 'match'} an entity")
        return ", ".join(noticed)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
