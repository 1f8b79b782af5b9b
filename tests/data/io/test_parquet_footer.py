"""Headers of Parquet pages that do not fit in their column."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fitcarl.data.io.parquet_footer import ColumnChunk, ParquetFooter, read_footer
from fitcarl.data.io.reader import read_facts
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


def levels(*runs: tuple[int, bool]) -> bytes:
    """Definition levels: runs of equal ones, or of groups of eight."""
    out = b""
    for count, groups in runs:
        coded, header = count << 1 | groups, b""
        while coded >= 128:
            header, coded = header + bytes([coded & 127 | 128]), coded >> 7
        out += header + bytes([coded]) + (b"\xff" * min(count, 99) if groups else b"\x01")
    return out


def optional_page(content: bytes, values: int) -> bytes:
    """A data page whose content begins with levels."""
    body = len(content).to_bytes(4, "little") + content
    head = (b"\x15" + number(field) for field in (0, len(body), len(body)))
    return b"".join([*head, b"\x2c", integers(values, 0, 3, 3), b"\0", body])


def check_optional(content: bytes, values: int) -> int:
    chunk = ColumnChunk(0, "a", 4, len(content), values, compressed=False, optional=True)
    return ParquetFooter(Path("f"), b"PAR1" + content, values, ("a",), (chunk,), (values,)).check_pages(["a"])


@pytest.mark.parametrize(
    ("runs", "values"),
    [
        ([(20, False)], 20),
        ([(3, True)], 20),
        ([(12, False), (1, True)], 20),
        ([(63, True)], 500),
        ([(63, True)], 1),
        ([(532, False)], 20),
    ],
)
def test_runs_of_levels_that_fill_their_page_are_read(runs: list[tuple[int, bool]], values: int) -> None:
    assert check_optional(optional_page(levels(*runs), values), values) > 0


@pytest.mark.parametrize(
    "content",
    [
        *(levels((2**61, False)), levels((2**60, True)), levels((12, False), (2**40, False)), levels((0, False))),
        *(levels((533, False)), levels((67, True))),
        b"\xff" * 12,
    ],
)
def test_runs_of_levels_beyond_their_page_are_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="a run of levels that does not fit in its page"):
        check_optional(optional_page(content, 20), 20)


@pytest.mark.parametrize("dictionary", [True, False])
def test_empty_row_groups_are_read(tmp_path: Path, dictionary: bool) -> None:
    table, file = pa.table({"text": ["a", "b", "c"]}), tmp_path / "table.parquet"
    with pq.ParquetWriter(file, table.schema, use_dictionary=dictionary) as writer:
        for part in (table, table.slice(0, 0), table):
            writer.write_table(part)
    assert read_footer(file, file.read_bytes()).check_pages(["text"]) > 0


def test_a_table_without_rows_has_no_facts(tmp_path: Path) -> None:
    names = ("subject", "relation", "object", "time")
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in names}), tmp_path / "table.parquet")
    with pytest.raises(InputError, match=r"table.parquet: no facts"):
        read_facts(tmp_path / "table.parquet")


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "zstd"])
@pytest.mark.parametrize("missing", [0, 1, 3, 50])
def test_tables_with_missing_values_pass(tmp_path: Path, compression: Literal["uncompressed"], missing: int) -> None:
    values = [None if missing and number % missing == 0 else f"x{number // 5}" for number in range(20_000)]
    flags = [None if value is None else number % 2 == 0 for number, value in enumerate(values)]
    frame = pl.DataFrame({"text": values, "flag": flags, "number": range(20_000)})
    file = tmp_path / "table.parquet"
    frame.write_parquet(file, compression=compression, data_page_size=4096)
    content = file.read_bytes()
    assert read_footer(file, content).check_pages(frame.columns) > 0
    by_arrow = frame.to_arrow()
    for version in ("1.0", "2.0"):
        pq.write_table(
            by_arrow, file, compression=compression.replace("uncompressed", "none"), data_page_version=version
        )
        assert read_footer(file, file.read_bytes()).check_pages(frame.columns) > 0


def test_a_column_without_missing_values_has_no_levels_whatever_nested_ones_are_called(tmp_path: Path) -> None:
    number = pa.field("number", pa.int64(), nullable=False)
    schema = pa.schema([number, pa.field("inner", pa.struct([pa.field("number", pa.int64())]))])
    rows = [{"number": 0, "inner": {"number": None}}] * 20  # zeros, which are no runs of levels
    file = tmp_path / "table.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema), file, compression="none", use_dictionary=False)
    assert read_footer(file, file.read_bytes()).check_pages(["number"]) > 0
