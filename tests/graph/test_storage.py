from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.graph.actions import Nearest, action_space
from fitcarl.graph.storage import open_graph, save_graph
from fitcarl.graph.temporal import TemporalGraph


@pytest.fixture
def graph() -> TemporalGraph:
    rng = np.random.default_rng(0)
    facts = Quadruples.from_rows(np.unique(rng.integers(0, [50, 4, 50, 30], size=(600, 4)), axis=0))
    return TemporalGraph.from_facts(facts, 50, RelationIds(4))


def test_stored_graph_is_equal_after_opening(graph: TemporalGraph, tmp_path: Path) -> None:
    opened = open_graph(save_graph(graph, tmp_path / "g"))
    assert opened.base.edges() == graph.base.edges()
    assert opened.relations == graph.relations
    assert opened.base.time_range == graph.base.time_range


def test_opened_columns_are_memory_mapped_and_read_only(graph: TemporalGraph, tmp_path: Path) -> None:
    opened = open_graph(save_graph(graph, tmp_path / "g"))
    for column in (opened.base.relation, opened.base.target, opened.base.time):
        assert isinstance(column.base, np.memmap)
        assert not column.flags.writeable


def test_opened_graph_supports_action_spaces_and_overlays(graph: TemporalGraph, tmp_path: Path) -> None:
    opened = open_graph(save_graph(graph, tmp_path / "g"))
    support = Quadruples.from_rows([(3, 1, 7, 29), (9, 2, 3, 1)])
    states = np.arange(50, dtype=np.int32), np.full(50, 4, np.int32), np.full(50, 11, np.int32)
    actual = action_space(opened.with_facts(support), *states, Nearest(), 10)
    expected = action_space(graph.with_facts(support), *states, Nearest(), 10)
    assert np.array_equal(actual.edge, expected.edge)
    assert np.array_equal(actual.entity, expected.entity)


def test_graph_with_overlay_cannot_be_stored(graph: TemporalGraph, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="overlay"):
        save_graph(graph.with_facts(Quadruples.from_rows([(0, 0, 0, 77)])), tmp_path / "g")


def test_existing_folder_is_not_overwritten(graph: TemporalGraph, tmp_path: Path) -> None:
    save_graph(graph, tmp_path / "g")
    with pytest.raises(InputError, match="exists already"):
        save_graph(graph, tmp_path / "g")


def test_truncated_column_is_reported(graph: TemporalGraph, tmp_path: Path) -> None:
    folder = save_graph(graph, tmp_path / "g")
    column = folder / "time.npy"
    column.write_bytes(column.read_bytes()[:200])
    with pytest.raises(InputError, match=r"time\.npy"):
        open_graph(folder)


def test_folder_without_graph_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a stored graph"):
        open_graph(tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[1]", "not a stored graph; expected a JSON object"),
        ('{"version": 1, "relations": 4}', "field edges: not a count; found 'null'; expected an integer from 0"),
        ('{"version": 1, "edges": 7, "relations": 4}', "incomplete column; found "),
        ('{"version": 1, "edges": "many", "relations": 4}', "field edges: not a count; found '\"many\"'"),
        ('{"version": 1, "edges": EDGES, "relations": -4}', "field relations: not a count; found '-4'"),
        ('{"version": 2}', "unknown version; found 2; expected 1"),
    ],
)
def test_invalid_description_is_reported(graph: TemporalGraph, tmp_path: Path, text: str, complaint: str) -> None:
    folder = save_graph(graph, tmp_path / "g")
    (folder / "graph.json").write_text(text.replace("EDGES", str(graph.edges)))
    with pytest.raises(InputError) as caught:
        open_graph(folder)
    assert complaint in str(caught.value)
    assert caught.value.file is not None


@pytest.mark.parametrize("name", ["relation", "target", "time", "offsets"])
def test_thorough_opening_detects_changed_columns(graph: TemporalGraph, tmp_path: Path, name: str) -> None:
    folder = save_graph(graph, tmp_path / "g")
    open_graph(folder, thorough=True)
    column = np.load(folder / f"{name}.npy")
    place = int(np.flatnonzero(np.diff(column) > 0)[0])
    column[place if name != "offsets" else place + 1] = column[place + 1 if name != "offsets" else place]
    np.save(folder / f"{name}.npy", column)
    open_graph(folder)
    with pytest.raises(InputError, match=rf"{name}\.npy: has changed since"):
        open_graph(folder, thorough=True)


@pytest.mark.parametrize(("name", "value"), [("relation", -1), ("relation", 10**6), ("target", -5), ("target", 10**6)])
def test_thorough_opening_detects_unknown_ids_without_checksums(
    graph: TemporalGraph, tmp_path: Path, name: str, value: int
) -> None:
    folder = save_graph(graph, tmp_path / "g")
    about = json.loads((folder / "graph.json").read_text())
    del about["sha256"]
    (folder / "graph.json").write_text(json.dumps(about))
    open_graph(folder, thorough=True)
    column = np.load(folder / f"{name}.npy")
    column[2] = value
    np.save(folder / f"{name}.npy", column)
    with pytest.raises(InputError, match=rf"{name}\.npy: unknown id at position 2; found {value}"):
        open_graph(folder, thorough=True)


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [(0, 3, "wrong offsets; found '3 to "), (-1, 10**9, "to 1000000000'; expected 0 to "), (7, 10**9, "do not ascend")],
)
def test_invalid_offsets_are_reported(
    graph: TemporalGraph, tmp_path: Path, place: int, value: int, complaint: str
) -> None:
    folder = save_graph(graph, tmp_path / "g")
    offsets = graph.base.offsets.copy()
    offsets[place] = value
    np.save(folder / "offsets.npy", offsets)
    with pytest.raises(InputError) as caught:
        open_graph(folder)
    assert complaint in str(caught.value)
    assert caught.value.file == str(folder / "offsets.npy")


@pytest.mark.parametrize(("name", "problem"), [("time", "are not sorted by time"), ("relation", "inverse edges")])
def test_thorough_opening_detects_unsorted_and_unpaired_edges_without_checksums(
    graph: TemporalGraph, tmp_path: Path, name: str, problem: str
) -> None:
    folder = save_graph(graph, tmp_path / "g")
    about = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps({key: value for key, value in about.items() if key != "sha256"}))
    open_graph(folder, thorough=True)
    column = np.load(folder / f"{name}.npy")
    if name == "time":  # the first edge of an entity is later than its second one
        column[graph.base.offsets[3]] = column.max() + 1
    else:  # the last edge of an entity has another relation, so that the order is kept
        last = graph.base.offsets[1:] - 1
        column[last[column[last] < 7][0]] = 7
    np.save(folder / f"{name}.npy", column)
    with pytest.raises(InputError, match=problem):
        open_graph(folder, thorough=True)


def test_thorough_opening_detects_inverse_edges_of_other_facts(graph: TemporalGraph, tmp_path: Path) -> None:
    folder = save_graph(graph, tmp_path / "g")
    about = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps({key: value for key, value in about.items() if key != "sha256"}))
    target, last = np.load(folder / "target.npy"), graph.base.offsets[1:] - 1
    inverse = last[(graph.base.relation[last] >= graph.relations.count) & (target[last] < graph.entities - 1)]
    target[inverse[0]] = graph.entities - 1  # order and numbers of edges by relation are kept
    np.save(folder / "target.npy", target)
    with pytest.raises(InputError, match="inverse edges are missing"):
        open_graph(folder, thorough=True)
