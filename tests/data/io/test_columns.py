"""Detection of columns and header rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.errors import InputError
from tests.data.files import GOOD, names, read


@pytest.mark.parametrize(
    "content",
    [
        "subject\trelation\tobject\ttime\na\tr\tb\t2014-01-01\n",
        "Date\thead\tpredicate\ttail\n2014-01-01\ta\tr\tb\n",
        "id\tObject_ID\tsubject id\trelation-name\ttimestamp\n7\tb\ta\tr\t2014-01-01\n",
        "who\trelation\tobject\twritten on\na\tr\tb\t2014-01-01\n",
        "a\tr\tb\t2014-01-01\n",
    ],
)
def test_header_and_columns_are_detected(tmp_path: Path, content: str) -> None:
    facts = read(tmp_path, "f.tsv", content)
    assert names(facts) == [("a", "r", "b", "2014-01-01")]
    assert facts.rows == 1


def test_invalid_first_fact_is_not_a_header(tmp_path: Path) -> None:
    for date in ("2014-02-30", "unknown", "n/a", ""):
        with pytest.raises(InputError, match="row 1, field time"):
            read(tmp_path, "f.tsv", f"a\tr\tb\t{date}\na\tr\tb\t2014-02-28\n")


def test_header_option_overrides_detection(tmp_path: Path) -> None:
    content = "a\tx\tb\t1\nb\tx\ta\t2\n"
    with pytest.raises(InputError, match="cannot determine the column of the subject and the relation and the object"):
        read(tmp_path, "f.tsv", content, header=True)
    assert names(read(tmp_path, "f.tsv", content, header=True, columns=(1, 2, 3, 4))) == [("b", "x", "a", "2")]
    assert len(names(read(tmp_path, "f.tsv", content, header=False))) == 2
    with pytest.raises(InputError, match="row 1, field time"):
        read(tmp_path, "f.tsv", "subject\trelation\tobject\ttime\n" + GOOD, header=False)


@pytest.mark.parametrize("columns", [("z", "x", "y", "w"), (4, 2, 3, 1), ("4", "2", "3", "1"), ("z", 2, "y", 1)])
def test_columns_by_name_or_position_from_one(tmp_path: Path, columns: tuple[str | int, ...]) -> None:
    facts = read(tmp_path, "f.csv", "w,x,y,z\n2014-01-01,r,b,a\n", columns=columns)
    assert names(facts) == [("a", "r", "b", "2014-01-01")]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (("z", "x", "y", "tome"), "no such column; found 'tome'; expected one of time, x, y, z (did you mean 'time'?)"),
        ((0, 1, 2, 3), "no such column; found 0; expected a position from 1 to 4"),
        ((1, 2, 3, 5), "no such column; found 5; expected a position from 1 to 4"),
        ((1, 1, 3, 4), "not four different columns"),
        ((1, 2, 3), "not four different columns"),
    ],
)
def test_unknown_columns_are_rejected(tmp_path: Path, columns: tuple[str | int, ...], complaint: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, "f.csv", "time,x,y,z\n1,r,b,a\n", columns=columns, header=True)
    assert complaint in str(error.value)


def test_ambiguous_header_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot determine the column of the subject"):
        read(tmp_path, "f.csv", "x,object,relation,time\na,b,r,2014-01-01\n")


def test_jsonl_arrays_use_positions_and_objects_use_keys(tmp_path: Path) -> None:
    assert names(read(tmp_path, "f.jsonl", '["a", 5, "b", 7]\n')) == [("a", "5", "b", "7")]
    odd = '{"who": "a", "did": "r", "target": "b", "at": 7}'
    assert names(read(tmp_path, "f.jsonl", odd, columns=("who", "did", "target", "at"))) == [("a", "r", "b", "7")]
    with pytest.raises(InputError, match="cannot determine the column of the relation"):
        read(tmp_path, "f.jsonl", odd)


@pytest.mark.parametrize("weight", ["5", "0.5"])
def test_unknown_column_does_not_replace_a_missing_one(tmp_path: Path, weight: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, "f.csv", f"subject,relation,object,weight\na,r,b,{weight}\n")
    assert "cannot determine the column of the time; found 'subject, relation, object, weight'" in str(error.value)
    assert "expected --columns (in Python columns=) with four names or positions from 1" in str(error.value)


def test_column_names_in_facts_are_not_a_header(tmp_path: Path) -> None:
    content = "s\tr\to\t2014-01-01\nhead\trelation\ttail\t2014-01-02\n"
    assert [row[0] for row in names(read(tmp_path, "f.tsv", content))] == ["s", "head"]


@pytest.mark.parametrize("header", [True, False, "auto"])
@pytest.mark.parametrize("columns", [(1, 2, 3), ("1", "2", "3"), (1, 2, 3, 4, 1, 2), ()])
@pytest.mark.parametrize(("name", "content"), [("f.tsv", GOOD), ("f.jsonl", '["a", "r", "b", 1]\n')])
def test_other_than_four_columns_are_rejected(
    tmp_path: Path, header: object, columns: tuple[str | int, ...], name: str, content: str
) -> None:
    with pytest.raises(InputError, match="not four different columns"):
        read(tmp_path, name, content, columns=columns, header=header)
