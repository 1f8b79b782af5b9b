"""Dataset folders: reading, round trip and validation."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.calendar import Calendar, Granularity, parse_granule
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.io.dataset_folder import read_dataset, validate, write_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from tests.data.dataset_folder import FILES, contents

OFFICIAL = ("icews14-oog", "icews18-oog", "icews0515-oog")


def test_folder_is_read_as_names_ticks_and_facts(folder: Path) -> None:
    data = read_dataset(folder)
    assert data.name == "small"
    assert data.vocabulary.entities[2:4] == ("Cyd\u00a0(Kenya)", '"New" Party')
    assert data.calendar == Calendar(
        "day", parse_granule("day", "2014-01-01"), 1, np.array([0, 24, 72]), np.array([0, 1, 3], np.int32)
    )
    assert list(data.background) == [(0, 0, 1, 1), (1, 1, 2, 0), (2, 0, 2, 3)]
    assert data.train.entity_of_fact.tolist() == [3, 3, 4, 4]
    assert list(data.train.facts) == [(3, 0, 0, 0), (1, 1, 3, 1), (4, 0, 3, 3), (0, 0, 4, 0)]
    assert list(data.dropped) == [(5, 0, 6, 0)]
    assert [data.concepts.of(entity) for entity in range(3)] == [("Elite",), (), ("Army", "Elite")]


def test_dataset_round_trips_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    write_dataset(read_dataset(folder), tmp_path / "new" / "copy")
    assert contents(tmp_path / "new" / "copy") == FILES
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["copy"]


@pytest.mark.data
@pytest.mark.parametrize("name", OFFICIAL)
def test_official_dataset_round_trips_byte_for_byte(benchmarks: Path, tmp_path: Path, name: str) -> None:
    write_dataset(read_dataset(benchmarks / name), tmp_path / name)
    assert sorted(entry.name for entry in (tmp_path / name).iterdir()) == sorted(FILES)
    for file in FILES:
        assert (tmp_path / name / file).read_bytes() == (benchmarks / name / file).read_bytes(), file


def test_crlf_and_empty_tables_are_read(folder: Path) -> None:
    (folder / "entities.tsv").write_bytes(FILES["entities.tsv"].replace("\n", "\r\n").encode())
    (folder / "meta_valid.tsv").write_bytes(b"")
    data = read_dataset(folder)
    assert data.vocabulary.entities[0] == "Ann"
    assert len(data.valid) == len(data.valid.entities) == 0


def test_concepts_and_dropped_facts_are_optional(folder: Path, tmp_path: Path) -> None:
    (folder / "concepts.tsv").unlink()
    (folder / "dropped_cross_facts.tsv").unlink()
    data = read_dataset(folder)
    assert data.concepts == Concepts.none(7)
    assert len(data.dropped) == 0
    write_dataset(data, tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(folder)


@pytest.mark.parametrize(
    ("granularity", "granules", "step"),
    [
        ("hour", [386_000, 386_001, 386_030], 1),
        ("day", [-3, 0, 16_071], 1),
        ("month", [24_168, 24_180], 1),
        ("year", [1999, 2001, 2014], 1),
        ("integer", [-48, 0, 240], 24),
        ("integer", [2014, 2015, 2020], 1),
        ("integer", [0, 1, 2, 1999], 1),
        ("day", [16_071], 1),
    ],
)
def test_every_calendar_round_trips_through_its_table(
    tmp_path: Path, granularity: Granularity, granules: list[int], step: int
) -> None:
    calendar = Calendar.of_granules(granularity, granules, step)
    rows = [(i % 2, 0, 1, int(tick)) for i, tick in enumerate(calendar.ticks)]
    no_facts = MetaSet(np.empty(0, np.int32), Quadruples.empty())
    data = Dataset(
        "times",
        Vocabulary(("a", "b"), ("r",)),
        calendar,
        Quadruples.from_rows(rows),
        no_facts,
        no_facts,
        no_facts,
        Quadruples.empty(),
        Concepts.none(2),
    )
    write_dataset(data, tmp_path / "times")
    again = read_dataset(tmp_path / "times")
    assert again == data
    assert again.digest == data.digest


def change(folder: Path, file: str, old: str, new: str) -> None:
    content = (folder / file).read_bytes().decode()
    assert content.count(old) == 1
    (folder / file).write_bytes(content.replace(old, new).encode())


@pytest.mark.parametrize(
    ("file", "old", "new", "row", "field", "complaint"),
    [
        (
            "background.tsv",
            "1\t1\t2\t0",
            "1\t1\t7\t0",
            2,
            "object",
            "an id out of range; found 7; expected an id from 0 to 6",
        ),
        ("background.tsv", "1\t1\t2\t0", "-1\t1\t2\t0", 2, "subject", "found -1; expected an id from 0 to 6"),
        ("background.tsv", "1\t1\t2\t0", "1\t2\t2\t0", 2, "relation", "found 2; expected an id from 0 to 1"),
        ("background.tsv", "1\t1\t2\t0", "1\t1\t4294967297\t0", 2, "object", "an id out of range; found 4294967297"),
        ("background.tsv", "1\t1\t2\t0", "1\t1\tBob\t0", 2, "object", "not an integer; found 'Bob'"),
        ("background.tsv", "1\t1\t2\t0", "1\t1\t\t0", 2, "object", "not an integer; found ''"),
        ("background.tsv", "1\t1\t2\t0", "1\t1\t2", 2, None, "too few fields; found 3; expected 4"),
        (
            "background.tsv",
            "1\t1\t2\t0",
            "1\t1\t2\t48",
            2,
            "time",
            "an unknown time; found 48; expected a code of times.tsv",
        ),
        (
            "background.tsv",
            "1\t1\t2\t0",
            "1\t1\t5\t0",
            2,
            "object",
            "an unseen entity; found 5; expected none of meta_valid",
        ),
        (
            "meta_train.tsv",
            "4\t4\t0\t3\t72",
            "4\t4\t0\t6\t72",
            3,
            "object",
            "an unseen entity; found 6; expected none of meta_test",
        ),
        ("meta_train.tsv", "4\t0\t0\t4\t0", "4\t0\t0\t1\t0", 4, "unseen entity", "not an entity of its fact; found 4"),
        (
            "meta_train.tsv",
            "4\t0\t0\t4\t0",
            "4\t0\t0\t4\t0\n3\t3\t1\t1\t0",
            5,
            "unseen entity",
            "facts of an entity are not contiguous",
        ),
        ("meta_train.tsv", "4\t0\t0\t4\t0", "4\t4\t0\t3\t72", 4, "fact", "a duplicate fact"),
        (
            "background.tsv",
            "2\t0\t2\t72",
            "2\t0\t2\t72\n0\t0\t1\t24",
            4,
            "fact",
            "a duplicate fact; found 'Ann, Bob'; expected distinct facts",
        ),
        (
            "meta_test.tsv",
            "6\t1\t1\t6\t0",
            "6\t1\t1\t6\t0\n5\t5\t1\t1\t0",
            2,
            "unseen entity",
            "an entity in two groups; found 5",
        ),
        (
            "entities.tsv",
            "1\tBob",
            "1\tAnn",
            2,
            "name",
            "a duplicate name; found 'Ann'; expected another name than in row 1",
        ),
        ("entities.tsv", "1\tBob", "1\t ", 2, "name", "an empty name"),
        ("entities.tsv", "1\tBob", "8\tBob", 2, "id", "an id that differs from its row number; found 8; expected 1"),
        ("relations.tsv", "1\tpraises", "1\tvisits", 2, "name", "a duplicate name"),
        ("concepts.tsv", "2\tArmy", "9\tArmy", 2, "entity", "an id out of range; found 9; expected an id from 0 to 6"),
        ("concepts.tsv", "2\tArmy", "2\t", 2, "concept", "an empty name"),
        (
            "times.tsv",
            "24\t1\t2014-01-02",
            "24\t1\t2014-01-03",
            3,
            "label",
            "does not match its tick; found '2014-01-04'",
        ),
        (
            "times.tsv",
            "24\t1\t2014-01-02",
            "24\t3\t2014-01-02",
            3,
            "tick",
            "times out of order; found 3; expected more than 3",
        ),
        ("times.tsv", "72\t3\t2014-01-04", "24\t3\t2014-01-04", 3, "code", "times out of order; found 24"),
        ("times.tsv", "0\t0\t2014-01-01", "0\t0\tnever", 1, "label", "not a time; found 'never'"),
        ("times.tsv", "0\t0\t2014-01-01", "0\t0\t2014-01-41", 1, "label", "no such date; found '2014-01-41'"),
        ("times.tsv", "72\t3\t2014-01-04", "72\t2000000000\t2014-01-04", 3, "tick", "a time out of range"),
        ("dropped_cross_facts.tsv", "5\t0\t6\t0", "5\t0\t6\t1", 1, "time", "an unknown time"),
    ],
)
def test_invalid_folder_is_reported_with_file_and_row(
    folder: Path, file: str, old: str, new: str, row: int, field: str | None, complaint: str
) -> None:
    change(folder, file, old, new)
    with pytest.raises(InputError) as caught:
        read_dataset(folder)
    assert (caught.value.file, caught.value.row, caught.value.field) == (str(folder / file), row, field)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("file", [name for name in FILES if name not in ("concepts.tsv", "dropped_cross_facts.tsv")])
def test_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(InputError, match=f"no {file} in this folder"):
        read_dataset(folder)


@pytest.mark.parametrize("file", ["entities.tsv", "relations.tsv", "times.tsv", "background.tsv"])
def test_empty_names_times_and_background_are_rejected(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"")
    with pytest.raises(InputError, match=f"{file}: no "):
        read_dataset(folder)


def test_missing_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such folder; expected a folder with entities\.tsv"):
        read_dataset(tmp_path / "none")


def test_dataset_in_memory_is_validated(folder: Path) -> None:
    data = read_dataset(folder)
    validate(data)
    late = dataclasses.replace(data, background=Quadruples.of([0], [0], [1], [2]))
    with pytest.raises(
        InputError, match=r"^background.tsv, row 1, field time: a time that is not in times.tsv; found 2;"
    ):
        validate(late)
    with pytest.raises(InputError, match="concepts for another number of entities"):
        validate(dataclasses.replace(data, concepts=Concepts.none(3)))
