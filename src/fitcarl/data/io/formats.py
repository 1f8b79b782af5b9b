"""The four file formats of facts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from fitcarl.data.io.columns import FactColumns
from fitcarl.data.io.delimited import read_delimited
from fitcarl.data.io.jsonl import read_jsonl
from fitcarl.data.io.layouts import find_layout
from fitcarl.data.io.parquet import read_parquet
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.requested_columns import check_columns
from fitcarl.data.io.source import COMPRESSED_ENDINGS, is_stdin, uncompressed_name
from fitcarl.errors import InputError

Format = Literal["tsv", "csv", "parquet", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
_FORMAT_OF: dict[str, Format] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
ENDINGS: tuple[str, ...] = (*_FORMAT_OF, *COMPRESSED_ENDINGS)
"""Supported file name suffixes."""


def format_of(path: Path, given: str | None = None) -> Format:
    """The given format, or the format of the file name's suffix; standard input is CSV, or TSV if it has tabs."""
    if path.is_dir():
        raise InputError("a folder", file=path, expected="a file of facts")
    suffix = ".csv" if is_stdin(path) else uncompressed_name(path).suffix.lower()
    for format in FORMATS:
        if format == (given or _FORMAT_OF.get(suffix)):
            return format
    known = f"one of {', '.join(FORMATS)}" if given else f"a format, or a suffix of {', '.join(_FORMAT_OF)}"
    raise InputError("unknown format", file=path, found=given or path.name, expected=known)


def read_columns(path: Path, options: ReadOptions) -> FactColumns:
    """Subject, relation, object and time of a file; see ``read_facts`` for the options."""
    if options.layout is not None:
        options = options.with_layout(find_layout(options.layout))
    check_columns(path, options.columns, options.relation)
    format = format_of(path, options.format)
    if format == "parquet":
        found = read_parquet(path, options)
    elif format == "jsonl":
        found = read_jsonl(path, options)
    else:
        return read_delimited(path, format, options)
    return found.complete() if options.skip_incomplete else found
