"""Reader for the raw layout of the public ICEWS benchmarks: three files of integer ids and files that name the ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar, granularity_of_label, parse_granule
from fitcarl.data.facts import Facts
from fitcarl.data.io.reader import read_concepts
from fitcarl.data.io.source import read_text
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError

FACT_FILES = ("train.txt", "valid.txt", "test.txt")
RAW_FILES = (*FACT_FILES, "entity2id.txt", "relation2id.txt", "time2id.txt", "ent2sec.json")
_COLUMNS = ("subject", "relation", "object", "time")


def read_icews(raw: Path | Mapping[str, Path], name: str | None = None) -> Facts:
    """Reads the facts of a folder in the raw layout, or of raw files given as file name → path.

    Train, valid and test are concatenated: the out-of-graph split does not use them. Columns may be padded with spaces
    and there may be more than four of them, as in ICEWS18.
    """
    if isinstance(raw, Path):
        files: Mapping[str, Path] = {file: raw / file for file in RAW_FILES}
        name = raw.resolve().name if name is None else name
    else:
        files = raw
    entities = _names(files["entity2id.txt"])
    relations = _names(files["relation2id.txt"])
    calendar = _icews_calendar(files["time2id.txt"])
    limits = (len(entities), len(relations), len(entities))
    rows = np.concatenate([_fact_rows(files[file], limits, calendar) for file in FACT_FILES])
    vocabulary = Vocabulary(entities, relations)
    quadruples = Quadruples.from_rows(rows).distinct()
    return Facts(
        name="raw" if name is None else name,
        quadruples=quadruples,
        vocabulary=vocabulary,
        calendar=calendar,
        concepts=read_concepts(files["ent2sec.json"], vocabulary.entity_index),
        rows=len(rows),
        duplicates=len(rows) - len(quadruples),
        self_loops=int(np.count_nonzero(quadruples.subject == quadruples.object)),
    )


def _text_rows(path: Path) -> list[str]:
    """Rows of a text file. Not splitlines(): names may contain characters that it treats as line ends."""
    text = read_text(path).decode()
    if not text:
        raise InputError("empty file", file=path)
    return text.split("\n")


def _coded(path: Path) -> list[tuple[str, int]]:
    """(text, integer) of each row; the two are separated by a tab."""
    pairs = []
    for row, line in enumerate(_text_rows(path), start=1):
        text, tab, number = line.rpartition("\t")
        try:
            pairs.append((text, int(number)))
        except ValueError:
            tab = ""
        if not tab or not text:
            raise InputError("not a name and its id", file=path, row=row, found=line, expected="name, tab, integer")
    return pairs


def _names(path: Path) -> tuple[str, ...]:
    """Names by id, from rows of name and id in any order."""
    pairs = _coded(path)
    names: list[str | None] = [None] * len(pairs)
    seen: set[str] = set()
    for row, (name, number) in enumerate(pairs, start=1):
        if not 0 <= number < len(names) or names[number] is not None:
            expected = f"each id from 0 to {len(names) - 1} once"
            raise InputError("bad id", file=path, row=row, field="id", found=number, expected=expected)
        if name in seen:
            raise InputError("a name that already has an id", file=path, row=row, field="name", found=name)
        seen.add(name)
        names[number] = name
    return tuple(name for name in names if name is not None)


def _icews_calendar(path: Path) -> Calendar:
    """The calendar of (date, code) rows; a code counts hours since the first day in ICEWS, and facts use codes."""
    pairs = _coded(path)
    granularity = granularity_of_label(pairs[0][0])
    if granularity is None:
        raise InputError("not a date", file=path, row=1, field="date", found=pairs[0][0], expected="like 2014-05-13")
    granules = []
    for row, (label, _) in enumerate(pairs, start=1):
        try:
            granules.append(parse_granule(granularity, label))
        except InputError as error:
            raise InputError(
                error.problem, file=path, row=row, field="date", found=error.found, expected=error.expected
            ) from None
    granule = np.array(granules, dtype=np.int64)
    code = np.array([code for _, code in pairs], dtype=np.int64)
    order = np.argsort(code, kind="stable")
    granule, code = granule[order], code[order]
    wrong = np.flatnonzero((np.diff(granule) <= 0) | (np.diff(code) <= 0))
    if len(wrong):
        row = int(order[wrong[0] + 1]) + 1
        raise InputError("dates and codes are not in the same order", file=path, row=row, found=pairs[row - 1][0])
    origin = int(granule[0])
    return Calendar(granularity, origin, 1, code, (granule - origin).astype(np.int32))


def _fact_rows(path: Path, limits: tuple[int, int, int], calendar: Calendar) -> NDArray[np.int32]:
    """int32 [facts, 4]: subject, relation, object and tick of each row."""
    lines = _text_rows(path)
    try:
        rows = np.loadtxt(lines, dtype=np.int64, delimiter="\t", usecols=range(4), comments=None, ndmin=2)
    except ValueError:
        raise _bad_row(path, lines) from None
    if len(rows) != len(lines):  # loadtxt skips empty lines, so row numbers would be wrong
        raise InputError("empty line", file=path, row=next(i for i, line in enumerate(lines, 1) if not line.strip()))
    for column, (field, limit) in enumerate(zip(_COLUMNS, limits, strict=False)):
        wrong = np.flatnonzero((rows[:, column] < 0) | (rows[:, column] >= limit))
        if len(wrong):
            found, expected = int(rows[wrong[0], column]), f"an id from 0 to {limit - 1}"
            raise InputError(
                "unknown id", file=path, row=int(wrong[0]) + 1, field=field, found=found, expected=expected
            )
    ticks = calendar.ticks_of_codes(rows[:, 3])
    wrong = np.flatnonzero(ticks < 0)
    if len(wrong):
        found = int(rows[wrong[0], 3])
        expected = "a code of time2id.txt"
        raise InputError("unknown time", file=path, row=int(wrong[0]) + 1, field="time", found=found, expected=expected)
    rows[:, 3] = ticks
    return rows.astype(np.int32)


def _bad_row(path: Path, lines: list[str]) -> InputError:
    """The error of the first row that is not four integers."""
    for row, line in enumerate(lines, start=1):
        cells = line.split("\t")
        if len(cells) < 4:
            expected = "subject, relation, object and time, separated by tabs"
            return InputError("too few columns", file=path, row=row, found=len(cells), expected=expected)
        for field, cell in zip(_COLUMNS, cells, strict=False):
            digits = cell.strip().removeprefix("-")
            if not (digits.isascii() and digits.isdecimal() and len(digits) < 19):
                return InputError("not an id", file=path, row=row, field=field, found=cell, expected="an integer")
    return InputError("not a table of integers", file=path, expected="subject, relation, object and time in each row")
