"""Limits of files of facts: what exceeds them is refused before it is decoded."""

from __future__ import annotations

from pathlib import Path

from fitcarl.core.memory import available_bytes
from fitcarl.data.io.columns import SAMPLE_ROWS
from fitcarl.errors import InputError

MAX_COLUMNS = 10_000
MAX_LINE_BYTES = 16_000_000
_SAMPLE_VALUES = 400_000
"""Values of all columns together that decide about the columns."""
_FEWEST_SAMPLE_ROWS = 20
_BYTES_PER_ROW = 150
"""Memory for a row of facts while a file is read, with names that are all equal; it is rarely less."""


def check_column_count(path: Path, count: int) -> None:
    """Raises an InputError if a file has too many columns.

    Args:
        path: The file.
        count: Number of its columns.
    """
    if count > MAX_COLUMNS:
        found = f"more than {MAX_COLUMNS:,}"
        raise InputError("too many columns", file=path, found=found, expected=f"at most {MAX_COLUMNS:,} columns")


def check_line_lengths(path: Path, text: bytes) -> None:
    """Raises an InputError if a text has a line that is too long.

    Args:
        path: The file.
        text: Its content, with LF or CR line ends.
    """
    start, mark = 0, b"\n"
    while len(text) - start > MAX_LINE_BYTES:
        found = text.rfind(mark, start, start + MAX_LINE_BYTES + 1)
        if found < 0 and mark == b"\n" and b"\n" not in text:
            mark = b"\r"
            continue
        if found < 0:
            raise InputError(
                "a line that is too long",
                file=path,
                row=1 + text.count(mark, 0, start),
                found=f"more than {MAX_LINE_BYTES:,} bytes",
                expected="one fact per line",
            )
        start = found + 1


def sample_rows(columns: int) -> int:
    """Rows whose values decide about the columns: fewer if there are many columns.

    Args:
        columns: Number of columns.
    """
    return min(SAMPLE_ROWS, max(_FEWEST_SAMPLE_ROWS, _SAMPLE_VALUES // max(columns, 1)))


def check_decoded_size(path: Path, rows: int, size: int) -> None:
    """Raises an InputError if the columns of a file do not fit in memory.

    Args:
        path: The file.
        rows: Number of its rows.
        size: Bytes of its columns after decompression.
    """
    available = available_bytes()
    if available is None:
        return
    needed = max(rows * _BYTES_PER_ROW, size)
    if needed > available:
        raise InputError(
            "does not fit in memory",
            file=path,
            found=f"{rows:,} rows, at least {needed / 1e9:,.1f} GB",
            expected=f"at most {available / 1e9:,.1f} GB",
            hint="'fitcarl data index' reads a file in chunks",
        )
