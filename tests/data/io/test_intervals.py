"""Facts with a start and an end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.io.dataset_folder import read_dataset, write_dataset
from fitcarl.data.io.further_facts import read_further_columns
from fitcarl.data.io.intervals import expanded_ticks
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.split import split_facts
from fitcarl.errors import InputError
from tests.data.files import names, read

CONTENT = "subject,relation,object,start,end\nAnn,plays for,Reds,2010,2012\nBob,plays for,Blues,2011,\n"


def test_intervals_are_two_events_by_default(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.csv", CONTENT)
    assert names(facts) == [
        ("Ann", "plays for (begins)", "Reds", "2010"),
        ("Bob", "plays for (begins)", "Blues", "2011"),
        ("Ann", "plays for (ends)", "Reds", "2012"),
    ]
    assert (facts.mapping or {})["end"] == "end"
    assert (facts.reading.intervals, facts.reading.open_intervals) == ("events", 1)
    assert "intervals read as two events" in facts.summary


def test_intervals_are_expanded_on_request(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.csv", CONTENT, intervals="expand")
    assert [(row[0], row[3]) for row in names(facts)] == [
        ("Ann", "2010"),
        ("Ann", "2011"),
        ("Ann", "2012"),
        ("Bob", "2011"),
    ]
    facts = read(tmp_path, "f.csv", CONTENT, intervals="expand", max_expansion=2)
    assert [(row[0], row[3]) for row in names(facts)] == [("Ann", "2010"), ("Ann", "2012"), ("Bob", "2011")]
    assert facts.reading.thinned_intervals == 1


def test_only_the_start_is_used_on_request(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.csv", CONTENT, intervals="start")
    assert [row[3] for row in names(facts)] == ["2010", "2011"]
    assert facts.vocabulary.relations == ("plays for",)


@pytest.mark.parametrize("mode", ["events", "expand"])
def test_end_before_start_is_rejected(tmp_path: Path, mode: str) -> None:
    with pytest.raises(
        InputError, match=r"row 4, field end: an interval that ends before it starts; found '2012 to 2010'"
    ):
        read(tmp_path, "f.csv", CONTENT + "Cyd,plays for,Reds,2012,2010\n", intervals=mode)
    with pytest.raises(InputError, match=r"row 4, field (end|time \(start\)): not a time; found 'later'"):
        read(tmp_path, "f.csv", CONTENT + "Cyd,plays for,Reds,2012,later\n", intervals=mode)


def test_intervals_need_a_column_for_the_end(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no intervals; expected a column for the end"):
        read(tmp_path, "f.csv", "subject,relation,object,time\na,r,b,2014-01-01\n", intervals="expand")
    with pytest.raises(InputError, match="unknown treatment of intervals; found 'both'"):
        read(tmp_path, "f.csv", CONTENT, intervals="both")


def test_files_of_public_benchmarks_without_header_have_intervals(tmp_path: Path) -> None:
    content = "7\t1\t9\t1952-##-##\t1953-05-##\n8\t1\t9\t1953-##-##\t####-##-##\n"
    facts = read(tmp_path, "f.txt", content)
    assert facts.calendar.granularity == "year"
    assert [row[3] for row in names(facts)] == ["1952", "1953", "1953"]


def test_treatment_of_intervals_is_kept_with_a_dataset(tmp_path: Path) -> None:
    rows = "".join(f"p{i % 40},plays for,c{i * 7 % 30},{1990 + i % 20},{1995 + i % 20}\n" for i in range(600))
    facts = read(
        tmp_path, "f.csv", "player,relation,club,from,to\n" + rows, columns=("player", "relation", "club", "from", "to")
    )
    dataset = split_facts(facts, bounds=(5, 60))
    write_dataset(dataset, tmp_path / "data")
    again = read_dataset(tmp_path / "data")
    assert again.reading == facts.reading
    assert again.digest == dataset.digest
    (tmp_path / "data" / "reading.json").write_text("[1")
    with pytest.raises(InputError, match=r"reading.json: not a description of how facts were read"):
        read_dataset(tmp_path / "data")


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), min_size=1, max_size=8), st.integers(1, 30))
def test_expansion_keeps_both_ends_and_order(spans: list[tuple[int, int]], at_most: int) -> None:
    start = np.array([first for first, _ in spans], dtype=np.int64)
    end = start + np.array([length for _, length in spans], dtype=np.int64)
    row, tick = expanded_ticks(start, end, at_most)
    for index, (first, length) in enumerate(spans):
        mine = tick[row == index]
        assert len(mine) == min(length + 1, at_most) == len(set(mine.tolist()))
        assert mine[0] == first
        assert mine[-1] == (first + length if at_most > 1 else first)
        assert np.all(np.diff(mine) > 0)


def test_further_facts_are_expanded_like_the_known_ones(tmp_path: Path) -> None:
    facts = read(tmp_path, "f.csv", CONTENT, intervals="expand", max_expansion=2)
    (tmp_path / "new.csv").write_text("subject,relation,object,start,end\nZoe,plays for,Reds,2010,2013\n")

    def times(**options: object) -> list[str]:
        table = read_further_columns(tmp_path / "new.csv", ReadOptions(**options), facts.calendar, facts.reading)  # type: ignore[arg-type]
        return table.values[3].to_list()

    assert times() == ["2010", "2013"]
    assert times(max_expansion=4) == ["2010", "2011", "2012", "2013"]
    assert times(intervals="start") == ["2010"]
    assert len(times(intervals="events")) == 2
