"""Facts read from one source: ids, names, calendar, and statistics of the import."""

from __future__ import annotations

from dataclasses import dataclass

from fitcarl.core.display import display_block, display_table
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.reading import NOT_READ, Reading
from fitcarl.data.vocabulary import Vocabulary

_SHOWN = 5
"""Facts that a notebook shows."""


@dataclass(frozen=True, repr=False)
class Facts:
    """All facts of one source in order of first appearance; exact duplicates are merged."""

    name: str
    quadruples: Quadruples
    vocabulary: Vocabulary
    calendar: Calendar
    concepts: Concepts
    rows: int
    """Rows of the source, duplicates included."""
    duplicates: int
    """Rows equal to an earlier row, time included; merged."""
    self_loops: int
    """Distinct facts with equal subject and object; kept."""
    times_truncated: int = 0
    """Rows whose time was finer than the granularity of the calendar and was truncated to it."""
    merged_by_truncation: int = 0
    """Rows that became equal to an earlier row only because times were truncated; merged."""
    concept_rows: int = 0
    """(entity, concept) pairs in the concepts file."""
    concept_rows_used: int = 0
    """Pairs whose entity occurs in the facts."""
    reading: Reading = NOT_READ
    """Columns of the source and further counts."""
    warnings: tuple[str, ...] = ()
    """What looks wrong, in sentences."""

    def __repr__(self) -> str:
        entities, relations = (len(names) for names in (self.vocabulary.entities, self.vocabulary.relations))
        sizes = f"{len(self.quadruples):,} facts, {entities:,} entities, {relations:,} relations"
        return f"Facts({self.name!r}, {sizes}, {self.calendar.extent})"

    def _repr_html_(self) -> str:
        """Size and the first facts, for notebooks."""
        rows = named_facts(self.quadruples.take(slice(_SHOWN)), self.vocabulary, self.calendar)
        notes = [f"{self.calendar.extent} ({self.calendar.granularity}); {self.summary}", *self.warnings]
        if len(self.quadruples) > _SHOWN:
            notes.insert(0, f"the first {_SHOWN} of {len(self.quadruples):,} facts")
        table = display_table(("subject", "relation", "object", "time"), rows, "llll")
        entities, relations = (len(names) for names in (self.vocabulary.entities, self.vocabulary.relations))
        title = f"{len(self.quadruples):,} facts of {self.name}: {entities:,} entities, {relations:,} relations"
        return display_block(title, table, notes=notes)

    @property
    def mapping(self) -> dict[str, str] | None:
        """Role → column of the source; None if the facts were not read from columns."""
        return self.reading.mapping or None

    @classmethod
    def of(cls, dataset: Dataset) -> Facts:
        """All facts of a dataset, regardless of its split."""
        facts = dataset.everything
        loops = int((facts.subject == facts.object).sum())
        names = dataset.vocabulary, dataset.calendar, dataset.concepts
        return cls(
            dataset.name, facts, *names, rows=len(facts), duplicates=0, self_loops=loops, reading=dataset.reading
        )

    @property
    def summary(self) -> str:
        """Statistics of the import in one line of text."""
        parts = [
            _counted(self.rows, "row"),
            f"{_counted(self.duplicates, 'exact duplicate')} merged",
            f"{_counted(self.self_loops, 'fact')} with equal subject and object kept",
        ]
        if self.times_truncated:
            unit = self.calendar.granularity
            tick = f"tick of {self.calendar.step}" if unit == "integer" else unit
            parts.append(f"{_counted(self.times_truncated, 'time')} truncated to the {tick}")
            parts.append(f"{_counted(self.merged_by_truncation, 'fact')} merged that became equal by truncation")
        if self.concept_rows:
            used = f"{self.concept_rows_used:,} of {_counted(self.concept_rows, 'row')} of concepts"
            parts.append(f"{used} {'matches' if self.concept_rows_used == 1 else 'match'} an entity")
        parts += self.reading.notes
        return ", ".join(parts)


def named_facts(facts: Quadruples, vocabulary: Vocabulary, calendar: Calendar) -> list[tuple[str, str, str, str]]:
    """(subject, relation, object, time) of each fact as text; inverse relations are marked with ⁻¹."""
    names = vocabulary.entities
    return [(names[s], vocabulary.relation_name(r), names[o], calendar.label(t)) for s, r, o, t in facts]


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
