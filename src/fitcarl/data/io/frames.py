"""Tables in memory: DataFrames of any library that speaks Arrow or the dataframe interchange protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fitcarl.data.name_rules import is_unicode
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Frame = Any
"""A DataFrame of pandas, polars, pyarrow or DuckDB, or anything else with the Arrow PyCapsule interface."""
_EXPECTED = "a DataFrame (pandas, polars, pyarrow, DuckDB, or anything with the Arrow PyCapsule interface), or a file"


def is_frame(value: object) -> bool:
    """Whether a value is a table in memory."""
    protocols = ("__arrow_c_stream__", "__dataframe__", "collect_schema", "to_arrow_table", "fetch_arrow_table")
    return any(hasattr(value, protocol) for protocol in protocols) or _is_pandas(value)


def to_polars(frame: Any) -> pl.DataFrame:
    """A table of any library as a polars DataFrame.

    Args:
        frame: The table; a lazy frame of polars is collected.

    Raises:
        InputError: If it is not a table.
    """
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if _is_pandas(frame):
        return _from_pandas(frame)
    for method in ("to_arrow_table", "fetch_arrow_table"):
        if hasattr(frame, method):
            frame = getattr(frame, method)()
            break
    try:
        if hasattr(frame, "__arrow_c_stream__"):
            return pl.DataFrame(frame)
        if hasattr(frame, "__dataframe__"):
            return pl.from_dataframe(frame)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"cannot be read as a table ({reason})", expected=_EXPECTED) from None
    raise InputError("not a table", found=type(frame).__name__, expected=_EXPECTED)


def _is_pandas(frame: object) -> bool:
    return type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "columns")


def _from_pandas(frame: Any) -> pl.DataFrame:
    """Column by column, so that pyarrow is not needed; the index is not a column."""
    import polars as pl

    columns: dict[str, pl.Series] = {}
    for position, name in enumerate(frame.columns):
        if not is_unicode(str(name)):
            problem = "a name of a column with an unpaired surrogate"
            raise InputError(problem, found=str(name), expected="Unicode text")
        column = frame.iloc[:, position]
        columns[str(name)] = _series(str(name), column)
    if len(columns) < len(frame.columns):
        raise InputError("two columns have the same name", found=", ".join(map(str, frame.columns)))
    return pl.DataFrame(columns)


def _series(name: str, column: Any) -> pl.Series:
    import polars as pl

    kind = str(column.dtype)
    if kind.startswith("datetime64"):
        moments = column.dt.tz_convert("UTC").dt.tz_localize(None) if "," in kind else column
        return pl.Series(name, moments.to_numpy().astype("datetime64[us]"))
    if kind.startswith("period"):
        column = column.astype(str)
    values = [
        None if missing else value for value, missing in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, UnicodeEncodeError, pl.exceptions.PolarsError):
        texts = [None if value is None else str(value) for value in values]
    for row, text in enumerate(texts, start=1):
        if text is not None and not is_unicode(text):
            raise InputError("an unpaired surrogate", row=row, field=name, found=text, expected="Unicode text")
    return pl.Series(name, texts, dtype=pl.String)
