"""Names and times of facts and questions as the run's ids and ticks; what cannot be read is one clear line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.io.formats import format_of, read_columns
from fitcarl.data.io.table import name_problem
from fitcarl.data.io.timestamps import is_time
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError, did_you_mean
from fitcarl.predict.entities import EntityIndex
from fitcarl.predict.fact import Fact

FURTHEST = 20_000
"""Ticks that a time may lie before the background's first or after its last."""


class FactParser:
    """Reads what people write, by the names and the calendar of a run."""

    def __init__(self, vocabulary: Vocabulary, calendar: Calendar) -> None:
        self._vocabulary = vocabulary
        self._calendar = calendar

    def relation(self, name: str, **place: Any) -> int:
        """The id of a relation; ``place`` (file and row) goes into the error where there is no such relation."""
        found = self._vocabulary.relation_index.get(name)
        if found is None:
            known = self._vocabulary.relations
            hint = did_you_mean(name, known)
            expected = f"one of the run's {len(known)} relations"
            raise InputError("unknown relation", field="relation", found=name, expected=expected, hint=hint, **place)
        return found

    def tick(self, text: str, field: str = "time", **place: Any) -> int:
        """The tick of a time, which may lie outside the background's span, but not without end."""
        try:
            tick = self._calendar.tick(text)
        except InputError as error:
            raise InputError(error.problem, field=field, found=text, expected=error.expected, **place) from None
        if not -FURTHEST <= tick < self._calendar.span + FURTHEST:
            first, last = self._calendar.label(0), self._calendar.label(self._calendar.span - 1)
            expected = f"at most {FURTHEST:,} {self._calendar.unit} before {first} or after {last}"
            problem = "a time too far from the background"
            raise InputError(problem, field=field, found=text, expected=expected, **place)
        return tick

    def normalise(self, fact: Fact, **place: Any) -> Fact:
        """The fact with its time as the calendar writes it; an InputError if it cannot be used."""
        self.relation(fact.relation, **place)
        return fact._replace(time=self._calendar.label(self.tick(fact.time, **place)))

    def file(
        self,
        path: str | Path,
        format: str | None = None,
        header: bool | Literal["auto"] = "auto",
        columns: Sequence[str | int] | None = None,
    ) -> list[Fact]:
        """The facts of a small file; the arguments are those of ``read_facts``, and errors name the row."""
        source = read_columns(Path(path), format_of(Path(path), format), header, columns)
        facts: list[Fact] = []
        for row, texts in enumerate(zip(*(values.to_list() for values in source.values), strict=True)):
            for column, text in enumerate(texts):
                if problem := name_problem(text):
                    raise source.error(problem, column, row, text, "a name on one line")
            try:
                facts.append(self.normalise(Fact(*texts), file=source.file, row=source.line(row)))
            except InputError as error:
                if row or is_time(texts[-1]):
                    raise
                hint = "if this is a header, or other columns are meant, say so with --columns"
                raise error.about(str(error.field), hint=hint) from None
        return facts

    def quadruples(self, facts: Sequence[Fact], roster: EntityIndex) -> Quadruples:
        """Facts as ids, in their order; a name that nobody has raises an InputError."""
        rows = np.empty((len(facts), 4), dtype=np.int32)
        for row, fact in enumerate(facts):
            ends = roster.find(fact.subject), roster.find(fact.object)
            rows[row] = (_id(ends[0]), self.relation(fact.relation), _id(ends[1]), self.tick(fact.time))
        return Quadruples.from_rows(rows)


def _id(found: int | None) -> int:
    return -1 if found is None else found
