"""Headers of Parquet pages that do not fit in their column."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.data.io.parquet_footer import ColumnChunk, ParquetFooter
from fitcarl.errors import InputError


def number(value: int) -> bytes:
    """A zigzag varint."""
    coded, out = (value << 1) ^ (value >> 63), b""
    while True:
        if coded < 128:
            return out + bytes([coded])
        out, coded = out + bytes([coded & 127 | 128]), coded >> 7


def integers(*values: int) -> bytes:
    """A structure of 32-bit integers, numbered from 1."""
    return b"".join(b"\x15" + number(value) for value in values) + b"\0"


def page(values: int = 3, decoded: int = 5, stored: int = 5, encoding: int = 0) -> bytes:
    """A data page of version 1: its type, sizes and header, and its content."""
    return b"".join(
        [
            *(b"\x15" + number(field) for field in (0, decoded, stored)),
            *(b"\x2c", integers(values, encoding, 3, 3), b"\0", bytes(5)),
        ]
    )


def check(content: bytes, values: int = 3) -> int:
    chunk = ColumnChunk(0, "a", 4, len(content), values, compressed=False)
    return ParquetFooter(Path("f"), b"PAR1" + content, values, ("a",), (chunk,), (values,)).check_pages(["a"])


def test_pages_that_fit_are_added_up() -> None:
    assert check(page()) == 5
    assert check(page() + page(), values=6) == 10


@pytest.mark.parametrize(
    "content",
    [
        *(page(values=4), page(values=-576), page(values=2**31 - 1)),
        *(page(stored=6, decoded=6), page(stored=-1, decoded=-1), page(decoded=2**31 - 1), page(encoding=77)),
        *(page(values=2), page()[:7], b"", b"\xff" * 30, b"\x1c" * 200 + bytes(300)),
    ],
)
def test_damaged_pages_are_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="f: a damaged Parquet file"):
        check(content)
