"""Files in other layouts, encodings and compressions, from standard input, and with other separators."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
from pathlib import Path

import pytest
import zstandard

from fitcarl.data.io.reader import read_facts
from fitcarl.errors import InputError
from tests.data.files import names, read

ROWS = [("Ann", "visits", "Bob", "2014-01-03"), ("Bob", "praises", "Cyd", "2014-01-01")]
HEADER = ("subject", "relation", "object", "time")


def text(separator: str, rows: list[tuple[str, ...]] | None = None) -> str:
    return "".join(separator.join(row) + "\n" for row in rows or [HEADER, *ROWS])


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", " ", "   "])
@pytest.mark.parametrize("name", ["f.csv", "f.tsv", "f.txt"])
def test_separator_is_detected(tmp_path: Path, separator: str, name: str) -> None:
    facts = read(tmp_path, name, text(separator))
    assert names(facts) == ROWS
    assert facts.mapping == {role: role for role in HEADER}


def test_decimal_commas_do_not_hide_semicolons(tmp_path: Path) -> None:
    rows = [("von", "subject", "relation", "object", "time", "x"), *(("1,5", *row, "2,5") for row in ROWS)]
    assert names(read(tmp_path, "f.csv", text(";", rows))) == ROWS


def test_names_with_spaces_and_commas_stay_whole(tmp_path: Path) -> None:
    rows = [("Ann Lee, PhD", "meets with", "Bob | Co", "2014-01-03")]
    assert names(read(tmp_path, "f.tsv", text("\t", rows * 1))) == rows


def test_given_separator_is_used(tmp_path: Path) -> None:
    content = "a,x;r;b,y;2014-01-01\n"
    assert names(read(tmp_path, "f.csv", content, separator="semicolon")) == [("a,x", "r", "b,y", "2014-01-01")]
    with pytest.raises(InputError, match="unknown separator; found ':'; expected one of comma, tab"):
        read(tmp_path, "f.csv", content, separator=":")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_compressed_files_are_read(tmp_path: Path, compress: object, ending: str) -> None:
    content = compress(text(",").encode())  # type: ignore[operator]
    if ending not in ("", ".gz" if compress is gzip.compress else ".zst" if compress is zstandard.compress else ""):
        with pytest.raises(InputError, match=r"not a|damaged"):
            read(tmp_path, f"f.csv{ending}", content[:2] + b"xx")
        return
    assert names(read(tmp_path, f"f.csv{ending}", content)) == ROWS
    assert read_facts(tmp_path / f"f.csv{ending}").name == "f"
    with pytest.raises(InputError, match="damaged compressed data"):
        read(tmp_path, f"f.csv{ending}", content[: len(content) // 2])


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for separator in (",", "\t"):
        stdin = io.TextIOWrapper(io.BytesIO(text(separator).encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert names(read_facts("-")) == ROWS


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_other_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    rows = [("Zoë", "grüßt", "René", "2014-01-03")]
    content = text(",", [HEADER, *rows]).encode(encoding)
    assert names(read(tmp_path, "f.csv", content, encoding=encoding)) == rows
    if encoding in ("utf-16", "utf-8-sig"):
        assert names(read(tmp_path, "f.csv", content)) == rows
    else:
        with pytest.raises(InputError, match=r"not UTF-8 text; .* such as latin-1"):
            read(tmp_path, "f.csv", content)


@pytest.mark.parametrize("encoding", ["klingon", "", "base64", "undefined", "utf\0", "\udcff"])
def test_unknown_encodings_are_rejected(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(InputError, match="field encoding: unknown encoding; found"):
        read(tmp_path, "f.csv", text(","), encoding=encoding)


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("utf-7", b"a,r,b,1\na,r,+2AA-,2\n"),
        ("unicode-escape", b"a,r,b,1\na,r,\\ud800,2\n"),
        ("utf-16-le", "a,r,b,1\na,r,\ud800,2\n".encode("utf-16-le", "surrogatepass")),
        ("cp1252", b"a,r,b,1\na,r,\x81,2\n"),
    ],
)
def test_text_of_another_encoding_is_rejected_with_its_row(tmp_path: Path, encoding: str, content: bytes) -> None:
    with pytest.raises(InputError, match=f"row 2: not {encoding} text; expected the encoding of the file"):
        read(tmp_path, "f.csv", content, encoding=encoding)


def test_comment_lines_are_skipped_and_counted_in_row_numbers(tmp_path: Path) -> None:
    content = "# Directed graph\n# From To Time\n1 2 1082040961\n2 3 1082040962\n"
    assert len(read(tmp_path, "f.txt", content, relation="writes").quadruples) == 2
    with pytest.raises(InputError, match="row 5, field time"):
        read(tmp_path, "f.txt", content + "2 3 soon\n", relation="writes")


def test_marked_header_is_a_header(tmp_path: Path) -> None:
    assert (
        names(read(tmp_path, "f.tsv", "#subject\trelation\tobject\ttime\nAnn\tvisits\tBob\t2014-01-03\n")) == ROWS[:1]
    )


def test_hashtag_in_the_first_row_is_a_fact(tmp_path: Path) -> None:
    rows = [("#vote", "used by", "Ann", "2014-01-03"), ("#win", "used by", "Bob", "2014-01-04")]
    assert names(read(tmp_path, "f.tsv", text("\t", rows))) == rows


@pytest.mark.parametrize("relation", [" ", "\ud800", "a\tb"])
def test_constant_relation_is_a_valid_name(tmp_path: Path, relation: str) -> None:
    with pytest.raises(InputError, match=r"^field relation: .* name.*; expected a name of the relation"):
        read(tmp_path, "f.csv", "Ann,Bob,2014-01-03\n", relation=relation)


def test_constant_relation_needs_three_columns(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.csv", "sender,recipient,sent\nAnn,Bob,2014-01-03\n", relation="writes to")
    assert names(facts) == [("Ann", "writes to", "Bob", "2014-01-03")]
    assert facts.reading.text == (
        "subject = sender, relation = writes to (the same for all facts), object = recipient, time = sent"
    )
    with pytest.raises(InputError, match="if all facts have the same relation, name it with --relation NAME"):
        read(tmp_path, "f.csv", "sender,recipient,sent\nAnn,Bob,2014-01-03\n")
    facts = read(tmp_path, "g.csv", "2014-01-03,Ann,Bob\n", relation="r", columns=(2, 3, 1))
    assert names(facts) == [("Ann", "r", "Bob", "2014-01-03")]


@pytest.mark.parametrize(
    ("content", "proposal"),
    [
        ("wer,wen,was,wann\na,b,r,2014-01-01\nb,a,r,2014-01-02\n", "--columns wer,was,wen,wann"),
        ("home_team,away_team,cup,date\na,b,r,2014-01-01\n", "--columns home_team,cup,away_team,date"),
        ("2014-01-01,a,r,b\n2014-01-02,b,r,a\n", "--columns 2,3,4,1"),
        ("x y,b,c,d 2014\na,r,b,2014-01-01\n", "--columns 'x y,b,c,d 2014'"),
    ],
)
def test_unclear_columns_are_rejected_with_a_proposal_that_works(tmp_path: Path, content: str, proposal: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, "f.csv", content)
    assert str(caught.value).endswith(f"possibly {proposal}")
    columns = proposal.removeprefix("--columns ").strip("'").split(",")
    assert read(tmp_path, "f.csv", content, columns=columns).vocabulary.relations == ("r",)


def test_order_that_the_contents_contradict_is_rejected(tmp_path: Path) -> None:
    edges = "".join(f"e{i * 7 % 20}\te{i * 3 % 17}\tr{i % 3}\t2014-01-{i % 28 + 1:02d}\n" for i in range(80))
    with pytest.raises(InputError, match=r"column of the relation and the object; .* possibly --columns 1,3,2,4"):
        read(tmp_path, "f.tsv", edges)
    rated = "".join(f"{i * 7 % 200},{i * 3 % 170},{i % 21 - 10},{1289241911 + i * 5000}.5\n" for i in range(300))
    with pytest.raises(InputError, match="column of the relation and the object"):
        read(tmp_path, "f.csv", rated)
    amounts = "".join(f"a{i % 9},pays,{i}.25,2014-01-{i % 28 + 1:02d}\n" for i in range(30))
    with pytest.raises(InputError, match="cannot determine the column of the object"):
        read(tmp_path, "f.csv", amounts)


def test_unlikely_columns_are_reported(tmp_path: Path) -> None:
    many = "".join(f"a{i % 9},r{i % 90},b{i % 7},2014-01-{i % 28 + 1:02d}\n" for i in range(200))
    wanted = ("90 relations for 16 entities: is relation the relation?",)
    assert read(tmp_path, "f.csv", f"subject,relation,object,time\n{many}").warnings == wanted
    with pytest.raises(InputError, match="cannot determine the column of the relation and the object"):
        read(tmp_path, "f.csv", many)
    single = "".join(f"a{i},r,b{i},2014-01-{i % 28 + 1:02d}\n" for i in range(200))
    assert "nearly every entity occurs only once" in read(tmp_path, "f.csv", single).warnings[0]
    order = random.Random(0).sample(range(10_000), 300)
    jumping = "".join(f"a{i % 20},r,b{i % 19},{time}\n" for i, time in enumerate(order))
    assert "in no order: is column 4 the time?" in read(tmp_path, "f.csv", jumping).warnings[0]
    assert read(tmp_path, "f.csv", text(",")).warnings == ()


def test_incomplete_rows_are_left_out_on_request(tmp_path: Path) -> None:
    content = text(",", [HEADER, ROWS[0], ("Ann", "visits", "", "2014-01-03"), ("", "r", "Bob", "NA"), ROWS[1]])
    with pytest.raises(InputError, match="row 4, field time: not a time; found 'NA'"):
        read(tmp_path, "f.csv", content)
    facts = read(tmp_path, "f.csv", content, skip_incomplete=True)
    assert (names(facts), facts.reading.incomplete) == (ROWS, 2)
    assert "2 rows without a value left out" in facts.summary
    bad = text(",", [HEADER, ("", "r", "Bob", "2014-01-01"), ("Ann", "r", "Bob", "soon")])
    with pytest.raises(InputError, match="row 3, field time"):
        read(tmp_path, "f.csv", bad, skip_incomplete=True)


@pytest.mark.parametrize(
    ("column", "texts", "granularity", "labels"),
    [
        ("year", ["1830", "2018"], "year", ["1830", "2018"]),
        ("start_year", ["1830", "2018"], "year", ["1830", "2018"]),
        ("time", ["1830", "2018"], "integer", ["1830", "2018"]),
        ("month", ["201405", "201406"], "month", ["2014-05", "2014-06"]),
        ("time", ["1082040961", "1082047961"], "hour", ["2004-04-15T14", "2004-04-15T16"]),
        ("time", ["1082040961.5", "1082047961"], "hour", ["2004-04-15T14", "2004-04-15T16"]),
        ("time", ["1388534400000", "1388620800000"], "day", ["2014-01-01", "2014-01-02"]),
        ("time", ["2014051309", "2014051310"], "hour", ["2014-05-13T09", "2014-05-13T10"]),
        ("time", ["1.0", "3.0"], "integer", ["1", "3"]),
        ("time", ["1952-##-##", "1953-05-13", "1954-##-##"], "year", ["1952", "1953", "1954"]),
        ("time", ["2014-W05", "2014-W07"], "week", ["2014-W05", "2014-W07"]),
        ("time", ["2014Q1", "2014Q4"], "quarter", ["2014-Q1", "2014-Q4"]),
        ("time", ["03/04/2014", "13/04/2014"], "day", ["2014-04-03", "2014-04-13"]),
        ("time", ["-0431-##-##", "0012-##-##"], "year", ["-0431", "0012"]),
    ],
)
def test_times_are_read_as_people_write_them(
    tmp_path: Path, column: str, texts: list[str], granularity: str, labels: list[str]
) -> None:
    rows = [("subject", "relation", "object", column), *((f"a{i}", "r", "b", text) for i, text in enumerate(texts))]
    facts = read(tmp_path, "f.csv", text(",", rows))
    assert facts.calendar.granularity == granularity
    assert [row[3] for row in names(facts)] == labels


def test_partial_dates_are_counted(tmp_path: Path) -> None:
    days = [f"2014-05-{day:02d}" for day in range(1, 29)]
    rows = [HEADER, *(("a", "r", f"b{i}", time) for i, time in enumerate([*days, "1952-##-##"]))]
    facts = read(tmp_path, "f.csv", text(",", rows))
    assert facts.calendar.granularity == "day"
    assert facts.reading.coarse_times == 1
    assert "1 partial times placed at the start of their period" in facts.summary
