"""The four columns of any source of facts: a file, a folder of a public benchmark, or a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fitcarl.data.io.benchmark_folder import is_benchmark_folder, read_benchmark_folder
from fitcarl.data.io.columns import FactColumns
from fitcarl.data.io.formats import read_columns
from fitcarl.data.io.frames import is_frame, to_polars
from fitcarl.data.io.layouts import find_layout
from fitcarl.data.io.parquet import columns_of_frame, map_frame
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.requested_columns import check_columns
from fitcarl.data.io.source import is_stdin, uncompressed_name
from fitcarl.errors import InputError

_FRAME = Path("DataFrame")


def read_source(source: Any, options: ReadOptions) -> FactColumns:
    """Subject, relation, object and time of a file, a folder or a DataFrame.

    Args:
        source: As in ``read_facts``.
        options: As in ``read_facts``.
    """
    if is_frame(source):
        return _read_frame(source, options)
    if not isinstance(source, str | Path):
        expected = "a path, or a DataFrame of pandas, polars, pyarrow or DuckDB"
        raise InputError("not a source of facts", found=type(source).__name__, expected=expected)
    path = Path(source)
    if is_benchmark_folder(path):
        return read_benchmark_folder(path, options)
    return read_columns(path, options)


def name_of_source(source: Any) -> str:
    """The default name of facts: that of the file without its suffixes."""
    if is_frame(source):
        return "facts"
    path = Path(source)
    return "facts" if is_stdin(path) else uncompressed_name(path).stem


def _read_frame(source: Any, options: ReadOptions) -> FactColumns:
    if options.layout is not None:
        options = options.with_layout(find_layout(options.layout))
    for option in ("format", "separator", "encoding"):
        if getattr(options, option) is not None and options.layout is None:
            raise InputError("applies to a file only", field=option, expected="no such option for a DataFrame")
    check_columns(_FRAME, options.columns, options.relation)
    frame = to_polars(source)
    mapping = map_frame(_FRAME, frame, options)
    found = columns_of_frame(_FRAME, frame, mapping, options)
    return found.complete() if options.skip_incomplete else found
