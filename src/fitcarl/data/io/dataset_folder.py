"""A dataset as a folder of plain tables, the format of the published benchmarks.

Tab-separated UTF-8 without header, LF line ends; ids are row numbers counted from 0.

| file                      | columns                                   |
|---------------------------|-------------------------------------------|
| entities.tsv              | entity id, name                           |
| relations.tsv             | relation id, name                         |
| times.tsv                 | code, tick, label (ISO date or integer)   |
| background.tsv            | subject, relation, object, code           |
| meta_{train,valid,test}.tsv | unseen entity, subject, relation, object, code |
| concepts.tsv              | entity id, concept name; optional         |
| dropped_cross_facts.tsv   | like background.tsv; optional             |
| cuts.tsv                  | train, valid or test; label of the first time; only for chronological splits |
| reading.json              | columns of the source, and what became of intervals; optional |
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.files import remove, sync, sync_tree, temporary_sibling, write_atomically, writing
from fitcarl.data.calendar import Calendar, Granularity, granularity_of_label, parse_granule
from fitcarl.data.concepts import Concepts
from fitcarl.data.cuts import Cuts
from fitcarl.data.dataset import SPLITS, Dataset, MetaSet
from fitcarl.data.io.source import read_text
from fitcarl.data.io.table import Table, read_table
from fitcarl.data.io.validation import (
    BACKGROUND,
    CONCEPTS,
    CUTS,
    DROPPED,
    ENTITIES,
    META,
    READING,
    RELATIONS,
    TIMES,
    validate,
)
from fitcarl.data.name_rules import name_problem
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.reading import Reading
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_dataset", "validate", "write_dataset"]

_REQUIRED = (ENTITIES, RELATIONS, TIMES, BACKGROUND, *META.values())
_FACT = ("subject", "relation", "object")


def read_dataset(folder: str | Path) -> Dataset:
    """Reads and validates the dataset in a folder; an InputError names the file and row of a problem."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError("no such folder", file=folder, expected=f"a folder with {', '.join(_REQUIRED)}")
    missing = [name for name in _REQUIRED if not (folder / name).is_file()]
    if missing:
        raise InputError(f"no {missing[0]} in this folder", file=folder, expected=", ".join(_REQUIRED))

    vocabulary = Vocabulary(_read_names(folder / ENTITIES), _read_names(folder / RELATIONS))
    calendar = _read_calendar(folder / TIMES)
    sets = {split: _read_meta(folder / META[split], calendar) for split in SPLITS}
    entities = len(vocabulary.entities)
    dropped, concepts, cuts = folder / DROPPED, folder / CONCEPTS, folder / CUTS
    dataset = Dataset(
        name=folder.resolve().name,
        vocabulary=vocabulary,
        calendar=calendar,
        background=_read_facts(read_table(folder / BACKGROUND, width=4), calendar),
        train=sets["train"],
        valid=sets["valid"],
        test=sets["test"],
        dropped=_read_facts(read_table(dropped, width=4), calendar) if dropped.exists() else Quadruples.empty(),
        concepts=_read_concepts(concepts, entities) if concepts.exists() else Concepts.none(entities),
        cuts=_read_cuts(cuts, calendar) if cuts.exists() else None,
        reading=read_reading(folder / READING),
    )
    validate(dataset, folder)
    return dataset


def read_reading(file: Path) -> Reading:
    """How the facts of a dataset were read; an empty reading if there is no such file."""
    if not file.exists():
        return Reading()
    try:
        return Reading.from_json(json.loads(read_text(file)))
    except (ValueError, TypeError, AttributeError, RecursionError):
        expected = "the object that `fitcarl data split` writes, or no such file"
        raise InputError("not a description of how facts were read", file=file, expected=expected) from None


def write_reading(file: Path, reading: Reading) -> None:
    """Writes how facts were read, unless they were not read from columns."""
    if reading.mapping:
        write_atomically(file, (json.dumps(reading.to_json(), ensure_ascii=False) + "\n").encode())


def _read_names(file: Path) -> tuple[str, ...]:
    table = read_table(file, width=2)
    if not len(table):
        raise InputError("no names", file=file, expected="at least one row: id, name")
    ids, names = table.columns((0, 1))
    number = _integers(table, ids, "id", "the row number from 0")
    wrong = np.flatnonzero(number != np.arange(len(number)))
    if len(wrong):
        row = int(wrong[0])
        raise table.error("an id that differs from its row number", row, "id", int(number[row]), str(row))
    return tuple(names.to_list())


def _read_calendar(file: Path) -> Calendar:
    """The calendar of a table of times: the granularity follows from the labels, the step from the second row."""
    table = read_table(file, width=3)
    if not len(table):
        raise InputError("no times", file=file, expected="at least one row: code, tick, label")
    columns = table.columns((0, 1, 2))
    codes = _integers(table, columns[0], "code", "an integer")
    ticks = _integers(table, columns[1], "tick", "an integer")
    labels = columns[2].to_list()
    for field, values in (("code", codes), ("tick", ticks)):
        decreases = np.flatnonzero(values[1:] <= values[:-1])
        if len(decreases):
            row = int(decreases[0]) + 1
            raise table.error("times out of order", row, field, int(values[row]), f"more than {values[row - 1]}")
    if ticks[0] != 0:
        raise table.error("times that do not start at tick 0", 0, "tick", int(ticks[0]), "0")
    if ticks[-1] > np.iinfo(np.int32).max:
        raise table.error("a time out of range", len(table) - 1, "tick", int(ticks[-1]), "a 32-bit integer")

    granularity = granularity_of_label(labels[0])
    if granularity is None:
        raise table.error("not a time", 0, "label", labels[0], "an ISO date such as 2014-05-13, or an integer")
    if granularity == "integer" and labels[0] != str(codes[0]):
        granularity = "year"
    origin, second = (_granule(table, row, granularity, labels[row]) for row in (0, min(1, len(table) - 1)))
    step = max((second - origin) // int(ticks[1]), 1) if len(table) > 1 else 1
    calendar = Calendar(granularity, origin, step, codes, ticks.astype(np.int32))
    for row, label in enumerate(labels):
        try:
            expected = calendar.label(int(ticks[row]))
        except OverflowError:
            raise table.error("a time out of range", row, "tick", int(ticks[row]), "a year up to 9999") from None
        if label != expected:
            raise table.error("a label that does not match its tick", row, "label", label, expected)
    return calendar


def _granule(table: Table, row: int, granularity: Granularity, label: str) -> int:
    try:
        return parse_granule(granularity, label)
    except InputError as error:
        raise table.error(error.problem, row, "label", label, error.expected or "a time") from None


def _read_meta(file: Path, calendar: Calendar) -> MetaSet:
    table = read_table(file, width=5)
    entity = _ids(table, table.columns((0,))[0], "unseen entity")
    return MetaSet(entity, _read_facts(table, calendar, first=1))


def _read_facts(table: Table, calendar: Calendar, first: int = 0) -> Quadruples:
    """The facts in four columns of a table that start at column ``first``; times are converted to ticks."""
    columns = table.columns(range(first, first + 4))
    codes = _integers(table, columns[3], "time", "a code of times.tsv")
    ticks = calendar.ticks_of_codes(codes)
    unknown = np.flatnonzero(ticks < 0)
    if len(unknown):
        row = int(unknown[0])
        raise table.error("an unknown time", row, "time", int(codes[row]), "a code of times.tsv")
    subject, relation, object = (_ids(table, columns[i], field) for i, field in enumerate(_FACT))
    return Quadruples(subject, relation, object, ticks)


def _read_concepts(file: Path, entities: int) -> Concepts:
    table = read_table(file, width=2)
    ids, names = table.columns((0, 1))
    entity = _ids(table, ids, "entity")
    outside = np.flatnonzero((entity < 0) | (entity >= entities))
    if len(outside):
        row = int(outside[0])
        raise table.error("an id out of range", row, "entity", int(entity[row]), f"an id from 0 to {entities - 1}")
    for name in names.unique().to_list():
        if problem := name_problem(name):
            raise table.error(problem, int((names == name).arg_max() or 0), "concept", name, "a name on one line")
    return Concepts.from_pairs(entities, zip(entity.tolist(), names.to_list(), strict=True))


def _read_cuts(file: Path, calendar: Calendar) -> Cuts:
    table = read_table(file, width=2)
    names, labels = (column.to_list() for column in table.columns((0, 1)))
    if tuple(names) != SPLITS:
        expected = f"three rows: {', '.join(SPLITS)}"
        raise InputError("not the cuts of three groups", file=file, found=", ".join(names), expected=expected)
    ticks = []
    for row, label in enumerate(labels):
        try:
            ticks.append(calendar.tick(label))
        except InputError as error:
            raise table.error(error.problem, row, "time", label, error.expected or "a time") from None
    return Cuts(*ticks)


def _ids(table: Table, column: pl.Series, field: str) -> Ids:
    """A column of ids as int32; ``validate`` checks that they exist."""
    values = _integers(table, column, field, "an integer id")
    outside = np.flatnonzero(values != values.astype(np.int32))
    if len(outside):
        row = int(outside[0])
        raise table.error("an id out of range", row, field, int(values[row]), "a 32-bit integer")
    return values.astype(np.int32)


def _integers(table: Table, column: pl.Series, field: str, expected: str) -> NDArray[np.int64]:
    import polars as pl

    numbers = column.cast(pl.Int64, strict=False)
    if numbers.null_count():
        row = int(numbers.is_null().arg_max() or 0)
        raise table.error("not an integer", row, field, column[row], expected)
    return numbers.to_numpy(writable=True)


def write_dataset(dataset: Dataset, folder: str | Path, *, overwrite: bool = False) -> None:
    """Writes a dataset completely or not at all; ``read_dataset`` reads it back.

    The tables are written to a temporary folder next to ``folder``, which is then renamed. If ``folder`` exists and is
    empty, or is the current directory, the tables are moved into it instead.

    Args:
        dataset: The dataset to write.
        folder: The target folder.
        overwrite: Replace a folder that contains nothing but a dataset; otherwise a non-empty folder is an error.

    Raises:
        InputError: The dataset is invalid, or the folder cannot be written.
    """
    folder = Path(folder).resolve()  # keep a symbolic link and write to its target
    validate(dataset)
    _check_target(folder, overwrite)
    with _replacing(folder) as fresh:
        _write_tables(dataset, fresh)


def _write_tables(dataset: Dataset, folder: Path) -> None:
    calendar, concepts = dataset.calendar, dataset.concepts
    _write_text(folder / ENTITIES, (f"{i}\t{name}" for i, name in enumerate(dataset.vocabulary.entities)))
    _write_text(folder / RELATIONS, (f"{i}\t{name}" for i, name in enumerate(dataset.vocabulary.relations)))
    times = zip(calendar.codes.tolist(), calendar.ticks.tolist(), calendar.labels, strict=True)
    _write_text(folder / TIMES, (f"{code}\t{tick}\t{label}" for code, tick, label in times))
    _write_facts(folder / BACKGROUND, dataset.background, calendar)
    for split in SPLITS:
        meta = dataset.meta(split)
        _write_facts(folder / META[split], meta.facts, calendar, meta.entity_of_fact)
    if len(dataset.dropped):
        _write_facts(folder / DROPPED, dataset.dropped, calendar)
    if dataset.cuts is not None:
        labels = zip(SPLITS, dataset.cuts.labels(calendar), strict=True)
        _write_text(folder / CUTS, (f"{split}\t{label}" for split, label in labels))
    write_reading(folder / READING, dataset.reading)
    if len(concepts.ids):
        entities = np.repeat(np.arange(len(concepts.offsets) - 1), np.diff(concepts.offsets)).tolist()
        pairs = zip(entities, concepts.ids.tolist(), strict=True)
        _write_text(folder / CONCEPTS, (f"{entity}\t{concepts.names[i]}" for entity, i in pairs))


def _write_text(file: Path, lines: Iterator[str]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        out.writelines(f"{line}\n" for line in lines)


def _write_facts(file: Path, facts: Quadruples, calendar: Calendar, entity: Ids | None = None) -> None:
    import polars as pl

    columns: dict[str, NDArray[np.int32] | NDArray[np.int64]] = {} if entity is None else {"unseen entity": entity}
    columns |= {"subject": facts.subject, "relation": facts.relation, "object": facts.object}
    columns["time"] = calendar.codes_of_ticks(facts.time)
    with file.open("wb") as out:
        pl.DataFrame(columns).write_csv(out, include_header=False, separator="\t")


def _check_target(folder: Path, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError("a file", file=folder, expected="a folder, or a path that does not exist yet")
    present = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
    other_files = [name for name in present if name not in (*_REQUIRED, DROPPED, CONCEPTS, CUTS, READING)]
    if other_files:
        raise InputError("the folder contains other files", file=folder, found=other_files[0], expected="a new folder")
    if present and not overwrite:
        raise InputError(
            "the folder is not empty", file=folder, found=present[0], expected="a new folder, or --overwrite"
        )


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """A temporary folder that replaces ``folder`` on success and is removed on failure."""
    in_place = folder.is_dir() and (not any(folder.iterdir()) or Path.cwd().is_relative_to(folder))
    parent_folder = folder if in_place else folder.parent
    missing = [parent for parent in folder.parents if not parent.exists()]
    work = temporary_sibling(parent_folder / folder.name)
    with writing(folder):
        try:
            parent_folder.mkdir(parents=True, exist_ok=True)
            work.mkdir()
            (work / "new").mkdir()
            yield work / "new"
            sync_tree(work / "new")
            (_exchange_files if in_place else _exchange)(work / "new", folder, work / "old")
            sync(parent_folder)
        except BaseException:
            shutil.rmtree(work / "new", ignore_errors=True)
            for created in (work, *missing):
                with suppress(OSError):
                    created.rmdir()
            raise
    remove(work)


def _exchange(new: Path, folder: Path, old: Path) -> None:
    """Renames ``folder`` to ``old`` and ``new`` to ``folder``; undone on failure."""
    if folder.exists():
        os.rename(folder, old)
    try:
        os.rename(new, folder)
    except BaseException:
        if old.exists():
            os.rename(old, folder)
        raise


def _exchange_files(new: Path, folder: Path, old: Path) -> None:
    """Like ``_exchange``, but file by file: the folder itself stays, because it may be a current directory."""
    old.mkdir()
    moved: list[tuple[Path, Path]] = []
    try:
        for source, target in ((folder, old), (new, folder)):
            for file in sorted(entry for entry in source.iterdir() if entry.is_file()):
                os.rename(file, target / file.name)
                moved.append((file, target / file.name))
    except BaseException:
        for before, after in reversed(moved):
            os.rename(after, before)
        old.rmdir()
        raise
