"""Tables in files: written piece by piece, and complete or absent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

TABLE_SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl")
"""Suffixes of tables; the suffix decides the format."""


class TableWriter(Protocol):
    """Writes a table piece by piece."""

    def write(self, frame: pl.DataFrame) -> None:
        """Appends rows; all pieces have the same columns."""
        ...


@contextmanager
def table_writer(file: Path) -> Iterator[TableWriter]:
    """Writes a table in the format of its suffix. The file appears when the block ends; after an error, it does not.

    Args:
        file: The file; an existing one is replaced.

    Raises:
        InputError: If the suffix is unknown.
    """
    check_table_path(file)
    sibling = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if file.suffix == ".parquet":
            sibling.mkdir()
            pieces = _Pieces(sibling)
            yield pieces
            result = sibling / "all"
            pieces.join(result)
        else:
            result = sibling
            with sibling.open("wb") as out:
                yield _Lines(out, file.suffix)
        with result.open("rb+") as written:
            os.fsync(written.fileno())
        result.replace(file)
    finally:
        if sibling.is_dir():
            shutil.rmtree(sibling)
        else:
            sibling.unlink(missing_ok=True)


def check_table_path(file: Path, field: str | None = None) -> None:
    """Raises an InputError unless a table can be written there.

    Args:
        file: The file.
        field: The option that names it.
    """
    if file.suffix not in TABLE_SUFFIXES:
        expected = f"a file name that ends in {', '.join(TABLE_SUFFIXES)}"
        raise InputError("unknown format", field=field, found=file.name, expected=expected)
    if not file.parent.is_dir():
        raise InputError("no such folder", field=field, found=str(file.parent), expected="an existing folder")
    if file.is_dir():
        raise InputError("a folder", field=field, found=str(file), expected="a file")


class _Lines:
    """Rows of text, appended to a file."""

    def __init__(self, out: IO[bytes], suffix: str) -> None:
        self._out, self._suffix, self._begun = out, suffix, False

    def write(self, frame: pl.DataFrame) -> None:
        if self._suffix == ".jsonl":
            frame.write_ndjson(self._out)
        else:
            separator = "," if self._suffix == ".csv" else "\t"
            frame.write_csv(self._out, include_header=not self._begun, separator=separator)
        self._begun = True


class _Pieces:
    """Parquet files in a folder, which are joined at the end; only one piece is in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0

    def write(self, frame: pl.DataFrame) -> None:
        frame.write_parquet(self._folder / f"{self._count:08}.parquet")
        self._count += 1

    def join(self, file: Path) -> None:
        import polars as pl

        if self._count == 1:
            (self._folder / f"{0:08}.parquet").replace(file)
        else:
            pl.scan_parquet(self._folder / "*.parquet", glob=True).sink_parquet(file)
