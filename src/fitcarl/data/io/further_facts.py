"""Further facts by name, in the vocabulary and the calendar of facts that are already indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import with_empty_groups
from fitcarl.data.calendar import MAX_SPAN, Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.io.columns import FactColumns
from fitcarl.data.io.intervals import as_events, expanded_ticks, has_end
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.roles import COLUMNS
from fitcarl.data.io.tables import read_source
from fitcarl.data.io.timestamps import is_time
from fitcarl.data.moments import PRECISIONS, parse_moment, time_text
from fitcarl.data.name_rules import name_problem
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.reading import MAX_EXPANSION, Reading
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError, did_you_mean

NamedFact = tuple[str, str, str, str]
"""Subject, relation, object and time."""
Locate = Callable[[int, int, InputError], InputError]
"""An error about a row and a column, with its place."""


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
    mapping: dict[str, str] | None = None
    """Role → column of the source; None for facts that were given one by one."""
    mapping_text: str = ""
    """The mapping in one line."""


def read_further_facts(
    source: Any,
    vocabulary: Vocabulary,
    calendar: Calendar,
    *,
    options: ReadOptions | None = None,
    reading: Reading | None = None,
    skip_unknown_relations: bool = False,
) -> FurtherFacts:
    """Reads facts of a file or a DataFrame.

    Args:
        source: The file or DataFrame, as in ``read_facts``.
        vocabulary: The known names.
        calendar: The calendar, whose granularity the times must have; finer times are truncated.
        options: How to read it.
        reading: How the known facts were read: intervals are treated alike.
        skip_unknown_relations: Leave out facts with an unknown relation and count them.

    Raises:
        InputError: If a value is invalid; the message names file, row and field.
    """
    table = read_further_columns(source, options or ReadOptions(), calendar, reading)
    texts = list(zip(*(values.to_list() for values in table.values), strict=True))

    def locate(row: int, column: int, problem: InputError) -> InputError:
        header_row = row == 0 and not is_time(texts[0][3])
        hint = "for a header row use --header, for other columns --columns" if header_row else problem.hint
        return InputError(
            problem.problem,
            file=table.file,
            row=table.line_of(row),
            field=table.fields[column],
            found=problem.found,
            expected=problem.expected,
            hint=hint,
        )

    found = _encode(texts, vocabulary, calendar, skip_unknown_relations, locate)
    return replace(found, mapping=table.mapping.to_json(), mapping_text=table.mapping.text)


def read_further_columns(
    source: Any, options: ReadOptions, calendar: Calendar, reading: Reading | None = None
) -> FactColumns:
    """Subject, relation, object and time of further facts, with intervals treated as in the known facts.

    Args:
        source: As in ``read_facts``.
        options: How to read it.
        calendar: The calendar of the known facts.
        reading: How the known facts were read; without it only the start of an interval is used.
    """
    table = read_source(source, replace(options, judge=False))
    if table.end is None:
        if options.intervals is not None:
            raise InputError("no intervals", file=table.file, field="intervals", expected="a column for the end")
        return table
    mode = options.intervals or (reading.intervals if reading else None) or "start"
    if mode == "events":
        return as_events(table)
    if mode == "start":
        return replace(table, end=None)
    known = MAX_EXPANSION if reading is None else reading.max_expansion
    return _expanded(table, calendar, known if options.max_expansion == MAX_EXPANSION else options.max_expansion)


def _expanded(table: FactColumns, calendar: Calendar, at_most: int) -> FactColumns:
    """One row per tick of each interval, with the label of the tick as its time."""
    import polars as pl

    closed = has_end(table)
    ticks: list[NDArray[np.int64]] = []
    for column, values in ((3, table.values[3]), (4, table.end)):
        assert values is not None
        numbers = []
        for row, text in enumerate(values.to_list()):
            try:
                numbers.append(calendar.tick(text) if column == 3 or closed[row] else int(ticks[0][row]))
            except InputError as error:
                raise table.error(error.problem, column, row, error.found, error.expected) from None
        ticks.append(np.array(numbers, dtype=np.int64))
    start, end = ticks
    wrong = np.flatnonzero(end < start)
    if len(wrong):
        row = int(wrong[0])
        found = None if table.end is None else table.end[row]
        raise table.error("an interval that ends before it starts", 4, row, found, "an end at or after the start")
    row_of, tick = expanded_ticks(start, end, at_most)
    names = tuple(values.gather(row_of) for values in table.values[:3])
    labels = pl.Series(table.values[3].name, [calendar.label(int(number)) for number in tick], dtype=pl.String)
    rows = row_of if table.rows is None else table.rows[row_of]
    return replace(table, values=(*names, labels), end=None, rows=rows)


def further_facts(
    facts: Iterable[Sequence[Any]], vocabulary: Vocabulary, calendar: Calendar, *, skip_unknown_relations: bool = False
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
        if len(row) != len(COLUMNS) or not all(isinstance(part, str) for part in row[:3]):
            raise InputError("not a fact", row=number + 1, found=row, expected="subject, relation, object and time")
        try:
            rows[number] = (*row[:3], time_text(row[3]))
        except InputError as error:
            raise locate(number, 3, error) from None
    return _encode(rows, vocabulary, calendar, skip_unknown_relations, locate)


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
    tick = calendar.tick(text)
    if granularity == "integer":
        truncated = calendar.label(tick) != text
    else:
        moment = parse_moment(text)
        if PRECISIONS.index(moment.precision) < PRECISIONS.index(granularity):
            raise InputError(
                f"a time without {granularity}", found=text, expected=f"a time such as {calendar.label(0)}"
            )
        truncated = moment.start != parse_moment(calendar.label(tick)).start
    if tick < 0:
        raise InputError("before the first time of the run", found=text, expected=f"{calendar.label(0)} or later")
    if tick >= MAX_SPAN:
        expected = f"at most {MAX_SPAN:,} {calendar.unit} after {calendar.label(0)}"
        raise InputError("a time out of range", found=text, expected=expected)
    return tick, bool(truncated)
