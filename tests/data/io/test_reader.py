"""Facts and concepts read from files."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitcarl.data.io.reader import read_concepts, read_facts
from fitcarl.data.io.table import table_of_text
from fitcarl.data.name_rules import name_problem
from fitcarl.errors import InputError
from tests.data.files import ROWS, WRITERS, Row, names, read, tsv


@pytest.mark.parametrize("format", WRITERS)
def test_all_formats_give_the_same_facts(tmp_path: Path, format: str) -> None:
    facts = read(tmp_path, f"events.{format}", WRITERS[format](ROWS))
    assert facts.name == "events"
    assert facts.vocabulary.entities == ("Ann", "Bob", "Cyd\u00a0(Kenya)", 'The "Movement"')
    assert facts.vocabulary.relations == ("visits", "praises")
    assert list(facts.quadruples) == [(0, 0, 1, 2), (1, 1, 2, 0), (3, 0, 3, 3), (0, 0, 1, 0)]
    assert (facts.calendar.granularity, facts.calendar.labels) == ("day", ("2014-01-01", "2014-01-03", "2014-01-04"))
    assert (facts.rows, facts.duplicates, facts.self_loops, facts.times_truncated) == (5, 1, 1, 0)
    assert facts.quadruples.time.dtype == facts.quadruples.subject.dtype == "int32"


# Valid names that stand for no missing value; a byte-order mark at the start of the file would not be part of the name.
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(
    lambda s: (
        name_problem(s) is None
        and s[0] != "\ufeff"
        and s not in ("NULL", "null", "NaN", "nan", "None", "\\N", "<NA>", "NaT", "#N/A")
    )
)
DATES = st.dates(dt.date(2013, 12, 29), dt.date(2014, 1, 5)).map(dt.date.isoformat)


@pytest.mark.parametrize("format", WRITERS)
@given(rows=st.lists(st.tuples(NAMES, NAMES, NAMES, DATES), min_size=1, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_names_and_order_survive_reading(tmp_path: Path, format: str, rows: list[Row]) -> None:
    facts = read(tmp_path, f"f.{format}", WRITERS[format](rows), header=False, granularity="day")
    assert names(facts) == list(dict.fromkeys(rows))
    assert facts.duplicates == len(rows) - len(set(rows))
    assert facts.self_loops == sum(s == o for s, _, o, _ in set(rows))
    if not all(name.strip(" ").isdecimal() for row in rows for name in (row[0], row[2])):
        assert facts.vocabulary.entities == tuple(dict.fromkeys(name for row in rows for name in (row[0], row[2])))


def test_integer_names_are_numbered_in_numerical_order(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.tsv", "17\t3\t2\t0\n100\t0\t17\t24\n")
    assert facts.vocabulary.entities == ("2", "17", "100")
    assert facts.vocabulary.relations == ("0", "3")
    assert list(facts.quadruples) == [(1, 1, 0, 0), (2, 0, 1, 1)]


def test_padded_integers_have_the_same_id(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.txt", "17 \t3  \t2\t0   \t0\n2  \t0  \t17\t24  \t0\n")
    assert facts.vocabulary.entities == ("2", "17")
    assert names(facts) == [("17", "3", "2", "0"), ("2", "0", "17", "24")]


def test_spaces_are_part_of_names_that_are_not_integers(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.tsv", "a \tr\ta\t1\n07\tr\t7\t1\n")
    assert facts.vocabulary.entities == ("a ", "a", "07", "7")


def test_quotation_marks_are_text_in_tsv_and_quoting_in_csv(tmp_path: Path) -> None:
    assert names(read(tmp_path, "f.tsv", '"a"\tr\t"b\t1\n')) == [('"a"', "r", '"b', "1")]
    assert names(read(tmp_path, "f.csv", '"a",r,"b, ""c""",1\n')) == [("a", "r", 'b, "c"', "1")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n\n", ""])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path: Path, end: str, mark: str) -> None:
    line = "\r\n" if end == "\r\n" else "\n"
    facts = read(tmp_path, "f.tsv", mark + "a\tr\tb\t2014-01-01" + line + "b\tr\ta\t2014-01-02" + end)
    assert names(facts) == [("a", "r", "b", "2014-01-01"), ("b", "r", "a", "2014-01-02")]


@pytest.mark.parametrize("above", ["", "subject,relation,object,time\n", "# comment\n"])
def test_later_byte_order_mark_is_part_of_a_name(tmp_path: Path, above: str) -> None:
    first = "Ann,visits,Bob,2014-01-01\n" if not above else ""
    facts = read(tmp_path, "f.csv", f"{above}{first}\ufeffBob,visits,Ann,2014-01-02\n")
    assert "\ufeffBob" in facts.vocabulary.entities


def test_table_has_every_byte_order_mark_and_blank_row(tmp_path: Path) -> None:
    table = table_of_text(tmp_path, b"\n\n\n\xef\xbb\xbf\n\xef\xbb\xbfa", "\t", quoted=False)
    assert [table.row(row) for row in range(len(table))] == [[""], [""], [""], ["\ufeff"], ["\ufeffa"]]
    assert table.head(2) == [["", ""]]
    assert table.head(2, skip=3) == [["\ufeff", "\ufeffa"]]
    assert table.columns([0], skip=3)[0].to_list() == ["\ufeff", "\ufeffa"]


def test_quoted_field_at_the_end_of_a_crlf_line_is_read(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.csv", 'time,subject,relation,object\r\n1,a,r,"b"\r\n2,a,r,"c"\r\n')
    assert names(facts) == [("a", "r", "b", "1"), ("a", "r", "c", "2")]


@pytest.mark.slow
def test_million_rows_are_read_within_seconds(tmp_path: Path) -> None:
    with (tmp_path / "f.tsv").open("w") as out:
        for i in range(1_000_000):
            subject, object, date = i * 7919 % 40_009, i * 104_729 % 39_989, f"{2000 + i % 20}-03-{i % 28 + 1:02d}"
            out.write(f"Actor {subject}\tevent {i % 211}\tActor {object}\t{date}\n")
    start = time.process_time()
    facts = read_facts(tmp_path / "f.tsv")
    assert time.process_time() - start < 15
    assert facts.rows == 1_000_000


@pytest.mark.data
def test_raw_benchmark_facts_are_read_with_day_ticks(benchmarks: Path) -> None:
    facts = read_facts(benchmarks / "raw" / "icews14" / "train.txt")
    assert (facts.rows, facts.duplicates, facts.calendar.step, facts.calendar.span) == (72_826, 0, 24, 365)
    assert list(facts.vocabulary.entities) == sorted(facts.vocabulary.entities, key=int)
    assert names(facts)[0] == ("6410", "56", "5037", "3168")


INDEX = {"Ann": 0, "Bob": 1, "Cyd": 2}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.tsv", "entity\tconcept\nBob\tParty\nAnn\tElite\nAnn\tElite\nAnn\tArmy\nZoe\tElite\n"),
        ("c.csv", 'Bob,Party\n"Ann","Elite"\nAnn,Army\n'),
        ("c.json", '{"Ann": ["Elite", "Army", "Elite"], "Bob": ["Party"], "Zoe": ["Elite"], "Cyd": []}'),
    ],
)
def test_concepts_of_known_entities_are_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    concepts = read_concepts(tmp_path / name, INDEX)
    assert concepts.names == ("Army", "Elite", "Party")
    assert [concepts.of(entity) for entity in range(3)] == [("Army", "Elite"), ("Party",), ()]


def test_facts_are_read_with_concepts(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"Bob": ["Party"]}')
    facts = read(tmp_path, "f.tsv", tsv(ROWS), concepts=tmp_path / "c.json", name="mine")
    assert facts.name == "mine"
    assert facts.concepts.of(1) == ("Party",)
    assert len(facts.concepts.offsets) == len(facts.vocabulary.entities) + 1
    assert (facts.concept_rows, facts.concept_rows_used) == (1, 1)


@pytest.mark.parametrize(
    ("name", "content"), [("c.tsv", "bob\tParty\nann\tElite\n"), ("c.json", '{"bob": ["Party", "Elite"], "Bob": []}')]
)
def test_concepts_without_a_known_entity_are_rejected(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match="no concepts for these facts; found '0 of 2 rows with") as caught:
        read(tmp_path, "f.tsv", tsv(ROWS), concepts=tmp_path / name)
    assert caught.value.file == str(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "row", "field", "complaint"),
    [
        ("c.tsv", "Ann\tElite\nBob\n", 2, None, "too few fields; found 1; expected 2 fields"),
        ("c.tsv", "Ann\tElite\nBob\t\n", 2, "concept", "an empty name"),
        ("c.tsv", "Ann\tElite\n\tElite\n", 2, "entity", "an empty name"),
        ("c.tsv", b"Ann\tElite\nBob\t\xff\n", 2, "2", "not UTF-8 text"),
        ("c.json", '{"Ann": ["Elite"],\n "Bob": [}', 2, None, "not JSON"),
        ("c.json", '["Ann"]', None, None, "not a JSON object; expected {entity: [concept, ...]}"),
        ("c.json", '{"Ann": "Elite"}', None, "Ann", "not a list of names; found '\"Elite\"'"),
        ("c.json", '{"Ann": ["Elite", 3]}', None, "Ann", "not a list of names"),
        ("c.json", '{"Ann": ["Elite", " "]}', None, "Ann", "not a list of names"),
    ],
)
def test_invalid_concepts_are_reported_with_row_and_field(
    tmp_path: Path, name: str, content: str | bytes, row: int | None, field: str | None, complaint: str
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_concepts(tmp_path / name, INDEX)
    assert (caught.value.file, caught.value.row, caught.value.field) == (str(tmp_path / name), row, field)
    assert complaint in str(caught.value)
