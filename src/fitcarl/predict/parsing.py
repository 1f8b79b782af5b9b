"""Conversion of names and times to the ids and ticks of a run; invalid input raises a one-line InputError."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.io.columns import ColumnMapping
from fitcarl.data.io.further_facts import read_further_columns
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.timestamps import is_time
from fitcarl.data.moments import AnyTime
from fitcarl.data.name_rules import name_problem
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.reading import Reading
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError, did_you_mean
from fitcarl.predict.entities import EntityIndex
from fitcarl.predict.fact import CheckedFact, Fact

MAX_DISTANCE = 20_000
"""Maximum number of ticks between a time and the time range of the background."""


@dataclass(frozen=True)
class ReadFacts:
    """Facts of a source, and which of its columns were used."""

    facts: list[Fact]
    mapping: ColumnMapping


class FactParser:
    """Parses facts with the vocabulary and the calendar of a run."""

    def __init__(self, vocabulary: Vocabulary, calendar: Calendar) -> None:
        self._vocabulary = vocabulary
        self._calendar = calendar

    def relation(self, name: str, **source: Any) -> int:
        """The id of a relation; ``source`` (file and row) is included in the error if the relation is unknown."""
        found = self._vocabulary.relation_index.get(name)
        if found is None:
            known = self._vocabulary.relations
            hint = did_you_mean(name, known)
            expected = f"one of the run's {len(known)} relations"
            raise InputError("unknown relation", field="relation", found=name, expected=expected, hint=hint, **source)
        return found

    def tick(self, text: AnyTime, field: str = "time", **source: Any) -> int:
        """The tick of a time, which may be at most ``MAX_DISTANCE`` ticks outside the range of the background."""
        try:
            tick = self._calendar.tick(text)
        except InputError as error:
            raise InputError(error.problem, field=field, found=str(text), expected=error.expected, **source) from None
        if not -MAX_DISTANCE <= tick < self._calendar.span + MAX_DISTANCE:
            first, last = self._calendar.label(0), self._calendar.label(self._calendar.span - 1)
            expected = f"at most {MAX_DISTANCE:,} {self._calendar.unit} before {first} or after {last}"
            problem = "time too far from the background"
            raise InputError(problem, field=field, found=str(text), expected=expected, **source)
        return tick

    def check(self, fact: Fact, **source: Any) -> CheckedFact:
        """Looks up the relation and parses the time of a fact whose names are valid."""
        self.relation(fact.relation, **source)
        return CheckedFact(fact.subject, fact.relation, fact.object, self.tick(fact.time, **source))

    def normalise(self, fact: CheckedFact) -> Fact:
        """The fact with its time in the notation of the calendar."""
        return Fact(fact.subject, fact.relation, fact.object, self._calendar.label(fact.tick))

    def read(self, source: Any, options: ReadOptions, reading: Reading | None = None) -> ReadFacts:
        """The facts of a small file or DataFrame; errors contain the row.

        Args:
            source: As in ``read_facts``.
            options: How to read it.
            reading: How the facts of the run were read.
        """
        table = read_further_columns(source, options, self._calendar, reading)
        facts: list[Fact] = []
        for row, texts in enumerate(zip(*(values.to_list() for values in table.values), strict=True)):
            for column, text in enumerate(texts):
                if problem := name_problem(text):
                    raise table.error(problem, column, row, text, "a name on one line")
            try:
                facts.append(self.normalise(self.check(Fact(*texts), file=table.file, row=table.line_of(row))))
            except InputError as error:
                if row or is_time(texts[-1]):
                    raise
                hint = "for a header row use --header, for other columns --columns"
                raise error.about(str(error.field), hint=hint) from None
        return ReadFacts(facts, table.mapping)

    def quadruples(self, facts: Iterable[CheckedFact], entities: EntityIndex) -> Quadruples:
        """Facts as ids, in order; the id of an unknown entity is -1."""
        relation_ids = self._vocabulary.relation_index
        rows = [
            (
                _id_or_missing(entities.find(fact.subject)),
                relation_ids[fact.relation],
                _id_or_missing(entities.find(fact.object)),
                fact.tick,
            )
            for fact in facts
        ]
        return Quadruples.from_rows(np.array(rows, dtype=np.int32).reshape(-1, 4))


def _id_or_missing(found: int | None) -> int:
    return -1 if found is None else found
