"""Further facts by name, in the vocabulary and the calendar of facts that are already indexed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np

from fitcarl.core.arrays import with_empty_groups
from fitcarl.data.calendar import MAX_SPAN, Calendar, Granularity, parse_granule, parse_moment
from fitcarl.data.concepts import Concepts
from fitcarl.data.io.columns import COLUMNS
from fitcarl.data.io.formats import format_of, read_columns
from fitcarl.data.io.table import name_problem
from fitcarl.data.io.timestamps import is_time
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError, did_you_mean

NamedFact = tuple[str, str, str, str]
"""Subject, relation, object and time."""
Locate = Callable[[int, int, InputError], InputError]
"""An error about a row and a column, with its place."""
_FINENESS: dict[Granularity, int] = {"year": 0, "month": 1, "day": 2, "hour": 3}
_COARSE = re.compile(r"(?P<year>[0-9]{4})|(?P<month>[0-9]{4}-[0-9]{2})|(?P<day>[0-9]{4}-?[0-9]{2}-?[0-9]{2})")
_EXAMPLE: dict[Granularity, str] = {
    "month": "a month such as 2014-05",
    "day": "a date such as 2014-05-13",
    "hour": "a time such as 2014-05-13T09",
}


@dataclass(frozen=True, eq=False)
class FurtherFacts:
    """Facts in the ids of a vocabulary that is extended by new entities at its end."""

    quadruples: Quadruples
    """The distinct facts, in order of first appearance."""
    vocabulary: Vocabulary
    """The vocabulary with the entities that are new to it, in order of first appearance."""
    rows: int
    """Rows that were given."""
    duplicates: int
    """Rows equal to an earlier row."""
    unknown_relations: int
    """Rows that were left out because their relation is unknown."""
    times_truncated: int
    """Rows whose time was finer than the granularity of the calendar."""


def read_further_facts(
    path: str | Path,
    vocabulary: Vocabulary,
    calendar: Calendar,
    *,
    format: str | None = None,
    header: bool | Literal["auto"] = "auto",
    columns: Sequence[str | int] | None = None,
    skip_unknown_relations: bool = False,
) -> FurtherFacts:
    """Reads facts of a TSV, CSV, Parquet or JSONL file.

    Args:
        path: The file; ``format``, ``header`` and ``columns`` are those of ``read_facts``.
        vocabulary: The known names.
        calendar: The calendar, whose granularity the times must have; finer times are truncated.
        format: As in ``read_facts``.
        header: As in ``read_facts``.
        columns: As in ``read_facts``.
        skip_unknown_relations: Leave out facts with an unknown relation and count them.

    Raises:
        InputError: If a value is invalid; the message names file, row and field.
    """
    source = read_columns(Path(path), format_of(Path(path), format), header, columns)
    texts = list(zip(*(values.to_list() for values in source.values), strict=True))

    def locate(row: int, column: int, problem: InputError) -> InputError:
        header_row = row == 0 and not is_time(texts[0][3])
        hint = "for a header row use --header, for other columns --columns" if header_row else problem.hint
        return InputError(
            problem.problem,
            file=source.file,
            row=source.line(row),
            field=source.fields[column],
            found=problem.found,
            expected=problem.expected,
            hint=hint,
        )

    return _encode(texts, vocabulary, calendar, skip_unknown_relations, locate)


def further_facts(
    facts: Iterable[Sequence[str]], vocabulary: Vocabulary, calendar: Calendar, *, skip_unknown_relations: bool = False
) -> FurtherFacts:
    """Facts in memory, as ``read_further_facts`` reads them from a file."""

    def locate(row: int, column: int, problem: InputError) -> InputError:
        return InputError(
            problem.problem,
            row=row + 1,
            field=COLUMNS[column],
            found=problem.found,
            expected=problem.expected,
            hint=problem.hint,
        )

    rows = [tuple(fact) for fact in facts]
    for number, row in enumerate(rows):
        if len(row) != len(COLUMNS) or not all(isinstance(part, str) for part in row):
            raise InputError("not a fact", row=number + 1, found=row, expected="subject, relation, object and time")
    return _encode(rows, vocabulary, calendar, skip_unknown_relations, locate)  # type: ignore[arg-type]


def extended_calendar(calendar: Calendar, ticks: np.ndarray) -> Calendar:
    """The calendar with further times, none of which is before its first."""
    granules = calendar.origin + np.union1d(calendar.ticks, ticks).astype(np.int64) * calendar.step
    return Calendar.of_granules(calendar.granularity, granules, calendar.step)


def extended_concepts(concepts: Concepts, entities: int) -> Concepts:
    """The concepts with rows for further entities, which have none."""
    return replace(concepts, offsets=with_empty_groups(concepts.offsets, entities + 1 - len(concepts.offsets)))


def _encode(
    rows: Sequence[NamedFact],
    vocabulary: Vocabulary,
    calendar: Calendar,
    skip_unknown_relations: bool,
    locate: Locate,
) -> FurtherFacts:
    if not rows:
        raise InputError("no facts", expected="at least one fact")
    index, relations = vocabulary.entity_index, vocabulary.relation_index
    new: dict[str, int] = {}
    ticks: dict[str, tuple[int, bool]] = {}
    encoded: list[tuple[int, int, int, int]] = []
    unknown = truncated = 0

    def fail(row: int, column: int, problem: InputError) -> NoReturn:
        raise locate(row, column, problem) from None

    def entity(row: int, column: int, name: str) -> int:
        found = index.get(name, index.get(name.strip(" "), -1))
        if found >= 0:
            return found
        if problem := name_problem(name):
            fail(row, column, InputError(problem, found=name, expected="a name on one line"))
        return new.setdefault(name, len(index) + len(new))

    for row, (subject, relation, object, time) in enumerate(rows):
        number = relations.get(relation, relations.get(relation.strip(" "), -1))
        if number < 0:
            if not skip_unknown_relations:
                expected = f"one of the run's {len(relations)} relations, or --skip-unknown-relations"
                hint = did_you_mean(relation, vocabulary.relations)
                fail(row, 1, InputError("unknown relation", found=relation, expected=expected, hint=hint))
            unknown += 1
            continue
        if time not in ticks:
            try:
                ticks[time] = _tick(calendar, time)
            except InputError as error:
                fail(row, 3, error)
        tick, cut = ticks[time]
        truncated += cut
        encoded.append((entity(row, 0, subject), number, entity(row, 2, object), tick))
    facts = Quadruples.from_rows(np.array(encoded, dtype=np.int32).reshape(-1, 4))
    distinct = facts.distinct()
    names = Vocabulary(vocabulary.entities + tuple(new), vocabulary.relations)
    return FurtherFacts(distinct, names, len(rows), len(facts) - len(distinct), unknown, truncated)


def _tick(calendar: Calendar, text: str) -> tuple[int, bool]:
    """The tick of a time, and whether the time was finer than a tick."""
    text, granularity = text.strip(), calendar.granularity
    if granularity != "integer":
        kind = _COARSE.fullmatch(text)
        given = "hour" if kind is None else str(kind.lastgroup)
        if _FINENESS[given] < _FINENESS[granularity]:  # type: ignore[index]
            raise InputError(f"a time without {granularity}", found=text, expected=_EXAMPLE[granularity])
    granule = parse_granule(granularity, text)
    tick, rest = divmod(granule - calendar.origin, calendar.step)
    if tick < 0:
        raise InputError("before the first time of the run", found=text, expected=f"{calendar.label(0)} or later")
    if tick >= MAX_SPAN:
        expected = f"at most {MAX_SPAN:,} {calendar.unit} after {calendar.label(0)}"
        raise InputError("a time out of range", found=text, expected=expected)
    if granularity == "integer":
        return tick, rest != 0
    return tick, parse_moment(text) != parse_moment(calendar.label(tick))
