"""Invalid files of every format are reported in one line with file, row and field."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitcarl.data.io.reader import read_facts
from fitcarl.errors import InputError
from tests.data.files import GOOD, ROWS, WRITERS, parquet, read


@pytest.mark.parametrize("format", ["tsv", "csv", "jsonl"])
@given(places=st.lists(st.tuples(st.integers(0, 300), st.binary(min_size=1, max_size=2)), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
def test_damaged_file_is_read_or_rejected_in_one_line(
    tmp_path: Path, format: str, places: list[tuple[int, bytes]]
) -> None:
    content = bytearray(WRITERS[format](ROWS))
    for place, damage in places:
        place %= len(content)
        content[place : place + 1] = damage
    complaint = None
    try:
        facts = read(tmp_path, f"f.{format}", bytes(content))
        assert facts.rows == facts.duplicates + facts.merged_by_truncation + len(facts.quadruples)
    except InputError as error:
        complaint = error
    if complaint is not None:
        assert "\n" not in str(complaint)
        assert complaint.file == str(tmp_path / f"f.{format}")


@pytest.mark.parametrize(
    ("name", "content", "row", "field", "complaint"),
    [
        ("f.tsv", GOOD + "a\tr\tb\t2014-02-30\n", 2, "time", "no such date; found '2014-02-30'; expected an ISO date"),
        ("f.tsv", GOOD + GOOD + "a\tr\tb\tsoon\n", 3, "time", "not a time; found 'soon'; expected a date such as"),
        ("f.tsv", GOOD + "a\tr\tb\t17\n", 2, "time", "times of different types; found '17'; expected a date"),
        ("f.tsv", "a\tr\tb\t17\n" + GOOD, 2, "time", "found '2014-01-01'; expected an integer"),
        ("f.tsv", GOOD + "a\tr\tb\t2014-01\n", 2, "time", "times of different types; found '2014-01'"),
        ("f.tsv", GOOD + "a\tr\t\t2014-01-01\n", 2, "object", "an empty name; found ''"),
        ("f.tsv", GOOD + "\u00a0\tr\ta\t2014-01-01\n", 2, "subject", "an empty name; found '\\xa0'"),
        ("f.tsv", GOOD + "a\t \tb\t2014-01-01\n", 2, "relation", "an empty name; found ' '"),
        ("f.tsv", GOOD + "a\tr\tb\t\n", 2, "time", "an empty time; found ''"),
        ("f.tsv", GOOD + "a\tr\tb\n" + GOOD, 2, None, "too few fields; found 3; expected 4 fields separated by tabs"),
        ("f.tsv", GOOD + "\n" + GOOD, 2, None, "a blank line; expected no blank line before the last row"),
        ("f.tsv", "\n" + GOOD + GOOD, 1, None, "a blank line; expected no blank line before the last row"),
        ("f.tsv", GOOD + "a\tr\tb\t2014-01-01\t\n", 2, None, "too many fields; found 5; expected 4"),
        ("f.tsv", "a\tr\t2014-01-01\n", 1, None, "too few columns; found 3; expected at least 4, separated by tabs"),
        ("f.csv", "subject,relation,object\na,r,b\n", 1, None, "too few columns, none for the time; found 3; expected"),
        (
            "f.csv",
            "a b 2014-01-01\n",
            1,
            None,
            "too few columns; found 3; expected at least 4, separated by spaces; if all",
        ),
        ("f.tsv", GOOD.encode() + b"a\tr\t\xe9\t1\n", 2, "3", "not UTF-8 text; found 'byte 0xe9'"),
        ("f.tsv", GOOD.encode("utf-16-le"), 1, "1", "not UTF-8 text; found 'byte 0x00'"),
        ("f.tsv", GOOD.encode() + b"a\tr\0\tb\t1\n", 2, "2", "found 'byte 0x00'; expected UTF-8 without NUL bytes"),
        ("f.tsv", "", None, None, "an empty file; expected facts: subject, relation, object, time"),
        ("f.tsv", "\r\n\r\n", None, None, "an empty file"),
        ("f.tsv", "subject\trelation\tobject\ttime\n", 1, None, "a header without facts"),
        ("f.tsv", "a\tr\tb\t0\na\tr\tb\t1" + 30 * "0", 2, "time", "a time out of range"),
        (
            "f.tsv",
            "a\tr\tb\t0\na\tr\tb\t1\na\tr\tb\t2147483647\n",
            3,
            "time",
            "a time out of range; found '2147483647'",
        ),
        ("f.tsv", "a\tr\tb\t0001-01-01T00:00+01:00\n", 1, "time", "no such date"),
        ("f.csv", "# comment\n\ufeff", 1, None, "too few columns; found 1"),
        ("f.tsv", GOOD + "\ufeff\tr\tb\t2014-01-01\n", 2, "subject", "a name without a visible character"),
        ("f.csv", 'a,r,b,1\na,r,b"c,2\n', 2, None, "a quotation mark inside an unquoted field"),
        ("f.csv", 'a,r,b,1\na,r,"b,2\na,r,"c",3\n', 2, None, "an unterminated quoted field"),
        ("f.csv", 'a,r,b,1\n"a\nb",r,b,2\n', 2, "subject", "a name with a tab or a line break"),
        ("f.csv", 'n,s,r,o,t\n"x\n\ny",a,r,b,1\n"\n",a,r,b,\n', 5, "time (t)", "an empty time"),
        ("f.jsonl", "", None, None, "an empty file"),
        ("f.jsonl", '["a","r","b",1]\n["a","r","b",1', 2, None, 'not JSON; found \'["a","r","b",1\''),
        ("f.jsonl", '["a","r","b",1]\n\n["a","r","b",1]', 2, None, "not JSON; found ''"),
        ("f.jsonl", '["a","r","b",1]\n["a","r","b"]', 2, "time", "no value"),
        ("f.jsonl", '{"s":"a","r":"r","o":"b","t":1}\n{"s":"a","r":"r","t":1}', 2, "object (o)", "no value"),
        ("f.jsonl", '["a","r","b",1]\n{"s":"a"}', 2, None, "expected a JSON array, as in row 1"),
        ("f.jsonl", '["a","r","b",1]\n"abcd"', 2, None, "not a record"),
        ("f.jsonl", '["a","r","b",1]\n["a","r",null,1]', 2, "object", "found 'null'; expected text or an integer"),
        ("f.jsonl", '["a","r","b",1]\n["a",true,"b",1]', 2, "relation", "found 'true'"),
        ("f.jsonl", '["a","r","b",1]\n["a","r","b",1.5]', 2, "time", "not a time; found '1.5'; expected an integer"),
        ("f.jsonl", '["a","r","b",1]\n["a","r",1.5,1]', 2, "object", "found '1.5'; expected text or an integer"),
        ("f.jsonl", '["a","r","b",1]\n["\\ud800","r","b",1]', 2, "subject", "an unpaired surrogate"),
        ("f.jsonl", '{"s":"a","r":"r","o":"b","t":1,"\\ud800":1}', 1, None, "found '\\ud800'; expected Unicode text"),
        ("f.jsonl", '{"\\ud800":"a","r":"r","o":"b","t":1}', 1, None, "a name of a column with an unpaired surrogate"),
        ("f.jsonl", "[" * 100_000, 1, None, "not JSON"),
        ("f.parquet", b"", None, None, "not a Parquet file"),
        ("f.parquet", GOOD, None, None, "not a Parquet file"),
        ("f.xyz", GOOD, None, None, "unknown format; found 'f.xyz'; expected a format, or a suffix of .tsv"),
    ],
)
def test_invalid_input_is_reported_with_file_row_and_field(
    tmp_path: Path, name: str, content: str | bytes, row: int | None, field: str | None, complaint: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, name, content)
    error = caught.value
    assert (error.file, error.row, error.field) == (str(tmp_path / name), row, field)
    assert complaint in str(error)
    assert "\n" not in str(error)


def test_unreadable_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; expected an existing file"):
        read_facts(tmp_path / "none.tsv")
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(InputError, match="a folder; expected a file"):
        read_facts(tmp_path / "folder.tsv")


def test_truncated_parquet_is_rejected(tmp_path: Path) -> None:
    content = parquet(ROWS)
    for length in range(4, len(content), 7):
        with pytest.raises(InputError, match="truncated"):
            read(tmp_path, "f.parquet", content[:length])
    with pytest.raises(InputError, match=r"damaged Parquet file .*; expected a readable file"):
        read(tmp_path, "f.parquet", content[:200] + content[-8:])


@pytest.mark.parametrize(
    ("column", "values", "row", "field", "complaint"),
    [
        ("o", ["x", None], 2, "object (o)", "no value; found 'null'; expected no nulls"),
        ("o", [1.5, 2.5], 1, "object (o)", "a column of the wrong type; found 'Float64'; expected text or integers"),
        ("o", [dt.date(2014, 1, 1)] * 2, None, None, "cannot determine the column of the object"),
        ("t", [True, False], 1, "time (t)", "found 'Boolean'; expected text or integers, dates or datetimes"),
        ("o", ["", "x"], 1, "object (o)", "an empty name"),
        ("t", ["2014-01-01", "2014-02-30"], 2, "time (t)", "no such date"),
        ("t", pl.Series([0, 2**31 - 1]).cast(pl.Date), 2, "time (t)", "expected a year from 1 to 9999"),
    ],
)
def test_invalid_parquet_values_are_rejected(
    tmp_path: Path, column: str, values: list[object], row: int | None, field: str | None, complaint: str
) -> None:
    good: dict[str, object] = {"s": ["a", "b"], "r": [1, 2], "o": ["b", "c"], "t": [1, 2]}
    pl.DataFrame({**good, column: values}).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(InputError) as caught:
        read_facts(tmp_path / "f.parquet")
    assert (caught.value.row, caught.value.field) == (row, field)
    assert complaint in str(caught.value)


def test_parquet_without_facts_or_columns_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no facts"):
        read(tmp_path, "f.parquet", parquet([]))
    pl.DataFrame({"s": ["a"], "r": ["r"], "o": ["b"]}).write_parquet(tmp_path / "g.parquet")
    with pytest.raises(InputError, match="cannot determine the column of the time"):
        read_facts(tmp_path / "g.parquet")
