"""Tables in files: written piece by piece, and complete or absent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from fitcarl.core.files import move_into_place, remove, replacing, temporary_sibling, write_json, writing
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

TABLE_SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl")
"""Suffixes of tables; the suffix decides the format."""
_RECORD = "fitcarl"
"""Key of the metadata of a Parquet file."""


class TableWriter(Protocol):
    """Writes a table piece by piece."""

    def write(self, frame: pl.DataFrame) -> None:
        """Appends rows; all pieces have the same columns."""
        ...


@contextmanager
def table_writer(file: Path, record: Mapping[str, Any] | None = None) -> Iterator[TableWriter]:
    """Writes a table in the format of its suffix. The file appears when the block ends; after an error, it does not.

    Args:
        file: The file; an existing one is replaced.
        record: What the table is computed from; ``read_record`` returns it.

    Raises:
        InputError: If the suffix is unknown, or the file cannot be written.
    """
    check_table_path(file)
    sibling = temporary_sibling(file)
    try:
        if file.suffix == ".parquet":
            with writing(file):
                sibling.mkdir()
            pieces = _Pieces(file, sibling, record)
            yield pieces
            result = sibling / "all"
            pieces.join(result)
        else:
            result = sibling
            with writing(file):
                out = sibling.open("wb")
            with out:
                yield _Lines(file, out)
                with writing(file):
                    out.flush()
        with writing(file):
            if record is not None and file.suffix != ".parquet":
                file.unlink(missing_ok=True)  # so that a record never stands beside an older table
                write_json(record_path(file), record)
            move_into_place(result, file)
    finally:
        remove(sibling)


def record_path(file: Path) -> Path:
    """The file with the record of a text table; a Parquet file holds its own, in its metadata.

    Args:
        file: The table.
    """
    return file.with_name(f"{file.name}.json")


def read_record(file: Path) -> dict[str, Any] | None:
    """What a table was computed from; None if it does not say so.

    Args:
        file: A table that ``table_writer`` wrote.
    """
    try:
        if file.suffix == ".parquet":
            import polars as pl

            found = json.loads(pl.read_parquet_metadata(file)[_RECORD])
        else:
            found = json.loads(record_path(file).read_text(encoding="utf-8"))
    except Exception:  # polars raises many types for a damaged file, which has no record either
        return None
    return found if isinstance(found, dict) else None


def join_tables(files: Sequence[Path], file: Path) -> None:
    """Joins tables of one format and with the same columns, in order; only a part of one is in memory.

    Args:
        files: The tables.
        file: The file to write; an existing one is replaced.
    """
    check_table_path(file)
    with replacing(file) as sibling:
        if file.suffix == ".parquet":
            import polars as pl

            pl.scan_parquet(list(files), glob=False).sink_parquet(sibling)
        else:
            with sibling.open("wb") as out:
                for number, part in enumerate(files):
                    with part.open("rb") as rows:
                        if number and file.suffix != ".jsonl":
                            rows.readline()  # the header
                        shutil.copyfileobj(rows, out)


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

    def __init__(self, file: Path, out: IO[bytes]) -> None:
        self._file, self._out, self._begun = file, out, False

    def write(self, frame: pl.DataFrame) -> None:
        with writing(self._file):
            if self._file.suffix == ".jsonl":
                frame.write_ndjson(self._out)
            else:
                separator = "," if self._file.suffix == ".csv" else "\t"
                frame.write_csv(self._out, include_header=not self._begun, separator=separator)
        self._begun = True


class _Pieces:
    """Parquet files in a folder, which are joined at the end; only one piece is in memory."""

    def __init__(self, file: Path, folder: Path, record: Mapping[str, Any] | None) -> None:
        self._file, self._folder, self._count = file, folder, 0
        self._metadata = None if record is None else {_RECORD: json.dumps(record)}

    def write(self, frame: pl.DataFrame) -> None:
        with writing(self._file):
            frame.write_parquet(self._folder / f"{self._count:08}.parquet", metadata=self._metadata)
        self._count += 1

    def join(self, file: Path) -> None:
        import polars as pl

        with writing(self._file):
            if self._count == 1:
                (self._folder / f"{0:08}.parquet").replace(file)
            else:
                pl.scan_parquet(self._folder / "*.parquet", glob=True).sink_parquet(file, metadata=self._metadata)
