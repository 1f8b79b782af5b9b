"""Folders of public benchmarks: train, valid and test files of names or ids, and files that name the ids.

Such as YAGO and WIKI as used for extrapolation (subject, relation, object and an integer time), YAGO11k and Wikidata12k
(subject, relation, object, start and end), or tables of names. The three files are read as one: the out-of-graph split
makes its own groups.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fitcarl.data.io.columns import FactColumns
from fitcarl.data.io.formats import read_columns
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.source import read_text
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_PARTS = "train", "valid", "test"
_ENDINGS = ".txt", ".tsv", ".csv", "", ".del", ".quintuples"
_NAMES = {"entities": ("entity2id.txt", "entities.dict"), "relations": ("relation2id.txt", "relations.dict")}


def is_benchmark_folder(path: Path) -> bool:
    """Whether a path is a folder with a file of training facts."""
    return path.is_dir() and _part(path, "train") is not None


def read_benchmark_folder(folder: Path, options: ReadOptions) -> FactColumns:
    """Subject, relation, object and time of all files of facts in a folder, by name where the folder names the ids.

    Args:
        folder: The folder.
        options: As in ``read_facts``; rows without a time are left out and counted.
    """
    import polars as pl

    options = replace(options, skip_incomplete=True, format=options.format or "tsv")
    files = [file for part in _PARTS if (file := _part(folder, part)) is not None]
    first = read_columns(files[0], options)
    same: dict[str, str | int] = {role: position + 1 for role, position in first.mapping.positions.items()}
    header = first.mapping.names is not None
    tables = [first, *(read_columns(file, replace(options, columns=same, header=header)) for file in files[1:])]
    for table in tables[1:]:
        if table.mapping.names != first.mapping.names:
            expected = f"the columns of {first.file.name}: {first.mapping.text}"
            raise InputError("other columns", file=table.file, found=table.mapping.text, expected=expected)
    values = [pl.concat([table.values[column] for table in tables]) for column in range(4)]
    end = None if first.end is None else pl.concat([table.end for table in tables if table.end is not None])
    for columns, kind in (((0, 2), "entities"), ((1,), "relations")):
        names = _names(folder, kind)
        for column in columns:
            values[column] = _named(values[column], names)
    sizes = np.cumsum([0] + [len(table.values[0]) for table in tables])

    def line(row: int) -> int:
        part = int(np.searchsorted(sizes, row, side="right")) - 1
        table, inner = tables[part], row - int(sizes[part])
        return table.line(inner if table.rows is None else int(table.rows[inner]))

    incomplete = sum(table.incomplete for table in tables)
    return FactColumns(folder, tuple(values), first.mapping, line, end, None, incomplete)


def _part(folder: Path, name: str) -> Path | None:
    return next((file for ending in _ENDINGS if (file := folder / f"{name}{ending}").is_file()), None)


def _names(folder: Path, kind: str) -> dict[str, str]:
    """Id → name by the file of the folder, if there is one; columns may be in either order."""
    file = next((path for name in _NAMES[kind] if (path := folder / name).is_file()), None)
    if file is None:
        return {}
    rows = [line.rstrip().rsplit("\t", 1) for line in read_text(file).decode().split("\n") if "\t" in line]
    swapped = file.suffix == ".dict"
    pairs = [(row[0], row[1]) if swapped else (row[1], row[0]) for row in rows if len(row) == 2]
    return {number.strip(): name for number, name in pairs}


def _named(values: pl.Series, names: dict[str, str]) -> pl.Series:
    """Names instead of ids, if every value is an id that has a name."""
    if not names:
        return values
    stripped = values.str.strip_chars()
    if not stripped.is_in(list(names)).all():
        return values
    return stripped.replace_strict(list(names), list(names.values()), return_dtype=values.dtype)
