"""The raw layout of the public benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.data.io.icews import read_icews
from fitcarl.errors import InputError

FILES = {
    "entity2id.txt": "Citizen (Chad)\t0\nJos\u00a0\u2028Police\t2\nAnna\t1\n",
    "relation2id.txt": "praises\t0\naccuses\t1\n",
    "time2id.txt": "2014-01-01\t0\n2014-01-02\t24\n2014-01-05\t96\n",
    "train.txt": "0    \t1  \t2\t96\t0\n1    \t0  \t1\t0 \t0\n",
    "valid.txt": "2\t0\t0\t24\t0\n",
    "test.txt": "0\t1\t2\t96\t0\n0\t0\t2\t96\t0\n",
    "ent2sec.json": json.dumps({"Anna": ["Elite", "Cabinet", "Elite"], "Unlisted": ["Elite"], "Citizen (Chad)": []}),
}


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "chad"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode())
    return folder


def test_three_files_are_concatenated_and_duplicates_merged(raw: Path) -> None:
    facts = read_icews(raw)
    assert list(facts.quadruples) == [(0, 1, 2, 4), (1, 0, 1, 0), (2, 0, 0, 1), (0, 0, 2, 4)]
    assert (facts.name, facts.rows, facts.duplicates, facts.self_loops) == ("chad", 5, 1, 1)


def test_names_are_ordered_by_id_and_keep_their_unicode(raw: Path) -> None:
    facts = read_icews(raw)
    assert facts.vocabulary.entities == ("Citizen (Chad)", "Anna", "Jos\u00a0\u2028Police")
    assert facts.vocabulary.relations == ("praises", "accuses")


def test_codes_in_hours_become_ticks_in_days(raw: Path) -> None:
    calendar = read_icews(raw).calendar
    assert calendar.granularity == "day"
    assert calendar.codes.tolist() == [0, 24, 96]
    assert calendar.ticks.tolist() == [0, 1, 4]
    assert calendar.labels == ("2014-01-01", "2014-01-02", "2014-01-05")


def test_concepts_of_unknown_entities_are_ignored(raw: Path) -> None:
    concepts = read_icews(raw).concepts
    assert concepts.names == ("Cabinet", "Elite")
    assert [concepts.of(entity) for entity in range(3)] == [(), ("Cabinet", "Elite"), ()]


def test_crlf_and_files_in_several_folders_are_read(raw: Path, tmp_path: Path) -> None:
    expected = read_icews(raw)
    elsewhere = tmp_path / "names.txt"
    elsewhere.write_bytes(FILES["entity2id.txt"].replace("\n", "\r\n").encode())
    (raw / "train.txt").write_bytes(FILES["train.txt"].replace("\n", "\r\n").encode())
    facts = read_icews({name: raw / name for name in FILES} | {"entity2id.txt": elsewhere}, "chad")
    assert facts.quadruples == expected.quadruples
    assert facts.vocabulary == expected.vocabulary


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("train.txt", "0\t1\t2\t96\n0\t1\t2\n", "row 2: too few columns; found 3; expected subject, relation"),
        ("train.txt", "0\t1\t2\t96\n0\tx\t2\t96\n", "row 2, field relation: not an id; found 'x'; expected an integer"),
        ("train.txt", "0\t1\t2\t96\n\n0\t1\t2\t96\n", "row 2: empty line"),
        (
            "train.txt",
            "0\t1\t2\t96\n0\t1\t3\t96\n",
            "row 2, field object: unknown id; found 3; expected an id from 0 to 2",
        ),
        ("valid.txt", "-1\t1\t2\t96\n", "row 1, field subject: unknown id; found -1"),
        ("test.txt", "0\t2\t2\t96\n", "row 1, field relation: unknown id; found 2; expected an id from 0 to 1"),
        ("test.txt", "0\t1\t2\t48\n", "row 1, field time: unknown time; found 48; expected a code of time2id.txt"),
        ("test.txt", "", "empty file"),
        ("test.txt", "0\t1\t2\t99999999999999999999\n", "row 1, field time: not an id; found '99999"),
        ("test.txt", "0\t1\t٢\t96\n", "row 1, field object: not an id; found '٢'"),
        ("entity2id.txt", "Anna\t0\nBert\t2\n", "row 2, field id: bad id; found 2; expected each id from 0 to 1 once"),
        ("entity2id.txt", "Anna\t0\nBert\t0\n", "row 2, field id: bad id; found 0"),
        ("entity2id.txt", "Anna\t0\nAnna\t1\n", "row 2, field name: a name that already has an id; found 'Anna'"),
        ("relation2id.txt", "praises 0\n", "row 1: not a name and its id; found 'praises 0'"),
        ("relation2id.txt", "\t0\n", "row 1: not a name and its id"),
        ("time2id.txt", "yesterday\t0\n", "row 1, field date: not a date; found 'yesterday'"),
        ("time2id.txt", "2014-01-01\t0\n2014-02-30\t24\n", "row 2, field date: no such date; found '2014-02-30'"),
        ("time2id.txt", "2014-01-02\t0\n2014-01-01\t24\n", "row 2: dates and codes are not in the same order"),
        ("ent2sec.json", '{"Anna":\n [', "row 2: not JSON"),
        ("ent2sec.json", '{"Anna": "Elite"}', "field Anna: not a list of names"),
        ("ent2sec.json", "[]", "not a JSON object"),
    ],
)
def test_invalid_file_is_reported_in_one_line_with_row(raw: Path, file: str, text: str, message: str) -> None:
    (raw / file).write_bytes(text.encode())
    with pytest.raises(InputError) as caught:
        read_icews(raw)
    assert str(raw / file) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_encoding_is_reported_with_its_row(raw: Path) -> None:
    (raw / "entity2id.txt").write_bytes("Anna\t0\nJosé\t1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"entity2id\.txt, row 2\b.*UTF-8"):
        read_icews(raw)


def test_missing_file_is_named(raw: Path) -> None:
    (raw / "time2id.txt").unlink()
    with pytest.raises(InputError, match=r"time2id\.txt: no such file"):
        read_icews(raw)
