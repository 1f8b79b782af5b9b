"""Edits and mutations: repeatable, bounded, and with valid checksums where they claim so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import InputError
from fitcarl.graph.storage import open_graph
from tests.fuzz import mutate_edits, mutate_files, seeds
from tests.fuzz.edits import Edit, apply_edits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph, a file of tensors and a table."""
    home = tmp_path_factory.mktemp("fuzz")
    seeds.prepare(home, ["graph"])
    write_tensors(home / "graph" / "some.safetensors", {"x": torch.arange(6).reshape(2, 3)}, {"days": 1.0})
    (home / "graph" / "rows.tsv").write_text("a\tb\nc\td\n")
    return home / "graph"


def edited(folder: Path, tmp_path: Path, *edits: Edit) -> Path:
    files = apply_edits(seeds.files_of(folder), list(edits), tmp_path / "scratch")
    out = tmp_path / "edited"
    out.mkdir()
    for name, content in files.items():
        (out / name).write_bytes(content)
    return out


def test_edited_tensors_have_a_valid_checksum(folder: Path, tmp_path: Path) -> None:
    edits: list[Edit] = [["some.safetensors", "put", "x", 5, 2**40], ["some.safetensors", "about", "set", ["days"], -1]]
    tensors, about = read_tensors(edited(folder, tmp_path, *edits) / "some.safetensors")
    assert tensors["x"].tolist() == [[0, 1, 2], [3, 4, 2**40]]
    assert about == {"days": -1}


def test_edited_columns_pass_the_checksum_of_the_graph(folder: Path, tmp_path: Path) -> None:
    out = edited(folder, tmp_path, ["time.npy", "fill", 3])
    assert set(open_graph(out, thorough=False).base.time.tolist()) == {3}
    with pytest.raises(InputError, match="edges are not sorted"):  # not: a wrong checksum
        open_graph(out, thorough=True)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (["rows.tsv", "cell", 1, 0, "x"], "a\tb\nx\td\n"),
        (["rows.tsv", "delete", 0], "c\td\n"),
        (["rows.tsv", "repeat", 0, 2], "a\tb\na\tb\na\tb\nc\td\n"),
        (["rows.tsv", "swap", 0, 1], "c\td\na\tb\n"),
        (["rows.tsv", "cut", 3], "a\tb"),
        (["rows.tsv", "flip", 0, 0], "`\tb\nc\td\n"),
        (["rows.tsv", "insert", 1, "z", 3], "azzz\tb\nc\td\n"),
        (["rows.tsv", "no such edit"], "a\tb\nc\td\n"),
    ],
)
def test_edits_of_rows_and_bytes(folder: Path, tmp_path: Path, edit: Edit, expected: str) -> None:
    assert (edited(folder, tmp_path, edit) / "rows.tsv").read_text() == expected


def test_edits_of_json(folder: Path, tmp_path: Path) -> None:
    edits: list[Edit] = [["graph.json", "delete", ["edges"]], ["graph.json", "nest", ["version"], 3]]
    found = json.loads((edited(folder, tmp_path, *edits) / "graph.json").read_text())
    assert "edges" not in found
    assert found["version"] == [[[]]]


def test_mutations_are_repeatable_and_bounded(folder: Path) -> None:
    mutator, data, seen = mutate_edits.EditMutator(seeds.files_of(folder)), b"[]", set()
    for seed in range(1000):
        same = mutator.mutate(data, 500, seed)
        data = mutator.mutate(data, 500, seed)
        assert data == same
        assert len(data) <= 500
        seen |= {edit[1] for edit in mutate_edits.decode(data)}
    assert {"set", "put", "fill", "cell", "flip", "remove", "about", "type"} <= seen


def test_first_inputs_put_ids_out_of_range_into_every_integer_array(folder: Path) -> None:
    first = mutate_edits.EditMutator(seeds.files_of(folder)).first()
    for file in ("offsets.npy", "relation.npy", "target.npy", "time.npy"):
        assert [[file, "fill", 2**30]] in first
    assert [["some.safetensors", "fill", "x", -1]] in first
    assert first[0] == []


def test_mutated_files_are_repeatable_and_often_readable() -> None:
    def no_change(text: bytes, size: int) -> bytes:
        return text[:size]

    accepted = 0
    for number, seed_input in enumerate(seeds.files()):
        data = mutate_files.mutate(seed_input, 4096, number, no_change)
        assert data == mutate_files.mutate(seed_input, 4096, number, no_change)
        about, _ = mutate_files.decode(data)
        accepted += about.get("reader") in mutate_files.READERS
    assert accepted == len(seeds.files())
