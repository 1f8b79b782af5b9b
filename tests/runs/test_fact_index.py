"""An index that is built in chunks equals the graph of facts that are read into memory."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitcarl.data.io.reader import read_facts
from fitcarl.errors import InputError
from fitcarl.graph.storage import open_graph, save_graph
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.runs.fact_index import index_facts, open_index

NAMES = ("subject", "relation", "object", "time")
DAY = date(2024, 1, 1)


def write(rows: list[tuple[Any, ...]], file: Path) -> Path:
    if file.suffix == ".parquet":
        pl.DataFrame(rows, schema=NAMES, orient="row").write_parquet(file, row_group_size=7)
    else:
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, delimiter="\t" if file.suffix == ".tsv" else ",")
            writer.writerows([NAMES, *rows])
    return file


def check_equal(file: Path, out: Path, chunk_rows: int, partition_edges: int, **options: Any) -> None:
    """Compares names, calendar, counts and every byte of the stored graph."""
    facts = read_facts(file, **options)
    names = facts.vocabulary
    expected = TemporalGraph.from_facts(facts.quadruples, len(names.entities), names.relation_ids)
    index = index_facts(file, out, chunk_rows=chunk_rows, partition_edges=partition_edges, **options)
    assert index.names[0] == names
    assert index.names[1] == facts.calendar
    counts = index.counts
    assert (counts.rows, counts.facts, counts.self_loops) == (facts.rows, len(facts.quadruples), facts.self_loops)
    assert counts.times_truncated == facts.times_truncated
    assert counts.incomplete == facts.reading.incomplete
    saved = save_graph(expected, out.with_name(f"{out.name}-expected"))
    for stored in saved.iterdir():
        assert (out / "graph" / stored.name).read_bytes() == stored.read_bytes()
    opened = open_graph(out / "graph", thorough=True)
    assert opened.base.edges() == expected.base.edges()
    assert isinstance(opened.base.target.base, np.memmap)
    assert sorted(path.name for path in out.parent.iterdir() if path.name.startswith(out.name + ".")) == []


words = st.sampled_from(["a", "b b", "ç", "d,e", 'f "g"', "5", " 5", "17", "-3", "0", "x"])
integers = st.sampled_from(["5", " 5", "17", "-3", "0", "100", "2"])
days = st.integers(0, 20).map(lambda number: str(DAY + timedelta(days=number)))
ticks = st.integers(-5, 30).map(lambda number: str(3 * number))
tables = st.one_of(
    st.lists(st.tuples(entity, relation, entity, time), min_size=1, max_size=40)
    for entity, relation, time in [(words, words, days), (integers, integers, ticks), (integers, words, ticks)]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables, st.integers(1, 9), st.integers(1, 15), st.sampled_from([".parquet", ".csv", ".tsv"]))
def test_index_equals_graph_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[Any, ...]],
    chunk_rows: int,
    partition_edges: int,
    suffix: str,
) -> None:
    folder = tmp_path_factory.mktemp("index")
    if suffix == ".tsv":
        rows = [tuple(value.replace('"', "'") for value in row) for row in rows]
    try:
        file = write(rows, folder / f"facts{suffix}")
        read_facts(file)
    except InputError:
        with pytest.raises(InputError):
            index_facts(file, folder / "index", chunk_rows=chunk_rows, partition_edges=partition_edges)
        assert not (folder / "index").exists()
        return
    check_equal(file, folder / "index", chunk_rows, partition_edges)


def many(count: int = 400) -> list[tuple[Any, ...]]:
    """Facts of which a third are about one entity, some of them repeated."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(count):
        subject = "hub" if number % 3 == 0 else f"e{rng.integers(30)}"
        day = DAY + timedelta(days=int(rng.integers(60)))
        rows.append((subject, f"r{rng.integers(4)}", f"e{rng.integers(30)}", str(day)))
    return rows + rows[: count // 10]


def test_edges_of_one_entity_are_divided_into_partitions(tmp_path: Path) -> None:
    check_equal(write(many(), tmp_path / "facts.parquet"), tmp_path / "index", 50, 60)
    counts = open_index(tmp_path / "index").counts
    assert counts.partitions > 10
    assert counts.largest_partition < 120


@pytest.mark.parametrize("chunk_rows", [3, 64, 10_000])
@pytest.mark.parametrize("granularity", ["auto", "month"])
def test_dates_and_datetimes_of_parquet(tmp_path: Path, chunk_rows: int, granularity: str) -> None:
    rows = [(s, r, o, date.fromisoformat(t)) for s, r, o, t in many()]
    check_equal(write(rows, tmp_path / "facts.parquet"), tmp_path / "index", chunk_rows, 100, granularity=granularity)


def test_file_options(tmp_path: Path) -> None:
    rows = [("", "r", "b", "2024-01-01"), *many(60)]
    check_equal(write(rows, tmp_path / "facts.csv"), tmp_path / "skipped", 7, 20, skip_incomplete=True)
    columns = ("object", "relation", "subject", "time")
    check_equal(write(many(60), tmp_path / "facts.tsv"), tmp_path / "turned", 7, 20, columns=columns)
    text = "# a comment\n" + "\n".join("|".join(row) for row in many(60)) + "\r\n"
    (tmp_path / "piped.csv").write_text(text, encoding="utf-8")
    check_equal(tmp_path / "piped.csv", tmp_path / "without-header", 7, 20)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize(
    ("row", "field", "problem"),
    [
        (("a", "r", " ", "2024-01-01"), "object", "an empty name"),
        (("a", "null", "b", "2024-01-01"), "relation", "a missing value"),
        (("a", "r", "b", "2024-02-31"), "time", "no such date"),
        (("a", "r", "b", "soon"), "time", "not a time"),
    ],
)
def test_invalid_value_is_reported_with_its_row(
    tmp_path: Path, suffix: str, row: tuple[str, ...], field: str, problem: str
) -> None:
    rows = many(50)
    rows[40] = row
    file = write(rows, tmp_path / f"facts{suffix}")
    with pytest.raises(InputError) as in_memory:
        read_facts(file)
    with pytest.raises(InputError) as error:
        index_facts(file, tmp_path / "index", chunk_rows=9, partition_edges=20)
    assert (error.value.row, error.value.field, error.value.found) == (
        in_memory.value.row,
        in_memory.value.field,
        in_memory.value.found,
    )
    assert error.value.row == 41 + (suffix == ".csv")
    assert error.value.field == field
    assert error.value.problem.startswith(problem)
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_read_in_chunks_is_refused(tmp_path: Path) -> None:
    cases = {
        "facts.csv.gz": b"",
        "facts.jsonl": b"{}",
        "utf16.csv": "a,b,c,2024-01-01\n".encode("utf-16"),
        "padded.csv": b"a, b, c, 2024-01-01\nd, e, f, 2024-01-02\n",
        "marked.csv": b"s,r,o,t\n\xef\xbb\xbfa,b,c,2024-01-01\n",
        "ragged.csv": b"a,b,c,2024-01-01\n" * 3 + b"a,b,c,2024-01-01,x\n",
        "damaged.parquet": b"PAR1 and nothing else",
        "other.parquet": b"text",
        "empty.tsv": b"",
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=name):
            index_facts(tmp_path / name, tmp_path / "index")
    intervals = tmp_path / "intervals.csv"
    intervals.write_text("subject,relation,object,start,end\na,r,b,2024-01-01,2024-01-03\n", encoding="utf-8")
    with pytest.raises(InputError, match="intervals cannot be read in chunks"):
        index_facts(intervals, tmp_path / "index")
    check_equal(intervals, tmp_path / "index", 1, 1, intervals="start")
    with pytest.raises(InputError, match="exists already"):
        index_facts(intervals, tmp_path / "index", intervals="start")
    with pytest.raises(InputError, match="not an index of facts"):
        open_index(tmp_path)


def test_id_written_in_two_ways_is_refused_across_chunks(tmp_path: Path) -> None:
    rows = [("7", "r", "x", "2024-01-01"), ("7.0", "r", "y", "2024-01-02")]
    file = write(rows, tmp_path / "facts.parquet")
    for read in (lambda: read_facts(file), lambda: index_facts(file, tmp_path / "index", chunk_rows=1)):
        with pytest.raises(InputError, match=r"an id that is also written without \.0; found '7\.0'"):
            read()
