"""Reads facts and concepts from files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.facts import Facts
from fitcarl.data.io.columns import FactColumns
from fitcarl.data.io.formats import format_of, read_columns
from fitcarl.data.io.table import name_problem, read_table, read_text
from fitcarl.data.io.timestamps import check_granularity, is_time, read_timestamps
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_SUBJECT, _RELATION, _OBJECT, _TIME = range(4)
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"


def read_facts(
    path: str | Path,
    *,
    name: str | None = None,
    format: str | None = None,
    header: bool | Literal["auto"] = "auto",
    columns: Sequence[str | int] | None = None,
    granularity: str = "auto",
    concepts: str | Path | None = None,
) -> Facts:
    """Reads the facts of a TSV, CSV, Parquet or JSONL file, one fact per row.

    Names are kept unchanged. Ids are assigned in order of first appearance, the subject of a row before its object; if
    all entities (or all relations) are integers, ids follow numerical order and padding spaces are removed. Facts that
    are equal after their times were converted to ticks are merged.

    Args:
        path: The file.
        name: Name of the facts; by default the file name without its suffix.
        format: ``tsv``, ``csv``, ``parquet`` or ``jsonl``; by default it follows from the suffix. Quotation marks have
            no meaning in TSV, CSV follows RFC 4180, a line of JSONL is an object or an array.
        header: Whether the first row is a header. ``auto`` detects it: a row that names the four columns, or whose time
            is a word while three columns have known names or the time of the second row is valid.
        columns: Columns of subject, relation, object and time as names or as positions *from 1*. By default they are
            found by name in the header (or keys); if no column has a known name, the first four are used.
        granularity: ``auto``, ``hour``, ``day``, ``month``, ``year``, or for integer times the units per tick
            (``"24"``); see ``read_timestamps``.
        concepts: A file for ``read_concepts``; it must contain at least one entity of the facts.

    Returns:
        The facts with their vocabulary and calendar.

    Raises:
        InputError: The file cannot be read or a value is invalid; the message names file, row and field.
    """
    path = Path(path)
    check_granularity(granularity)
    source = read_columns(path, format_of(path, format), header, columns)
    entities, (subject, object) = _assign_ids(source, (_SUBJECT, _OBJECT))
    relations, (relation,) = _assign_ids(source, (_RELATION,))
    calendar, ticks, exact, times_truncated = _times(source, granularity)
    quadruples = Quadruples(subject, relation, object, ticks).distinct()
    distinct = len(Quadruples(subject, relation, object, exact).distinct()) if times_truncated else len(quadruples)
    vocabulary = Vocabulary(entities, relations)
    pairs = _concept_rows(Path(concepts)) if concepts else []
    index = vocabulary.entity_index
    used = [(index[entity], concept) for entity, concept in pairs if entity in index]
    if concepts and not used:
        found = f"0 of {len(pairs)} rows with an entity of the facts"
        raise InputError("no concepts for these facts", file=concepts, found=found, expected="names as in the facts")
    return Facts(
        name=name or path.stem,
        quadruples=quadruples,
        vocabulary=vocabulary,
        calendar=calendar,
        concepts=Concepts.from_pairs(len(entities), used),
        rows=len(ticks),
        duplicates=len(ticks) - distinct,
        self_loops=int(np.count_nonzero(quadruples.subject == quadruples.object)),
        times_truncated=times_truncated,
        merged_by_truncation=distinct - len(quadruples),
        concept_rows=len(pairs),
        concept_rows_used=len(used),
    )


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
    import polars as pl

    values = [source.values[column] for column in columns]
    rows = len(values[0])
    places = [np.arange(i, len(columns) * rows, len(columns)) for i in range(len(columns))]
    both = pl.DataFrame({"name": pl.concat([v.alias("name") for v in values]), "place": np.concatenate(places)})
    names = both.group_by("name").agg(pl.col("place").min()).sort("place")["name"]

    invalid = names.filter((names.str.strip_chars() == "") | names.str.contains(r"[\t\n\r\x00]"))
    if len(invalid):
        found = str(invalid[0])
        row, column = min((_row_of(v, found), c) for v, c in zip(values, columns, strict=True) if (v == found).any())
        raise source.error(name_problem(found) or "not a name", column, row, found, "a name on one line")

    stripped = names.str.strip_chars(" ")
    if stripped.str.contains(_INTEGER).all():
        values = [v.str.strip_chars(" ") for v in values]
        names = stripped.unique()
        names = names.gather(names.cast(pl.Int64).arg_sort())
    return tuple(names.to_list()), [_places_in(names, v) for v in values]


def _places_in(names: pl.Series, values: pl.Series) -> Ids:
    """int32 [values]: index of each value in the distinct names."""
    import polars as pl

    places = pl.Series(np.arange(len(names), dtype=np.int32))
    return values.replace_strict(names, places, return_dtype=pl.Int32).to_numpy(writable=True)


def _row_of(values: pl.Series, found: str) -> int:
    return int((values == found).arg_max() or 0)


def _times(source: FactColumns, granularity: str) -> tuple[Calendar, Ids, Ids, int]:
    """Calendar, tick of each row, key of each row's time before truncation, and number of truncated rows."""
    values = source.values[_TIME]
    texts = values.unique(maintain_order=True)
    try:
        times = read_timestamps(texts.to_list(), granularity)
    except InputError as error:
        row = int((values.str.strip_chars(" ") == str(error.found)).arg_max() or 0)
        problem = error.problem if str(error.found).strip() else "an empty time"
        may_be_header = row == 0 and not is_time(str(error.found))
        hint = " (for a header row use --header, for other columns --columns)" if may_be_header else ""
        raise source.error(problem, _TIME, row, error.found, f"{error.expected}{hint}") from None
    calendar = Calendar.of_granules(times.granularity, times.granules, times.step)
    ticks = ((times.granules - calendar.origin) // times.step).astype(np.int32)
    index = _places_in(texts, values)
    _, exact = np.unique(times.exact, return_inverse=True)
    return calendar, ticks[index], exact.astype(np.int32)[index], int(np.count_nonzero(times.truncated[index]))
