"""The facts of a large file, some rows at a time: only one chunk is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path

from fitcarl.data.io.columns import ColumnMapping, FactColumns
from fitcarl.data.io.delimited import TextLayout, layout_of_head
from fitcarl.data.io.formats import format_of
from fitcarl.data.io.layouts import find_layout
from fitcarl.data.io.limits import sample_rows
from fitcarl.data.io.parquet import columns_of_frame, damage_as_input_error, map_frame
from fitcarl.data.io.parquet_footer import read_footer
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.requested_columns import check_columns
from fitcarl.data.io.separators import WHITESPACE
from fitcarl.data.io.source import BOM, is_stdin, is_utf8, uncompressed_name
from fitcarl.errors import InputError

_HEAD_BYTES = 4_000_000
"""Bytes of a text file that decide about separator, header and columns."""


@dataclass(frozen=True)
class FactChunks:
    """A Parquet file of facts that is read in chunks."""

    file: Path
    """The file that errors name."""
    parquet: Path
    """The file that is read; another one if ``file`` is text."""
    names: tuple[str, ...]
    """All columns by position, under the names that they have in ``parquet``."""
    mapping: ColumnMapping
    options: ReadOptions
    rows: int
    first_row: int
    """Row of ``file``, from 1, of the first fact."""

    def read(self, chunk_rows: int) -> Iterator[FactColumns]:
        """The facts in order, ``chunk_rows`` rows at a time; with ``skip_incomplete``, fewer.

        Args:
            chunk_rows: Rows of a chunk.
        """
        import polars as pl

        kept = list(dict.fromkeys(self.names[position] for position in self.mapping.positions.values()))
        stored = replace(self.mapping, names=self.names)
        for low in range(0, self.rows, chunk_rows):
            with damage_as_input_error(self.file):
                frame = pl.scan_parquet(self.parquet, glob=False).select(kept).slice(low, chunk_rows).collect()
            found = columns_of_frame(self.file, frame, stored, self.options, self.first_row + low)
            found = replace(found, end=None, mapping=self.mapping)
            yield found.complete() if self.options.skip_incomplete else found


def open_chunks(path: Path, options: ReadOptions, scratch: Path) -> FactChunks:
    """Prepares a file of facts for reading in chunks.

    A text file is first converted to Parquet, as a stream. Columns are found as ``read_facts`` finds them; those of a
    text file from its first 4 MB.

    Args:
        path: A Parquet, CSV or TSV file, not compressed as a whole.
        options: As in ``read_facts``.
        scratch: A folder for the converted file.

    Raises:
        InputError: If the file cannot be read, or needs an option that works in memory only.
    """
    if options.layout is not None:
        options = options.with_layout(find_layout(options.layout))
    check_columns(path, options.columns, options.relation)
    format = format_of(path, options.format)
    if is_stdin(path) or uncompressed_name(path) != path or format == "jsonl":
        found = "standard input" if is_stdin(path) else path.name
        raise InputError("cannot be read in chunks", file=path, found=found, expected="a Parquet, CSV or TSV file")
    if not path.is_file():
        raise InputError("no such file", file=path, expected="a file of facts")
    chunks = _of_parquet(path, options) if format == "parquet" else _of_text(path, format, options, scratch)
    if "end" in chunks.mapping.positions and options.intervals != "start":
        expected = "--intervals start, or a command that reads facts into memory"
        raise InputError("intervals cannot be read in chunks", file=path, field="end", expected=expected)
    return chunks


def _of_parquet(path: Path, options: ReadOptions) -> FactChunks:
    import polars as pl

    if not path.stat().st_size:
        raise InputError("an empty file", file=path, expected="a Parquet file")
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        footer = read_footer(path, content)
        rows = sample_rows(len(footer.columns))
        footer.check_pages(footer.columns, rows)
        with damage_as_input_error(path):
            mapping = map_frame(path, pl.scan_parquet(path, glob=False).head(rows).collect(), options)
        names = mapping.names or ()
        footer.check_pages([names[position] for position in mapping.positions.values()])
    return FactChunks(path, path, names, mapping, options, footer.rows, 1)


def _of_text(path: Path, format: str, options: ReadOptions, scratch: Path) -> FactChunks:
    """Converts the columns of facts to Parquet, all as text."""
    import polars as pl

    layout = _layout(path, format, options)
    names = tuple(f"column_{position + 1}" for position in range(layout.mapping.width))
    text = pl.scan_csv(
        path,
        glob=False,
        has_header=False,
        skip_lines=layout.skipped + layout.header,
        separator=layout.separator,
        quote_char='"' if layout.quoted else None,
        schema=dict.fromkeys(names, pl.String),
    )
    chosen = [pl.col(names[place]).fill_null("") for place in dict.fromkeys(layout.mapping.positions.values())]
    converted = scratch / "facts.parquet"
    try:
        text.select(chosen).sink_parquet(converted)
        rows = int(pl.scan_parquet(converted).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split())[:160]
        expected = f"{len(names)} fields in every row, as in the first rows, in UTF-8"
        raise InputError(f"cannot be read as text ({reason})", file=path, expected=expected) from None
    first = 1 + layout.skipped + layout.header
    options = replace(options, skip_incomplete=layout.skip_incomplete)
    return FactChunks(path, converted, names, layout.mapping, options, rows, first)


def _layout(path: Path, format: str, options: ReadOptions) -> TextLayout:
    """How the rows of a text file are read; only layouts that polars reads as a stream."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        complete = len(head) < _HEAD_BYTES
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or (options.encoding is not None and not is_utf8(options.encoding)):
        raise InputError("another encoding than UTF-8 cannot be read in chunks", file=path, expected="a UTF-8 file")
    head = head.removeprefix(BOM).replace(b"\r\n", b"\n")
    if not complete and b"\n" not in head:
        found = f"more than {_HEAD_BYTES:,} bytes"
        raise InputError("a line that is too long", file=path, row=1, found=found, expected="one fact per line")
    head = head.rstrip(b"\r\n") if complete else head[: head.rfind(b"\n")]
    try:
        head.decode()
    except UnicodeDecodeError as error:
        found = f"byte 0x{head[error.start]:02x}"
        raise InputError("not UTF-8 text", file=path, row=1 + head.count(b"\n", 0, error.start), found=found) from None
    if not head:
        raise InputError("an empty file", file=path, expected="facts: subject, relation, object, time")
    layout = layout_of_head(path, format, options, head)
    if layout.separator == WHITESPACE or layout.padded:
        problem = "spaces after commas" if layout.padded else "fields between spaces"
        expected = "commas, tabs, semicolons or pipes without padding, or a Parquet file"
        raise InputError(f"{problem} cannot be read in chunks", file=path, expected=expected)
    skipped = layout.skipped + layout.header
    if skipped and head.split(b"\n", skipped)[-1].startswith(BOM):  # polars would drop it from the name
        problem, expected = "a byte-order mark after the first row cannot be read in chunks", "the row without it"
        raise InputError(problem, file=path, row=skipped + 1, expected=expected)
    return layout
