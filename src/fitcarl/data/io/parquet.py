"""Facts of Parquet files and of tables in memory."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fitcarl.data.io.column_detection import map_columns
from fitcarl.data.io.columns import SAMPLE_ROWS, ColumnMapping, FactColumns, fact_columns, number_text
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.roles import ROLES, Role
from fitcarl.data.io.source import read_bytes
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Days from 1970 to the years 1 and 9999, the range of ISO dates."""
_UNITS_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Discards what compiled code writes to stderr; replacing ``sys.stderr`` does not affect it."""
    sys.stderr.flush()
    stderr_copy, devnull = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, 2)
        yield
    finally:
        os.dup2(stderr_copy, 2)
        os.close(stderr_copy)
        os.close(devnull)


def read_parquet(path: Path, options: ReadOptions) -> FactColumns:
    import polars as pl

    content = read_bytes(path)
    if content[:4] != b"PAR1":
        raise InputError("not a Parquet file", file=path, found=content[:4], expected="a file that starts with PAR1")
    if content[-4:] != b"PAR1" or len(content) < 12:
        raise InputError("a truncated Parquet file", file=path, found=content[-4:], expected="PAR1 at its end")
    with damage_as_input_error(path):
        names = list(pl.read_parquet_schema(io.BytesIO(content)))
        sample = pl.read_parquet(io.BytesIO(content), n_rows=SAMPLE_ROWS)
        mapping = map_frame(path, sample, options)
        kept = [names[position] for position in mapping.positions.values()]
        frame = pl.read_parquet(io.BytesIO(content), columns=kept)
    return columns_of_frame(path, frame, mapping, options)


@contextmanager
def damage_as_input_error(path: Path) -> Iterator[None]:
    """Turns errors of polars about a Parquet file into an InputError.

    Args:
        path: The file.
    """
    import polars as pl

    try:
        with _silent_stderr():  # polars prints long messages about some kinds of damage
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"a damaged Parquet file ({reason})", file=path, expected="a readable file") from None


def map_frame(path: Path, frame: pl.DataFrame, options: ReadOptions) -> ColumnMapping:
    """The mapping of the columns of a table in memory."""
    if not len(frame):
        raise InputError("no facts", file=path, expected="at least one row")
    sample = [_sample_text(frame[name].head(SAMPLE_ROWS).drop_nulls()) for name in frame.columns]
    return map_columns(path, frame.columns, sample, options.columns, options.relation, options.judge)


def _sample_text(series: pl.Series) -> list[str]:
    import polars as pl

    if series.dtype in (pl.Date, pl.Datetime):
        series = series.filter(~_out_of_range(series))
        return series.dt.strftime("%Y-%m-%d" if series.dtype == pl.Date else "%Y-%m-%dT%H:%M:%S").to_list()
    try:
        return [text for text in series.cast(pl.String).to_list() if text is not None]
    except pl.exceptions.PolarsError:  # nested types and binary data are no columns of facts
        return []


def _out_of_range(series: pl.Series) -> pl.Series:
    """Which dates or datetimes are outside the years 1 to 9999."""
    kind = series.dtype
    unit = getattr(kind, "time_unit", None)
    days = series.to_physical() // (_UNITS_PER_DAY[unit] if unit else 1)
    return (days < _FIRST_DAY) | (days > _LAST_DAY)


def columns_of_frame(
    path: Path, frame: pl.DataFrame, mapping: ColumnMapping, options: ReadOptions, first_row: int = 1
) -> FactColumns:
    """Subject, relation, object and time of a table in memory that has at least these columns.

    Args:
        path: The file, for error messages.
        frame: The table.
        mapping: Its columns.
        options: As in ``read_facts``.
        first_row: Row of the file, from 1, where the table starts.
    """
    names = mapping.names or ()
    raw = FactColumns(path, (), mapping, lambda row: row + first_row)
    values: dict[Role, pl.Series] = {
        role: _text_of(raw, role, frame[names[position]], options.skip_incomplete or role == "end")
        for role, position in mapping.positions.items()
    }
    return fact_columns(path, values, mapping, raw.line)


def _text_of(raw: FactColumns, role: Role, series: pl.Series, optional: bool) -> pl.Series:
    """A column as text: names and integers unchanged, dates and datetimes (in UTC) as ISO 8601, nulls as blanks."""
    import polars as pl

    column, is_time = ROLES.index(role), role in ("time", "end")
    if series.null_count() and not optional:
        row = int(series.is_null().arg_max() or 0)
        raise raw.error("no value", column, row, "null", "no nulls")
    kind = series.dtype
    if kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum):
        return series.cast(pl.String).fill_null("")
    if is_time and kind.is_float():
        return pl.Series(series.name, [_float_text(value) for value in series.to_list()], dtype=pl.String)
    if kind == pl.Null and optional:
        return series.cast(pl.String).fill_null("")
    if not is_time or kind not in (pl.Date, pl.Datetime):
        types = "text or integers" + (", dates or datetimes" if is_time else "")
        raise raw.error("a column of the wrong type", column, 0, str(kind), types)
    outside = _out_of_range(series)
    if outside.any():
        row = int(outside.arg_max() or 0)
        found = f"{series.to_physical()[row]} {getattr(kind, 'time_unit', 'days')} since 1970"
        raise raw.error("a time out of range", column, row, found, "a year from 1 to 9999")
    if isinstance(kind, pl.Datetime):
        in_utc = series if kind.time_zone is None else series.dt.convert_time_zone("UTC")
        return in_utc.dt.strftime("%Y-%m-%dT%H:%M:%S%.f").fill_null("")
    return series.cast(pl.String).fill_null("")


def _float_text(value: float | None) -> str:
    return "" if value is None or value != value else number_text(value)
