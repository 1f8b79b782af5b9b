"""Reads facts and concepts from files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.facts import Facts
from fitcarl.data.io.columns import ColumnNames, FactColumns
from fitcarl.data.io.intervals import as_events, expanded_ticks, has_end
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.source import read_text
from fitcarl.data.io.table import read_table
from fitcarl.data.io.tables import name_of_source, read_source
from fitcarl.data.io.timestamps import Timestamps, check_granularity, is_time, read_timestamps
from fitcarl.data.name_rules import MAX_NAME_LENGTH, SUSPECT_NAME, name_problem
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.reading import MAX_EXPANSION, Intervals, Reading
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_SUBJECT, _RELATION, _OBJECT, _TIME, _END = range(5)
_MISSING = ("NULL", "null", "NaN", "nan", "None", "\\N", "<NA>", "NaT", "#N/A")
"""Names that programs write for missing values."""
_MANY = 100
"""Facts from which on their statistics say something about the columns."""
_MANY_ROWS = 200_000
"""Rows from which on names are found by their hashes."""
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"


def read_facts(
    source: str | Path | Any,
    *,
    name: str | None = None,
    format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | Literal["auto"] = "auto",
    columns: ColumnNames | None = None,
    relation: str | None = None,
    layout: str | None = None,
    skip_incomplete: bool = False,
    intervals: Intervals | None = None,
    max_expansion: int = MAX_EXPANSION,
    granularity: str = "auto",
    concepts: str | Path | None = None,
) -> Facts:
    """Reads the facts of a file or of a DataFrame, one fact per row.

    Names are kept unchanged. Ids are assigned in order of first appearance, the subject of a row before its object; if
    all entities (or all relations) are integers, ids follow numerical order and padding spaces are removed. Facts that
    are equal after their times were converted to ticks are merged.

    Args:
        source: A TSV, CSV, JSONL or Parquet file, compressed (.gz, .zst, .bz2, .xz) or not, or ``-`` for standard
            input; a folder with train, valid and test files of a public benchmark; or a DataFrame of pandas, polars,
            pyarrow, DuckDB or another library with the Arrow PyCapsule interface.
        name: Name of the facts; by default the file name without its suffix.
        format: ``tsv``, ``csv``, ``parquet`` or ``jsonl``; by default it follows from the suffix. Quotation marks have
            no meaning in TSV unless all fields are quoted, CSV follows RFC 4180, a line of JSONL is an object or array.
        separator: ``comma``, ``tab``, ``semicolon``, ``pipe`` or ``space``; by default detected.
        encoding: Encoding of a text file; by default UTF-8, or UTF-16 if a byte-order mark says so.
        header: Whether the first row is a header. ``auto`` detects it: a row with known names, or with a word where
            the second row has a time or a number.
        columns: Columns of subject, relation, object and time, and of the end of an interval, as names or as positions
            *from 1*; or a mapping from these roles to columns. By default they are found by the names in the header
            (or keys) and, for the time, by content; a header that does not settle the mapping is rejected. Without a
            header they are the first four columns, unless their contents contradict.
        relation: The relation of all facts, for a source without a column for it.
        layout: Name of a public source whose columns are known: one of ``fitcarl.data.io.layouts.LAYOUTS``.
        skip_incomplete: Leave out rows without subject, relation, object or time and count them, instead of an error.
        intervals: What becomes of facts with a start and an end: ``events`` makes two facts, with "(begins)" and
            "(ends)" added to the relation (the default); ``expand`` makes one fact per tick; ``start`` uses the start.
        max_expansion: Maximum number of facts of an expanded interval; of longer ones evenly spaced ticks are kept.
        granularity: ``auto``, a unit from ``second`` to ``year``, or for integer times the units per tick (``"24"``);
            see ``read_timestamps``.
        concepts: A file for ``read_concepts``; it must contain at least one entity of the facts.

    Returns:
        The facts with their vocabulary and calendar; ``reading`` says which columns were used.

    Raises:
        InputError: The source cannot be read or a value is invalid; the message names file, row and field.
    """
    check_granularity(granularity)
    options = ReadOptions(
        *(format, separator, encoding, header, columns, relation, layout, skip_incomplete, intervals, max_expansion)
    )
    table = read_source(source, options)
    if not len(table.values[_TIME]):
        raise InputError("no facts", file=table.file, expected="at least one complete row")
    if intervals is not None and table.end is None:
        raise InputError("no intervals", file=table.file, field="intervals", expected="a column for the end")
    mode = None if table.end is None else intervals or "events"
    open_ended = 0 if table.end is None else int(np.count_nonzero(~has_end(table)))
    parts = (
        _expanded(table, granularity, max_expansion) if mode == "expand" else _single_times(table, granularity, mode)
    )
    entities, (subject, object) = _assign_ids(parts.source, (_SUBJECT, _OBJECT))
    relations, (relation_ids,) = _assign_ids(parts.source, (_RELATION,))
    ids = (subject[parts.row], relation_ids[parts.row], object[parts.row])
    quadruples = Quadruples(*ids, parts.tick).distinct()
    distinct = len(Quadruples(*ids, parts.exact).distinct()) if parts.truncated else len(quadruples)
    vocabulary = Vocabulary(entities, relations)
    pairs = _concept_rows(Path(concepts)) if concepts else []
    index = vocabulary.entity_index
    used = [(index[entity], concept) for entity, concept in pairs if entity in index]
    if concepts and not used:
        found = f"0 of {len(pairs)} rows with an entity of the facts"
        raise InputError("no concepts for these facts", file=concepts, found=found, expected="names as in the facts")
    facts = Facts(
        name=name or name_of_source(source),
        quadruples=quadruples,
        vocabulary=vocabulary,
        calendar=parts.calendar,
        concepts=Concepts.from_pairs(len(entities), used),
        rows=len(parts.tick),
        duplicates=len(parts.tick) - distinct,
        self_loops=int(np.count_nonzero(quadruples.subject == quadruples.object)),
        times_truncated=parts.truncated,
        merged_by_truncation=distinct - len(quadruples),
        concept_rows=len(pairs),
        concept_rows_used=len(used),
        reading=Reading(
            table.mapping.to_json(),
            table.mapping.text,
            incomplete=table.incomplete,
            coarse_times=parts.coarse,
            epoch=parts.epoch,
            intervals=mode,
            open_intervals=open_ended,
            max_expansion=max_expansion,
            thinned_intervals=parts.thinned,
        ),
    )
    return replace(facts, warnings=tuple(reading_warnings(facts)))


def read_concepts(path: str | Path, entity_index: Mapping[str, int]) -> Concepts:
    """Reads concepts from a table of (entity, concept) rows, or from JSON: {entity: [concept, ...]}.

    The suffix of the file selects the format: ``.json``, ``.csv``, otherwise tab-separated. Unknown entities are
    ignored, which includes a header row.
    """
    pairs = _concept_rows(Path(path))
    return Concepts.from_pairs(len(entity_index), ((entity_index[e], n) for e, n in pairs if e in entity_index))


def _concept_rows(path: Path) -> list[tuple[str, str]]:
    """(entity, concept) pairs of a table or a JSON object."""
    if path.suffix.lower() == ".json":
        return [(entity, name) for entity, names in _concepts_of_json(path).items() for name in names]
    comma = path.suffix.lower() == ".csv"
    table = read_table(path, "," if comma else "\t", quoted=comma, width=2)
    entities, names = (column.to_list() for column in table.columns((0, 1)))
    for row, (entity, name) in enumerate(zip(entities, names, strict=True)):
        for field, value in (("entity", entity), ("concept", name)):
            if problem := name_problem(value):
                raise table.error(problem, row, field, value, "a name on one line")
    return list(zip(entities, names, strict=True))


def _concepts_of_json(path: Path) -> dict[str, list[str]]:
    try:
        mapping: Any = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        row = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError(f"not JSON: {error}", file=path, row=row, expected="{entity: [concept, ...]}") from None
    if not isinstance(mapping, dict):
        raise InputError("not a JSON object", file=path, expected="{entity: [concept, ...]}")
    for entity, names in mapping.items():
        if not isinstance(names, list) or not all(isinstance(name, str) and not name_problem(name) for name in names):
            found = json.dumps(names)
            raise InputError("not a list of names", file=path, field=entity, found=found, expected="[concept, ...]")
    return mapping


def _assign_ids(source: FactColumns, columns: tuple[int, ...]) -> tuple[tuple[str, ...], list[Ids]]:
    """Distinct names of some columns by id, and each column as ids."""
    names, ids = _distinct([source.values[column] for column in columns])
    check_fact_names(source, columns, names)
    integers = sorted_integers(names)
    if integers is None:
        return tuple(names.to_list()), ids
    place = places_in(integers, names.str.strip_chars(" "))
    return tuple(integers.to_list()), [place[own] for own in ids]


def _distinct(values: Sequence[pl.Series]) -> tuple[pl.Series, list[Ids]]:
    """The distinct texts of some columns in order of first appearance, and each column as ids."""
    if len(values[0]) >= _MANY_ROWS:
        from fitcarl.data.io.name_ids import ids_by_hash  # compiled loops are slow to load

        found = ids_by_hash(values)
        if found is not None:
            return found
    names = distinct_names(values)
    return names, [places_in(names, column) for column in values]


def distinct_names(values: Sequence[pl.Series]) -> pl.Series:
    """The distinct names of some columns in order of first appearance, row by row.

    Args:
        values: Columns of equal length.
    """
    import polars as pl

    parts = []
    for i, column in enumerate(values):
        first = column.arg_unique()
        parts.append(pl.DataFrame({"name": column.gather(first), "place": first.cast(pl.Int64) * len(values) + i}))
    return pl.concat(parts).sort("place").unique("name", keep="first", maintain_order=True)["name"]


def sorted_integers(names: pl.Series) -> pl.Series | None:
    """The distinct names without padding spaces in numerical order, if all are integers; otherwise None.

    Args:
        names: Distinct names.
    """
    import polars as pl

    stripped = names.str.strip_chars(" ")
    if not stripped.str.contains(_INTEGER).all():
        return None
    integers = stripped.unique()
    return integers.gather(integers.cast(pl.Int64).arg_sort())


def check_fact_names(source: FactColumns, columns: Sequence[int], names: pl.Series) -> None:
    """Raises an InputError for a name that is not valid or stands for a missing value, or an id that is written in two
    ways.

    Args:
        source: The rows that contain the names.
        columns: Their columns.
        names: The names to check.
    """
    values = [source.values[column] for column in columns]
    suspect = names.filter(names.str.contains(SUSPECT_NAME) | (names.str.len_bytes() > MAX_NAME_LENGTH))
    invalid = [text for text in suspect.to_list() if name_problem(text)]
    if invalid:
        text = invalid[0]
        row, column = min((_row_of(v, text), c) for v, c in zip(values, columns, strict=True) if (v == text).any())
        raise source.error(name_problem(text) or "not a name", column, row, text, "a name on one line")
    missing = names.filter(names.is_in(_MISSING))
    decimal = names.filter(names.str.contains(r"^[0-9]+\.0$"))
    twice = decimal.filter(decimal.str.replace(r"\.0$", "").is_in(names.to_list()))
    for found, problem, expected in (
        (missing, "a missing value", "a name, or --skip-incomplete"),
        (twice, "an id that is also written without .0", "each id written in one way"),
    ):
        if len(found):
            text = str(found[0])
            row, column = min((_row_of(v, text), c) for v, c in zip(values, columns, strict=True) if (v == text).any())
            raise source.error(problem, column, row, text, expected)


def places_in(names: pl.Series, values: pl.Series, ids: Ids | None = None) -> Ids:
    """int32 [values]: index of each value in the distinct names.

    Args:
        names: The names.
        values: Some of them, in any order.
        ids: Ids of the names, instead of their indices.
    """
    import polars as pl

    places = pl.Series(np.arange(len(names), dtype=np.int32) if ids is None else ids)
    return values.replace_strict(names, places, return_dtype=pl.Int32).to_numpy(writable=True)


def _row_of(values: pl.Series, found: str) -> int:
    return int((values == found).arg_max() or 0)


@dataclass(frozen=True, eq=False)
class _Times:
    """Facts with ticks: each is a row of the source at a tick."""

    source: FactColumns
    calendar: Calendar
    row: NDArray[np.int64] | slice
    """int64 [facts], row of ``source``; a slice if each fact is one row."""
    tick: Ids
    exact: Ids
    """int32 [facts], a key of the time before truncation."""
    truncated: int
    coarse: int
    epoch: str | None
    thinned: int = 0


def _single_times(table: FactColumns, granularity: str, mode: Intervals | None) -> _Times:
    """One fact per row; with intervals as events, one per start and one per end."""
    source = as_events(table) if mode == "events" else replace(table, end=None)
    starts = len(table.values[0])
    calendar, ticks, times, index = _ticks(source, source.values[_TIME], granularity, starts)
    if mode == "events":
        closed = np.flatnonzero(has_end(table))
        _check_order(table, closed, ticks[closed], ticks[starts:])
    return _Times(source, calendar, slice(None), ticks, *_counts(times, index))


def _expanded(table: FactColumns, granularity: str, at_most: int) -> _Times:
    """One fact per tick of every interval; an interval without an end is its start."""
    import polars as pl

    closed = has_end(table)
    time, end = table.values[_TIME], cast("pl.Series", table.end)
    ends = pl.select(pl.when(pl.Series(closed)).then(end).otherwise(time)).to_series()
    both = pl.concat([time, ends.alias(time.name)])
    rows = len(time)
    calendar, ticks, times, index = _ticks(table, both, granularity, rows)
    start, finish = ticks[:rows].astype(np.int64), ticks[rows:].astype(np.int64)
    _check_order(table, np.arange(rows), start, finish)
    row, tick = expanded_ticks(start, finish, at_most)
    _, truncated, coarse, epoch = _counts(times, index[:rows])
    granules = calendar.origin + np.unique(tick) * calendar.step
    full = Calendar.of_granules(calendar.granularity, granules, calendar.step)
    thinned = int(np.count_nonzero(finish - start + 1 > at_most))
    fact = replace(table, end=None)
    # The key of an expanded fact is its tick: only starts are counted as truncated.
    return _Times(fact, full, row, tick.astype(np.int32), tick.astype(np.int32), truncated, coarse, epoch, thinned)


def _check_order(table: FactColumns, rows: NDArray[np.int64], start: NDArray[Any], end: NDArray[Any]) -> None:
    wrong = np.flatnonzero(end < start)
    if len(wrong):
        row = int(rows[wrong[0]])
        found = f"{table.values[_TIME][row]} to {table.end[row]}"  # type: ignore[index]
        raise table.error("an interval that ends before it starts", _END, row, found, "an end at or after the start")


def _ticks(
    source: FactColumns, values: pl.Series, granularity: str, starts: int
) -> tuple[Calendar, Ids, Timestamps, NDArray[np.int32]]:
    """Calendar, tick of each value, the parsed distinct times, and the index of each value in them.

    The values after the first ``starts`` are ends of intervals.
    """
    texts, (index,) = _distinct([values])
    name = "" if source.mapping.names is None else source.mapping.column("time")
    try:
        times = read_timestamps(texts.to_list(), granularity, name)
    except InputError as error:
        row = int((values.str.strip_chars(" ") == str(error.found)).arg_max() or 0)
        problem = error.problem if str(error.found).strip() else "an empty time"
        may_be_header = row == 0 and not is_time(str(error.found))
        hint = " (for a header row use --header, for other columns --columns)" if may_be_header else ""
        rows, column = len(source.values[_TIME]), _TIME if row < starts else _END
        raise source.error(
            problem, column, row if row < rows else row - rows, error.found, f"{error.expected}{hint}"
        ) from None
    calendar = Calendar.of_granules(times.granularity, times.granules, times.step)
    ticks = ((times.granules - calendar.origin) // times.step).astype(np.int32)
    return calendar, ticks[index], times, index


def _counts(times: Timestamps, index: NDArray[np.int32]) -> tuple[Ids, int, int, str | None]:
    """Key of each time before truncation, numbers of truncated and of coarse times, and the unit of counts."""
    _, exact = np.unique(times.exact, return_inverse=True)
    truncated, coarse = (int(np.count_nonzero(marks[index])) for marks in (times.truncated, times.coarse))
    return exact.astype(np.int32)[index], truncated, coarse, times.epoch


def reading_warnings(facts: Facts) -> Iterator[str]:
    """What looks as if columns were mistaken for each other."""
    entities, relations = len(facts.vocabulary.entities), len(facts.vocabulary.relations)
    distinct = len(facts.quadruples)
    if relations > max(entities / 2, 20):
        yield f"{relations:,} relations for {entities:,} entities: is {facts.reading.mapping['relation']} the relation?"
    if distinct >= _MANY and entities > 1.8 * distinct:
        yield "nearly every entity occurs only once, so that nothing can be learned about it: are these entities?"
    if facts.calendar.granularity == "integer" and distinct >= _MANY and _unordered(facts):
        column = facts.reading.mapping["time"]
        yield f"the times are integers, nearly all different and in no order: is {column} the time?"


def _unordered(facts: Facts) -> bool:
    """Whether the times look like numbers of another kind: as many as facts, and not sorted in any way."""
    time = facts.quadruples.time
    rising = float(np.mean(np.diff(time) >= 0))
    return len(facts.calendar) > 0.9 * len(time) and 0.3 < rising < 0.7
