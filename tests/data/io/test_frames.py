"""Facts from DataFrames."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fitcarl.data.io.frames import is_frame, to_polars
from fitcarl.data.io.reader import read_facts
from fitcarl.errors import InputError
from tests.data.files import names

FRAME = pl.DataFrame(
    {
        "who": ["Ann", "Bob"],
        "action": ["visits", "praises"],
        "whom": ["Bob", "Cyd"],
        "when": [dt.datetime(2014, 1, 3, 9), dt.datetime(2014, 1, 1, 0)],
        "amount": [1.5, None],
    }
)
WANTED = [("Ann", "visits", "Bob", "2014-01-03T09"), ("Bob", "praises", "Cyd", "2014-01-01T00")]


class OnlyCapsule:
    """A table that offers the Arrow PyCapsule interface and nothing else."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def tables() -> dict[str, Any]:
    pandas = pd.DataFrame(FRAME.to_dict(as_series=False))
    return {
        "polars": FRAME,
        "lazy": FRAME.lazy(),
        "pandas": pandas,
        "pandas with zone": pandas.assign(when=pandas["when"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        "pandas with objects": pandas.assign(when=[moment.to_pydatetime() for moment in pandas["when"]]).astype(object),
        "pandas with categories": pandas.astype({"who": "category"}),
        "arrow": FRAME.to_arrow(),
        "capsule": OnlyCapsule(FRAME),
        "duckdb": duckdb.from_arrow(FRAME.to_arrow()),
    }


@pytest.mark.parametrize("kind", tables())
def test_frames_of_every_library_are_read(kind: str) -> None:
    frame = tables()[kind]
    assert is_frame(frame)
    facts = read_facts(frame)
    assert names(facts) == WANTED
    assert facts.mapping == {"subject": "who", "relation": "action", "object": "whom", "time": "when"}
    assert facts.reading.text.endswith("; ignored: amount")
    assert facts.name == "facts"


def test_options_apply_to_frames() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "t": [1.0, 3.0]})
    assert names(read_facts(frame, columns=("a", "b", "t"), relation="r")) == [
        ("x", "r", "y", "1"),
        ("y", "r", "z", "3"),
    ]
    with pytest.raises(InputError, match="DataFrame: cannot determine the column of the subject and the relation"):
        read_facts(frame)
    with pytest.raises(InputError, match="field separator: applies to a file only"):
        read_facts(FRAME, separator="comma")


def test_errors_name_row_and_column_of_a_frame() -> None:
    with pytest.raises(InputError, match=r"DataFrame, row 2, field object \(whom\): no value; found 'null'"):
        read_facts(FRAME.with_columns(whom=pl.Series(["Bob", None])))
    assert read_facts(FRAME.with_columns(whom=pl.Series(["Bob", None])), skip_incomplete=True).reading.incomplete == 1
    with pytest.raises(InputError, match="no facts"):
        read_facts(FRAME.clear())


def test_unpaired_surrogates_of_a_frame_are_refused() -> None:
    for values in (["Ann", "\ud800"], [1, "\ud800"]):
        with pytest.raises(InputError, match=r"row 2, field who: an unpaired surrogate; found '\\ud800'"):
            to_polars(pd.DataFrame({"who": pd.Series(values, dtype=object)}))
    with pytest.raises(InputError, match="a name of a column with an unpaired surrogate"):
        to_polars(pd.DataFrame([[1]], columns=pd.Index(["\ud800"], dtype=object)))


@pytest.mark.parametrize("value", [5, None, [("a", "r", "b", "2014-01-01")], {"a": 1}])
def test_other_objects_are_no_source(value: object) -> None:
    with pytest.raises(
        InputError, match=r"not a source of facts; found '(int|NoneType|list|dict)'; expected a path, or"
    ):
        read_facts(value)
    with pytest.raises(InputError, match="not a table"):
        to_polars(value)


def test_integer_ids_and_dates_of_arrow_are_read() -> None:
    table = pa.table(
        {"src": [1, 2], "dst": [2, 3], "type": ["x", "x"], "date": [dt.date(2014, 5, 1), dt.date(2014, 5, 2)]}
    )
    assert names(read_facts(table)) == [("1", "x", "2", "2014-05-01"), ("2", "x", "3", "2014-05-02")]
