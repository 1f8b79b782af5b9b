"""Facts of Parquet files and of tables in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fitcarl.data.io.column_detection import map_columns
from fitcarl.data.io.columns import ColumnMapping, FactColumns, fact_columns, number_text
from fitcarl.data.io.limits import check_column_count, check_decoded_size, sample_rows
from fitcarl.data.io.parquet_footer import damaged, read_footer
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.roles import ROLES, Role
from fitcarl.data.io.source import read_bytes
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Days from 1970 to the years 1 and 9999, the range of ISO dates."""
_UNITS_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def read_parquet(path: Path, options: ReadOptions) -> FactColumns:
    import polars as pl

    content = read_bytes(path)
    footer = read_footer(path, content)
    with damage_as_input_error(path):
        names = list(pl.read_parquet_schema(io.BytesIO(content)))
        rows = sample_rows(len(names))
        check_decoded_size(path, 0, footer.check_pages(footer.columns, rows))
        sample = pl.read_parquet(io.BytesIO(content), n_rows=rows)
        mapping = map_frame(path, sample, options)
        kept = [names[position] for position in mapping.positions.values()]
        check_decoded_size(path, footer.rows, footer.check_pages(kept))
        frame = pl.read_parquet(io.BytesIO(content), columns=kept)
    return columns_of_frame(path, frame, mapping, options)


@contextmanager
def damage_as_input_error(path: Path) -> Iterator[None]:
    """Turns errors of polars about a Parquet file into an InputError.

    ``read_footer`` and ``check_pages`` come first: most kinds of damage that polars prints messages about on stderr,
    or that end the process, are found there.

    Args:
        path: The file.
    """
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise damaged(path, error) from None


def map_frame(path: Path, frame: pl.DataFrame, options: ReadOptions) -> ColumnMapping:
    """The mapping of the columns of a table in memory."""
    if not len(frame):
        raise InputError("no facts", file=path, expected="at least one row")
    check_column_count(path, len(frame.columns))
    rows = sample_rows(len(frame.columns))
    sample = [_sample_text(frame[name].head(rows).drop_nulls()) for name in frame.columns]
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
